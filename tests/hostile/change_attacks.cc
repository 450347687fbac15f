// Attacks in the results of calls that change something, of NFSv3 (RFC 1813) and NFSv4.0 (RFC 7530).
#include <span>
#include <utility>

#include "tests/fixtures/libnfs_raw.h"
#include "tests/hostile/attack.h"

namespace nfswalk::hostile {
namespace {

constexpr uint32_t kUnknownStatus = 0x7fffffff;

struct Call {
  int number;
  const char* name;
};

constexpr Call kNfs3Calls[] = {{NFS3_SETATTR, "Setattr"}, {NFS3_WRITE, "Write"},
                               {NFS3_CREATE, "Create"},   {NFS3_MKDIR, "Mkdir"},
                               {NFS3_SYMLINK, "Symlink"}, {NFS3_REMOVE, "Remove"},
                               {NFS3_RMDIR, "Rmdir"},     {NFS3_RENAME, "Rename"},
                               {NFS3_LINK, "Link"},       {NFS3_COMMIT, "Commit"}};
constexpr Call kNfs4Operations[] = {{OP_SETATTR, "Setattr"}, {OP_WRITE, "Write"},
                                    {OP_CREATE, "Create"},   {OP_OPEN, "Open"},
                                    {OP_REMOVE, "Remove"},   {OP_RENAME, "Rename"},
                                    {OP_LINK, "Link"},       {OP_COMMIT, "Commit"},
                                    {OP_CLOSE, "Close"}};

Attack On(const Call& call, const std::string& what, const Xdr& results) {
  return {.name = call.name + what, .operations = {call.number}, .tamper = Always(results)};
}
Attack Failing(const Call& call, const std::string& what, const Xdr& results) {
  Attack attack = On(call, what, results);
  attack.ending = Ending::kFails;
  attack.errors = {std::errc::io_error};
  return attack;
}

// The reply to a CREATE, MKDIR or SYMLINK: a handle, its attributes, and no wcc_data.
Xdr Made(std::string_view handle, ftype3 type, uint64_t fileid) {
  Xdr made = Xdr().U32(0, 1).Bytes(handle);
  made.U32(1, static_cast<uint32_t>(type), 0777, 1, 0, 0).U64(0, 0, 0, 1, fileid);
  return made.U32(1, 0, 1, 0, 1, 0).U32(0, 0);
}

std::vector<Attack> Nfs3Changes() {
  std::vector<Attack> attacks;
  for (const Call& call : kNfs3Calls) {
    attacks.push_back(Failing(call, "StatusUnknown", Xdr().U32(kUnknownStatus, 0, 0)));
    attacks.push_back(Failing(call, "WithNothing", Xdr()));
    attacks.push_back(Failing(call, "WithOneWord", Xdr().U32(0)));
  }
  for (const Call& call : kNfs3Calls) {
    const bool makes =
        call.number == NFS3_CREATE || call.number == NFS3_MKDIR || call.number == NFS3_SYMLINK;
    if (!makes) continue;
    attacks.push_back(Failing(call, "HandleOf0Bytes", Made("", NF3REG, 900)));
    attacks.push_back(Failing(call, "HandleOf65Bytes", Made(std::string(65, 'h'), NF3REG, 900)));
    // The reply names what the tree has already, or another type than was asked for.
    attacks.push_back(On(call, "MakesTheRoot", Made("handle 1", NF3DIR, 1)));
    attacks.push_back(On(call, "MakesAFile", Made("handle 900", NF3REG, 900)));
    attacks.push_back(On(call, "MakesADirectory", Made("handle 900", NF3DIR, 900)));
    attacks.push_back(On(call, "MakesALink", Made("handle 900", NF3LNK, 900)));
    attacks.push_back(On(call, "MakesADevice", Made("handle 900", NF3BLK, 900)));
    attacks.push_back(On(call, "MakesNothingKnown", Xdr().U32(0, 0, 0, 0, 0)));
  }
  return attacks;
}

std::vector<Attack> Nfs4Changes() {
  std::vector<Attack> attacks;
  for (const Call& call : kNfs4Operations) {
    const auto add = [&](const std::string& what, Forge forge) {
      attacks.push_back({.name = call.name + what,
                         .version = 4,
                         .operations = {call.number},
                         .forge = std::move(forge)});
    };
    add("StatusUnknown", [](const std::string& good) {
      return Xdr().Raw(good.substr(0, 4)).U32(kUnknownStatus).str();
    });
    add("WithNothing", [](const std::string& good) { return good.substr(0, 8); });
    add("OfAnother", [](const std::string& good) {
      return Xdr().U32(OP_LOOKUP).Raw(good.substr(4)).str();
    });
  }
  return attacks;
}

}  // namespace

const std::set<int>& ChangingOperations(int version) {
  static const auto numbers = [](std::span<const Call> calls) {
    std::set<int> all;
    for (const Call& call : calls) all.insert(call.number);
    return all;
  };
  static const std::set<int> kNfs3 = numbers(kNfs3Calls), kNfs4 = numbers(kNfs4Operations);
  return version == 3 ? kNfs3 : kNfs4;
}

std::vector<Attack> ChangeAttacks() {
  std::vector<Attack> all = Nfs3Changes();
  const std::vector<Attack> more = Nfs4Changes();
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace nfswalk::hostile
