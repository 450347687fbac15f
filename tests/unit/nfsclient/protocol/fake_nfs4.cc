#include "tests/unit/nfsclient/protocol/fake_nfs4.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "nfsclient/protocol/protocol.h"
#include "tests/unit/nfsclient/protocol/fake_nfs4_attributes.h"
#include "tests/unit/nfsclient/protocol/libnfs_raw.h"

namespace nfswalk::protocol {
namespace {

using Kind = FakeFault::Kind;
using WireState = FakeClients::WireState;

constexpr uint32_t kCompound = 1;  // RFC 7530 15.2
const std::string kVerifier = "verifier";

// Operations with a sequence number meet their fault after it was checked.
bool IsSequenced(int operation) {
  return operation == OP_OPEN || operation == OP_OPEN_CONFIRM || operation == OP_CLOSE;
}

// The result of a failed operation behind its status, if any (RFC 7530 16.32, 16.33).
Xdr BodyOfRefusal(int operation, int status) {
  if (operation == OP_SETATTR) return Xdr().U32(0);
  if (status == NFS4ERR_CLID_INUSE) return Xdr().Bytes("tcp").Bytes("192.0.2.1.0.1");
  return {};
}

struct Results {
  std::vector<std::string> done;
  int status = NFS4_OK;
  std::optional<size_t> cut_behind;
  std::optional<size_t> swapped;
  FakeAnswer::Kind kind = FakeAnswer::Kind::kReply;

