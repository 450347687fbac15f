// Operations that change the name space, attributes and state.
#include "nfsclient/protocol/nfs4_compound.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include <cstring>

#include "nfsclient/protocol/nfs4_arguments.h"

namespace nfswalk::protocol {
namespace {

// No callback service: the server grants no delegations then (RFC 7530 16.33).
constexpr std::string_view kNetwork = "tcp";
constexpr std::string_view kAddress = "0.0.0.0.0.0";

// Copies the bytes: a verifier4 is opaque.
void Store(verifier4& wire, uint64_t verifier) {
  static_assert(sizeof wire == sizeof verifier);
  std::memcpy(wire, &verifier, sizeof wire);
}

uint32_t ShareAccess(const OpenArguments& arguments) {
  return (arguments.read ? OPEN4_SHARE_ACCESS_READ : 0u) |
         (arguments.write ? OPEN4_SHARE_ACCESS_WRITE : 0u);
}

createmode4 ToWire(OpenArguments::How how) {
  switch (how) {
    case OpenArguments::How::kGuarded:
      return GUARDED4;
    case OpenArguments::How::kExclusive:
      return EXCLUSIVE4;
    case OpenArguments::How::kNoCreate:
    case OpenArguments::How::kUnchecked:
      break;
  }
  return UNCHECKED4;
}

}  // namespace

Compound& Compound::MakeDirectory(std::string_view name, const SetAttributes& attributes) {
  const fattr4 kept = EncodeAttributes(attributes);
  CREATE4args& args = Add(OP_CREATE, kXdrWordBytes + XdrCounted(name.size())).nfs_argop4_u.opcreate;
  args.objtype.type = NF4DIR;
  args.objname = Counted<component4>(name);
  args.createattrs = kept;
  return *this;
}

Compound& Compound::MakeSymlink(std::string_view name, std::string_view target,
                                const SetAttributes& attributes) {
  const fattr4 kept = EncodeAttributes(attributes);
  CREATE4args& args =
      Add(OP_CREATE, kXdrWordBytes + XdrCounted(target.size()) + XdrCounted(name.size()))
          .nfs_argop4_u.opcreate;
  args.objtype.type = NF4LNK;
  args.objtype.createtype4_u.linkdata = Counted<linktext4>(target);
  args.objname = Counted<component4>(name);
  args.createattrs = kept;
  return *this;
}

Compound& Compound::Remove(std::string_view name) {
  Add(OP_REMOVE, XdrCounted(name.size())).nfs_argop4_u.opremove.target = Counted<component4>(name);
  return *this;
}

Compound& Compound::Rename(std::string_view from, std::string_view to) {
  Add(OP_RENAME, XdrCounted(from.size()) + XdrCounted(to.size())).nfs_argop4_u.oprename = {
      Counted<component4>(from), Counted<component4>(to)};
  return *this;
}

Compound& Compound::Link(std::string_view name) {
  Add(OP_LINK, XdrCounted(name.size())).nfs_argop4_u.oplink.newname = Counted<component4>(name);
  return *this;
}

Compound& Compound::SetAttributesOf(const StateId& state, const SetAttributes& attributes) {
  const fattr4 kept = EncodeAttributes(attributes);
  Add(OP_SETATTR, kStateIdBytes).nfs_argop4_u.opsetattr = {protocol::ToWire(state), kept};
  return *this;
}

Compound& Compound::SendOwnersAsNames(const OwnerNames& names) {
  names_ = &names;
  return *this;
}

Compound& Compound::SetClientId(uint64_t verifier, std::string_view id) {
  SETCLIENTID4args& args = Add(OP_SETCLIENTID, kXdrHyperBytes + XdrCounted(id.size()) +
                                                   kXdrWordBytes + XdrCounted(kNetwork.size()) +
                                                   XdrCounted(kAddress.size()) + kXdrWordBytes)
                               .nfs_argop4_u.opsetclientid;
  Store(args.client.verifier, verifier);
  args.client.id.id_len = static_cast<u_int>(id.size());
  args.client.id.id_val = const_cast<char*>(id.data());
  args.callback.cb_location.r_netid = const_cast<char*>(kNetwork.data());
  args.callback.cb_location.r_addr = const_cast<char*>(kAddress.data());
  return *this;
}

Compound& Compound::ConfirmClientId(uint64_t client_id, uint64_t verifier) {
  SETCLIENTID_CONFIRM4args& args =
      Add(OP_SETCLIENTID_CONFIRM, 2 * kXdrHyperBytes).nfs_argop4_u.opsetclientid_confirm;
  args.clientid = client_id;
  Store(args.setclientid_confirm, verifier);
  return *this;
}

Compound& Compound::Renew(uint64_t client_id) {
  Add(OP_RENEW, kXdrHyperBytes).nfs_argop4_u.oprenew.clientid = client_id;
  return *this;
}

Compound& Compound::Open(const OpenArguments& arguments) {
  using How = OpenArguments::How;
  const bool has_attributes = arguments.how == How::kUnchecked || arguments.how == How::kGuarded;
  const fattr4 kept = has_attributes ? EncodeAttributes(arguments.attributes) : fattr4{};
  // Words: seqid, share_access, share_deny, opentype, claim.
  OPEN4args& args =
      Add(OP_OPEN, 5 * kXdrWordBytes + kXdrHyperBytes + XdrCounted(arguments.owner.size()))
          .nfs_argop4_u.opopen;
  args.seqid = arguments.sequence;
  args.share_access = ShareAccess(arguments);
  args.share_deny = OPEN4_SHARE_DENY_NONE;
  args.owner.clientid = arguments.client_id;
  args.owner.owner.owner_len = static_cast<u_int>(arguments.owner.size());
  args.owner.owner.owner_val = const_cast<char*>(arguments.owner.data());
  if (arguments.how != How::kNoCreate) {
    args.openhow.opentype = OPEN4_CREATE;
    createhow4& how = args.openhow.openflag4_u.how;
    how.mode = ToWire(arguments.how);
    encoded_bytes_ += kXdrWordBytes;
    if (has_attributes) {
      how.createhow4_u.createattrs = kept;
    } else {
      Store(how.createhow4_u.createverf, arguments.exclusive_verifier);
      encoded_bytes_ += kXdrHyperBytes;
    }
  }
  if (arguments.reclaim) {
    args.claim.claim = CLAIM_PREVIOUS;
    args.claim.open_claim4_u.delegate_type = OPEN_DELEGATE_NONE;
    encoded_bytes_ += kXdrWordBytes;
  } else {
    args.claim.claim = CLAIM_NULL;
    args.claim.open_claim4_u.file = Counted<component4>(arguments.name);
    encoded_bytes_ += XdrCounted(arguments.name.size());
  }
  return *this;
}

Compound& Compound::ConfirmOpen(const StateId& state, uint32_t sequence) {
  Add(OP_OPEN_CONFIRM, kStateIdBytes + kXdrWordBytes).nfs_argop4_u.opopen_confirm = {
      protocol::ToWire(state), sequence};
  return *this;
}

Compound& Compound::Close(const StateId& state, uint32_t sequence) {
  Add(OP_CLOSE, kStateIdBytes + kXdrWordBytes).nfs_argop4_u.opclose = {sequence,
                                                                       protocol::ToWire(state)};
  return *this;
}

}  // namespace nfswalk::protocol
