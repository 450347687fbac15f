// attack: what a HostileServer sends instead of a good reply, and what a client makes of it.
//
// Thread safety: as any value; a server calls `tamper` and `forge` one at a time.
#ifndef NFSWALK_TESTS_HOSTILE_ATTACK_H_
#define NFSWALK_TESTS_HOSTILE_ATTACK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "tests/fixtures/fake_server.h"
#include "tests/fixtures/fake_tree.h"

namespace nfswalk::hostile {

using protocol::FakeAnswer;
using protocol::FakeCall;
using protocol::Xdr;

inline constexpr uint32_t kLastFragment = 0x80000000u;
// Longer than anything that arrives; with a length word of 32 bits.
inline constexpr uint32_t kHugeBytes = 0x80000000u;
inline constexpr size_t kMiB = 1024 * 1024;
// Data of which a transfer of any usual size is a multiple.
inline const std::string kPiece(1024, 'd');

// A call that is attacked, and what a good server replies.
struct Exchange {
  const FakeCall& call;
  const FakeAnswer& good;  // kReply
  size_t index;            // of the attacked calls, from 0
};
using Tamper = std::function<FakeAnswer(const Exchange&)>;
// Receives the result of a version 4 operation from the operation's number on.
using Forge = std::function<std::string(const std::string& good)>;

enum class Service { kNfs, kMount, kPortmapper };

// How a client that meets the attack has to end.
enum class Ending {
  kAny,     // by itself
  kServed,  // as if there were no attack
  kFails,   // with one of `errors`
  // At the interrupt of its user, since the contents are well formed and have no end. A client of
  // the library that stops the listing ends by itself.
  kInterrupted,
};

// Sets the deadlines of the mount.
enum class MountTimeout {
  kReplies,  // long: replies arrive
  kSilence,  // short: no valid reply arrives
  kMount,    // that of the mount itself, 10 s
};

struct Attack {
  std::string name = {};
  int version = 3;
  int minor_version = 0;  // 1: in a session
  Service service = Service::kNfs;
  // NFS3_*, OP_*, or the procedures of MOUNT and the portmapper.
  std::set<int> operations = {};
  int after = 0;  // so many calls of them are answered well
  Tamper tamper = nullptr;
  // Instead of `tamper`, of one operation of version 4: its result, or the nfsstat4 that it ends
  // in.
  Forge forge = nullptr;
  int status = 0;
  bool has_loop = false;  // the root has the entry "loop", which is the root
  // Adds to the tree that is served.
  std::function<void(protocol::FakeTreeServer&)> plant = nullptr;
  Ending ending = Ending::kAny;
  std::vector<std::errc> errors = {};
  MountTimeout timeout = MountTimeout::kReplies;
  bool nightly = false;  // left out otherwise
  int rounds = 1;        // that a program with the library makes its calls
  std::string options = {};  // of the URL
};

inline std::string NameOf(const Attack& attack) {
  const std::string minor = attack.minor_version == 0 ? "" : std::to_string(attack.minor_version);
  return "V" + std::to_string(attack.version) + minor + attack.name;
}
// Version and minor version that a server speaks. Only runs of one dialect can be compared.
using Dialect = std::pair<int, int>;
inline Dialect DialectOf(const Attack& attack) { return {attack.version, attack.minor_version}; }
inline const std::vector<Dialect>& Dialects() {
  static const std::vector<Dialect> all = {{3, 0}, {4, 0}, {4, 1}};
  return all;
}
// For Google Test.
inline void PrintTo(const Attack& attack, std::ostream* out) { *out << NameOf(attack); }

// A record of one fragment.
inline std::string Framed(std::string_view message) {
  return Xdr().U32(kLastFragment | message.size()).Raw(message).str();
}
// Headers of RFC 5531 9.
inline std::string AcceptedMessage(uint32_t xid, std::string_view results) {
  return Xdr().U32(xid, 1, 0, 0, 0, 0).Raw(results).str();
}
inline std::string GoodMessage(const Exchange& exchange) {
  return AcceptedMessage(exchange.call.xid, exchange.good.bytes);
}
inline FakeAnswer Sends(std::string bytes, FakeAnswer::After after = FakeAnswer::After::kRead) {
  return {.kind = FakeAnswer::Kind::kRaw, .bytes = std::move(bytes), .after = after};
}
// An attack on a reply's results alone.
inline Tamper Results(std::function<std::string(const std::string& good)> forge) {
  return [forge = std::move(forge)](const Exchange& exchange) {
    return FakeAnswer{.bytes = forge(exchange.good.bytes)};
  };
}
inline Tamper Always(const Xdr& results) {
  return Results([bytes = results.str()](const std::string&) { return bytes; });
}

// A tree in which the root is its own child.
inline Attack Loop(int version, int listing_operation) {
  return {.name = "DirectoryThatContainsItself",
          .version = version,
          .operations = {listing_operation},
          .tamper = [](const Exchange& exchange) { return exchange.good; },
          .has_loop = true,
          .ending = Ending::kFails,
          .errors = {std::errc::too_many_symbolic_link_levels}};  // fs/dcache.c: d_splice_alias()
}

// Operations by which the commands read a tree, but for those that mount, and by which they change
// one.
const std::set<int>& ReadingOperations(int version);
const std::set<int>& ChangingOperations(int version);

// In the files of these names: on ReadingOperations() and on ChangingOperations().
std::vector<Attack> RecordAttacks(int version);
std::vector<Attack> RpcAttacks(int version);
// Returns the attacks of RecordAttacks() that take time, on calls that mount.
std::vector<Attack> MountingRecordAttacks();
std::vector<Attack> MountAttacks();
std::vector<Attack> Nfs3Attacks();
std::vector<Attack> Nfs4Attacks();
std::vector<Attack> ChangeAttacks();
// On what is of sessions alone.
std::vector<Attack> SessionAttacks();
// Returns the attacks on version 4 that a session can meet, with minor version 1.
std::vector<Attack> InSession(std::vector<Attack> attacks);
// But for those in sessions.
inline std::vector<Attack> AllAttacks() {
  std::vector<Attack> all;
  for (const auto& attacks :
       {RecordAttacks(3), RecordAttacks(4), RpcAttacks(3), RpcAttacks(4), MountingRecordAttacks(),
        MountAttacks(), Nfs3Attacks(), Nfs4Attacks(), ChangeAttacks()}) {
    all.insert(all.end(), attacks.begin(), attacks.end());
  }
  return all;
}

}  // namespace nfswalk::hostile

#endif  // NFSWALK_TESTS_HOSTILE_ATTACK_H_