  void Apply(Kind fault) {
    if (fault == Kind::kLoseReply) kind = FakeAnswer::Kind::kHangUp;
    if (fault == Kind::kSilence) kind = FakeAnswer::Kind::kSilence;
    if (fault == Kind::kCutShort) cut_behind = done.size();
    if (fault == Kind::kOutOfOrder) swapped = done.size() - 1;
    if (fault == Kind::kGarbage) done.back() = "garbage!";
  }
  std::string Encoded() {
    if (cut_behind && *cut_behind < done.size()) {
      done.resize(*cut_behind);
      status = NFS4_OK;
    }
    if (swapped && *swapped + 1 < done.size()) std::swap(done[*swapped], done[*swapped + 1]);
    Xdr reply;
    reply.U32(status).Bytes("").U32(done.size());
    for (const std::string& result : done) reply.Raw(result);
    return reply.str();
  }
};

void PutChange(Xdr& out, uint64_t before, uint64_t after) { out.U32(1).U64(before, after); }

int CheckDirectory(const FakeNode& node) {
  if (node.type == FakeNode::Type::kDirectory) return NFS4_OK;
  return node.type == FakeNode::Type::kSymlink ? NFS4ERR_SYMLINK : NFS4ERR_NOTDIR;
}

bool MayOpen(const FakeNode& node, uint32_t uid, uint32_t share) {
  if (uid == 0) return true;
  const uint32_t mode = uid == node.uid ? node.mode >> 6 : node.mode;
  return ((share & OPEN4_SHARE_ACCESS_READ) == 0 || (mode & 4) != 0) &&
         ((share & OPEN4_SHARE_ACCESS_WRITE) == 0 || (mode & 2) != 0);
}

}  // namespace

FakeAnswer FakeNfs4::Handle(const FakeCall& call) {
  if (call.procedure != kCompound) return {};
  const std::lock_guard lock(mutex_);
  Run run{.in = XdrReader(call.arguments), .uid = call.uid(), .principal = call.credential};
  run.in.Bytes();  // tag
  run.in.U32();    // minor version
  Results results;
  for (uint32_t left = run.in.U32(); left > 0 && results.status == NFS4_OK; --left) {
    const int operation = static_cast<int>(run.in.U32());
    const std::optional<FakeFault> fault = Begin(operation, run.uid);
    if (fault && fault->kind == Kind::kLoseCall) return kHangUp;
    run.malformed = fault && fault->kind == Kind::kMalformed;
    run.refuse = fault && fault->kind == Kind::kStatus ? fault->status : NFS4_OK;
    run.out = {};
    const bool refused = run.refuse != NFS4_OK && !IsSequenced(operation);
    results.status = refused ? run.refuse : Execute(operation, run);
    if (results.status != NFS4_OK) run.out = BodyOfRefusal(operation, results.status);
    results.done.push_back(Xdr().U32(operation, results.status).Raw(run.out).str());
    if (fault) results.Apply(fault->kind);
  }
  return {results.kind, results.Encoded()};
}

void FakeNfs4::Restart(bool grace) {
  const std::lock_guard lock(mutex_);
  clients_.Restart();
  in_grace_ = grace;
}

int FakeNfs4::Execute(int operation, Run& run) {
  switch (operation) {
    case OP_PUTROOTFH:
      run.current = tree_.root();
      return NFS4_OK;
    case OP_PUTFH:
      return PutHandle(run);
    case OP_SETCLIENTID:
      return SetClientId(run);
    case OP_SETCLIENTID_CONFIRM:
      return ConfirmClientId(run);
    case OP_RENEW:
      return clients_.Check(run.in.U64());
    default:
      return run.current == nullptr ? int{NFS4ERR_NOFILEHANDLE} : ExecuteOnFile(operation, run);
  }
}

int FakeNfs4::ExecuteOnFile(int operation, Run& run) {
  static const std::map<int, int (FakeNfs4::*)(Run&)> kFunctions = {
      {OP_LOOKUP, &FakeNfs4::Lookup},
      {OP_LOOKUPP, &FakeNfs4::LookupParent},
      {OP_GETATTR, &FakeNfs4::GetAttributes},
      {OP_READLINK, &FakeNfs4::ReadLink},
      {OP_READ, &FakeNfs4::Read},
      {OP_WRITE, &FakeNfs4::Write},
      {OP_READDIR, &FakeNfs4::ReadDir},
      {OP_CREATE, &FakeNfs4::Create},
      {OP_REMOVE, &FakeNfs4::Remove},
      {OP_SETATTR, &FakeNfs4::SetAttributes},
      {OP_OPEN, &FakeNfs4::Open},
      {OP_OPEN_CONFIRM, &FakeNfs4::ConfirmOpen},
      {OP_CLOSE, &FakeNfs4::Close}};
  switch (operation) {
    case OP_GETFH:
      run.out.Bytes(run.current->handle());
      return NFS4_OK;
    case OP_SAVEFH:
      run.saved = run.current;
      return NFS4_OK;
    case OP_RESTOREFH:
      run.current = run.saved;
      return NFS4_OK;
    case OP_ACCESS:
      run.out.U32(kAccessAll, run.in.U32() & kAccessAll);
      return NFS4_OK;
    case OP_VERIFY:
      return Verify(run, true);
    case OP_NVERIFY:
      return Verify(run, false);
  }
  const auto found = kFunctions.find(operation);
  return found == kFunctions.end() ? int{NFS4ERR_NOTSUPP} : (this->*found->second)(run);
}

int FakeNfs4::PutHandle(Run& run) {
  run.current = tree_.ByHandle(run.in.Bytes());
  return run.current == nullptr ? NFS4ERR_STALE : NFS4_OK;
}

int FakeNfs4::Lookup(Run& run) {
  const std::string name = run.in.Bytes();
  if (const int status = CheckDirectory(*run.current); status != NFS4_OK) return status;
  const auto found = run.current->entries.find(name);
  if (found == run.current->entries.end()) return NFS4ERR_NOENT;
  run.current = found->second;
  return NFS4_OK;
}

int FakeNfs4::LookupParent(Run& run) {
  if (const int status = CheckDirectory(*run.current); status != NFS4_OK) return status;
  if (run.current->parent == nullptr) return NFS4ERR_NOENT;
  run.current = tree_.ByHandle(run.current->parent->handle());
  return run.current == nullptr ? NFS4ERR_STALE : NFS4_OK;
}

int FakeNfs4::GetAttributes(Run& run) {
  PutAttributes(run.out, *run.current, TakeBitmap(run.in), lease_seconds_, run.malformed);
  return NFS4_OK;
}

int FakeNfs4::ReadLink(Run& run) {
  if (run.current->type != FakeNode::Type::kSymlink) return NFS4ERR_INVAL;
  run.out.Bytes(run.current->data);
  return NFS4_OK;
}

// Compares the encoded values of all attributes sent.
int FakeNfs4::Verify(Run& run, bool same) {
  const std::vector<uint32_t> asked = TakeBitmap(run.in);
  const std::string values = run.in.Bytes();
  Xdr own;
  PutAttributes(own, *run.current, asked, lease_seconds_, false);
  XdrReader reader(own.str());
  TakeBitmap(reader);
  const bool is_same = reader.Bytes() == values;
  if (is_same == same) return NFS4_OK;
  return is_same ? NFS4ERR_SAME : NFS4ERR_NOT_SAME;
}

int FakeNfs4::Read(Run& run) {
  const WireState state = WireState::From(run.in);
  const uint64_t offset = run.in.U64();
  const uint32_t count = run.in.U32();
  const int status = clients_.Check(state, run.current->handle());
  if (status != NFS4_OK) return status;
  if (run.current->type != FakeNode::Type::kRegular) return NFS4ERR_INVAL;
  const std::string& data = run.current->data;
  const std::string part = data.substr(std::min<uint64_t>(offset, data.size()), count);
  run.out.U32(offset + part.size() >= data.size() ? 1 : 0).Bytes(part);
  return NFS4_OK;
}

int FakeNfs4::Write(Run& run) {
  const WireState state = WireState::From(run.in);
  const uint64_t offset = run.in.U64();
  run.in.U32();  // stable_how4
  const std::string part = run.in.Bytes();
  const int status = clients_.Check(state, run.current->handle());
  if (status != NFS4_OK) return status;
  if (!clients_.MayWrite(state)) return NFS4ERR_OPENMODE;
  std::string& data = run.current->data;
  data.resize(std::max<size_t>(data.size(), offset + part.size()));
  data.replace(offset, part.size(), part);
  ++run.current->change;
  run.out.U32(part.size(), FILE_SYNC4).Raw(kVerifier);
  return NFS4_OK;
}

// Returns all entries in one reply; cookies count from 3.
int FakeNfs4::ReadDir(Run& run) {
  constexpr uint64_t kFirstCookie = 3;
  const uint64_t cookie = run.in.U64();
  run.in.Raw(NFS4_VERIFIER_SIZE);
  run.in.U32();  // dircount
  run.in.U32();  // maxcount
  const std::vector<uint32_t> asked = TakeBitmap(run.in);
  if (run.current->type != FakeNode::Type::kDirectory) return NFS4ERR_NOTDIR;
  run.out.Raw(kVerifier);
  uint64_t next = kFirstCookie;
  for (const auto& [name, node] : run.current->entries) {
    const uint64_t own = next++;
    if (own <= cookie) continue;
    run.out.U32(1).U64(own).Bytes(name);
    PutAttributes(run.out, *node, asked, lease_seconds_, run.malformed);
  }
  run.out.U32(0, 1);  // no more entries; eof
  return NFS4_OK;
}

int FakeNfs4::Create(Run& run) {
  FakeNode node;
  node.type = static_cast<FakeNode::Type>(run.in.U32());
  node.uid = run.uid;
  if (node.type == FakeNode::Type::kSymlink) node.data = run.in.Bytes();
  const std::string name = run.in.Bytes();
  if (!SetAttributesFrom(run.in, node)) return NFS4ERR_INVAL;
  FakeNode& directory = *run.current;
  if (directory.type != FakeNode::Type::kDirectory) return NFS4ERR_NOTDIR;
  if (directory.entries.contains(name)) return NFS4ERR_EXIST;
  const uint64_t before = directory.change;
  const std::shared_ptr<FakeNode> made = tree_.Add(directory, name, std::move(node));
  PutChange(run.out, before, directory.change);
  run.out.U32(0);
  run.current = made;
  return NFS4_OK;
}

int FakeNfs4::Remove(Run& run) {
  const std::string name = run.in.Bytes();
  FakeNode& directory = *run.current;
  if (directory.type != FakeNode::Type::kDirectory) return NFS4ERR_NOTDIR;
  if (in_grace_) return NFS4ERR_GRACE;
  const auto found = directory.entries.find(name);
  if (found == directory.entries.end()) return NFS4ERR_NOENT;
  if (!found->second->entries.empty()) return NFS4ERR_NOTEMPTY;
  const uint64_t before = directory.change;
  tree_.Remove(directory, name);
  PutChange(run.out, before, directory.change);
  return NFS4_OK;
}

int FakeNfs4::SetAttributes(Run& run) {
  const WireState state = WireState::From(run.in);
  const int status = clients_.Check(state, run.current->handle());
  if (status != NFS4_OK) return status;
  if (!SetAttributesFrom(run.in, *run.current)) return NFS4ERR_INVAL;
  run.out.U32(0);
  return NFS4_OK;
}

int FakeNfs4::SetClientId(Run& run) {
  const std::string verifier = run.in.Raw(NFS4_VERIFIER_SIZE);
  const std::string name = run.in.Bytes();
  run.in.U32();    // cb_program
  run.in.Bytes();  // r_netid
  run.in.Bytes();  // r_addr
  run.in.U32();    // callback_ident
  const uint64_t client = clients_.Offer(name, run.principal);
  if (client == 0) return NFS4ERR_CLID_INUSE;
  run.out.U64(client).Raw(kVerifier);
  return NFS4_OK;
}

int FakeNfs4::ConfirmClientId(Run& run) {
  const uint64_t client = run.in.U64();
  return run.in.Raw(NFS4_VERIFIER_SIZE) == kVerifier ? clients_.Confirm(client)
                                                     : NFS4ERR_STALE_CLIENTID;
}

// Operations on open files (RFC 7530 16.2, 16.16, 16.18).

struct FakeNfs4::OpenRequest {
  uint64_t client = 0;
  std::string owner;
  uint32_t share = 0;
  bool create = false;
  uint32_t how = 0;
  std::string verifier;
  FakeNode attributes;
  uint32_t claim = 0;
  std::string name;
};

int FakeNfs4::Open(Run& run) {
  OpenRequest request;
  const uint32_t sequence = run.in.U32();
  request.share = run.in.U32();
  run.in.U32();  // deny
  request.client = run.in.U64();
  request.owner = run.in.Bytes();
  request.create = run.in.U32() != 0;
  if (request.create) {
    request.how = run.in.U32();
    if (request.how == EXCLUSIVE4) {
      request.verifier = run.in.Raw(NFS4_VERIFIER_SIZE);
    } else if (!SetAttributesFrom(run.in, request.attributes)) {
      return NFS4ERR_INVAL;
    }
    request.attributes.uid = run.uid;
  }
  request.claim = run.in.U32();
  if (request.claim == CLAIM_NULL) request.name = run.in.Bytes();
  if (request.claim == CLAIM_PREVIOUS) run.in.U32();  // delegation
  if (const int status = clients_.Check(request.client); status != NFS4_OK) return status;
  return Finish(run, clients_.Sequenced(request.client, request.owner, sequence, true,
                                        [&] { return OpenNow(run, request); }));
}

FakeClients::Result FakeNfs4::OpenNow(Run& run, const OpenRequest& request) {
  if (run.refuse != NFS4_OK) return {run.refuse, {}, {}};
  const std::shared_ptr<FakeNode> at = run.current;
  const uint64_t before = at->change;
  std::shared_ptr<FakeNode> file = at;
  if (request.claim == CLAIM_PREVIOUS) {
    if (!in_grace_) return {NFS4ERR_NO_GRACE, {}, {}};
    if (!clients_.MayReclaim(request.client)) return {NFS4ERR_RECLAIM_BAD, {}, {}};
  } else {
    if (in_grace_) return {NFS4ERR_GRACE, {}, {}};
    const int status = OpenNamed(run, request, file);
    if (status != NFS4_OK) return {status, {}, {}};
  }
  Xdr body;
  const bool write = (request.share & OPEN4_SHARE_ACCESS_WRITE) != 0;
  clients_.Open(request.client, request.owner, file->handle(), write).Put(body);
  PutChange(body, before, at->change);
  const bool confirmed =
      request.claim == CLAIM_PREVIOUS || clients_.IsConfirmed(request.client, request.owner);
  body.U32(confirmed ? 0 : OPEN4_RESULT_CONFIRM, 0, 0);  // no attributes, no delegation
  return {NFS4_OK, body.str(), file->handle()};
}

int FakeNfs4::OpenNamed(Run& run, const OpenRequest& request, std::shared_ptr<FakeNode>& file) {
  FakeNode& directory = *run.current;
  if (directory.type != FakeNode::Type::kDirectory) return NFS4ERR_NOTDIR;
  const auto found = directory.entries.find(request.name);
  if (found == directory.entries.end()) {
    if (!request.create) return NFS4ERR_NOENT;
    FakeNode made = request.attributes;
    made.exclusive_verifier = request.verifier;
    file = tree_.Add(directory, request.name, std::move(made));
    return NFS4_OK;
  }
  file = found->second;
  if (request.create && request.how == GUARDED4) return NFS4ERR_EXIST;
  if (request.create && request.how == EXCLUSIVE4) {
    return file->exclusive_verifier == request.verifier ? NFS4_OK : NFS4ERR_EXIST;
  }
  if (file->type == FakeNode::Type::kDirectory) return NFS4ERR_ISDIR;
  if (file->type == FakeNode::Type::kSymlink) return NFS4ERR_SYMLINK;
  return MayOpen(*file, run.uid, request.share) ? NFS4_OK : NFS4ERR_ACCESS;
}

int FakeNfs4::ConfirmOpen(Run& run) {
  const WireState state = WireState::From(run.in);
  const uint32_t sequence = run.in.U32();
  return Finish(run, clients_.Sequenced(state, sequence, [&]() -> FakeClients::Result {
    if (run.refuse != NFS4_OK) return {run.refuse, {}, {}};
    const int status = clients_.Check(state, run.current->handle());
    if (status != NFS4_OK) return {status, {}, {}};
    Xdr body;
    clients_.ConfirmOpen(state).Put(body);
    return {NFS4_OK, body.str(), {}};
  }));
}

int FakeNfs4::Close(Run& run) {
  const uint32_t sequence = run.in.U32();
  const WireState state = WireState::From(run.in);
  return Finish(run, clients_.Sequenced(state, sequence, [&]() -> FakeClients::Result {
    if (run.refuse != NFS4_OK) return {run.refuse, {}, {}};
    const int status = clients_.Check(state, run.current->handle());
    if (status != NFS4_OK) return {status, {}, {}};
    Xdr body;
    WireState{state.sequence + 1, state.other}.Put(body);
    return {clients_.Close(state), body.str(), {}};
  }));
}

// A replay sets the same current file handle as the first execution.
int FakeNfs4::Finish(Run& run, const FakeClients::Result& result) {
  run.out.Raw(result.body);
  if (!result.handle.empty()) run.current = tree_.ByHandle(result.handle);
  return result.status;
}

}  // namespace nfswalk::protocol
