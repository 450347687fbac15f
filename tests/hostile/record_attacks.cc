// Attacks on the record marking of RFC 5531 11, and on RPC headers (9).
#include <algorithm>
#include <utility>

#include "tests/fixtures/libnfs_raw.h"
#include "tests/hostile/attack.h"

namespace nfswalk::hostile {
namespace {

using After = FakeAnswer::After;
using protocol::kSilence;

constexpr uint32_t kOtherXid = 0x5a5a5a5a;
// Each has about fifteen calls, of which every second one is cut: enough for each byte of the
// shorter replies.
constexpr int kSweepRounds = 25;

struct Row {
  const char* name;
  Tamper tamper;
  MountTimeout timeout = MountTimeout::kSilence;
  Ending ending = Ending::kAny;
  std::vector<std::errc> errors = {};
  int rounds = 1;
};

FakeAnswer Endless(std::string bytes, std::string repeated) {
  FakeAnswer answer = Sends(std::move(bytes), After::kEnd);
  answer.repeated = std::move(repeated);
  return answer;
}

// Bytes enough for one send(2) to fill the socket.
std::string Many(const std::string& piece) {
  std::string bytes;
  while (bytes.size() < 64 * 1024) bytes += piece;
  return bytes;
}

FakeAnswer Drip(const Exchange& exchange) {
  FakeAnswer answer = Sends(Framed(GoodMessage(exchange)));
  answer.pause_ms = 1000;
  return answer;
}

FakeAnswer HalfAReply(const Exchange& exchange) {
  const std::string reply = Framed(GoodMessage(exchange));
  return Sends(reply.substr(0, reply.size() / 2));
}

// Every second attacked call is answered well: a client that repeats what was lost is served.
FakeAnswer CutAtEachByte(const Exchange& exchange) {
  const std::string reply = Framed(GoodMessage(exchange));
  if (exchange.index % 2 == 1) return Sends(reply);
  return Sends(reply.substr(0, exchange.index / 2 % reply.size()), After::kEnd);
}

// The reply to the call before, behind it the reply to this one: late and in reverse order.
Tamper Reversed() {
  return [held = std::string()](const Exchange& exchange) mutable {
    const std::string reply = Framed(GoodMessage(exchange));
    return Sends(reply + std::exchange(held, reply));
  };
}

std::string Fragments(std::string_view message, size_t bytes) {
  std::string record;
  for (size_t at = 0; at < message.size(); at += bytes) {
    const std::string_view piece = message.substr(at, bytes);
    const uint32_t last = at + bytes >= message.size() ? kLastFragment : 0;
    record += Xdr().U32(last | piece.size()).Raw(piece).str();
  }
  return record;
}

std::vector<Row> RecordRows() {
  const auto record = [](std::string (*make)(const Exchange&)) {
    return [make](const Exchange& exchange) { return Sends(make(exchange)); };
  };
  const auto call = [](uint32_t rpc_version) {
    return [rpc_version](const Exchange& e) {
      const uint32_t xid = e.call.xid;
      const Xdr called = Xdr().U32(xid, 0, rpc_version, 100003, 3, 0, 0, 0, 1).Bytes("verifier");
      return Sends(Framed(called.str()));
    };
  };
  const std::string unknown = Framed(AcceptedMessage(kOtherXid, ""));
  return {
      {"DirectionIsCall", call(2)},
      {"DirectionIsCallOfVersionZero", call(0)},
      {"FragmentsOfOneByteWithoutEnd",
       [](const Exchange&) { return Endless("", Many(Xdr().U32(1).Raw("x").str())); }},
      {"EmptyFragmentsWithoutEnd",
       [](const Exchange&) { return Endless("", Many(Xdr().U32(0).str())); }},
      {"EmptyLastFragmentsWithoutEnd",
       [](const Exchange&) { return Endless("", Many(Xdr().U32(kLastFragment).str())); }},
      {"EmptyLastFragmentFirst", record([](const Exchange& e) {
         return Xdr().U32(kLastFragment).Raw(Framed(GoodMessage(e))).str();
       })},
      {"FragmentsOfOneByte", record([](const Exchange& e) { return Fragments(GoodMessage(e), 1); }),
       MountTimeout::kReplies, Ending::kServed},
      {"RecordOfTwoGiB", [](const Exchange&) { return Endless("\xff\xff\xff\xff", Many("x")); }},
      {"FragmentOfTwoGiB", [](const Exchange&) { return Endless("\x7f\xff\xff\xff", Many("x")); }},
      {"RecordAboveTheLimit",
       [](const Exchange& e) {
         const std::string long_reply = AcceptedMessage(e.call.xid, std::string(2 * kMiB, 'x'));
         return Sends(Framed(long_reply));
       }},
      {"AByteASecond", Drip},
      {"HalfAReply", HalfAReply},
      {"NothingIsSent", [](const Exchange&) { return kSilence; }},
      {"NothingIsRead", [](const Exchange&) { return Sends("", After::kDeaf); }},
      {"FloodOfUnknownXids", [unknown](const Exchange&) { return Endless("", Many(unknown)); }},
      {"FloodOfTheSameReply",
       [](const Exchange& e) { return Endless("", Many(Framed(GoodMessage(e)))); },
       MountTimeout::kReplies},
      {"UnknownXidsBeforeTheReply",
       [unknown](const Exchange& e) {
         return Sends(unknown + unknown + unknown + Framed(GoodMessage(e)));
       },
       MountTimeout::kReplies, Ending::kServed},
      {"EachReplyTwice", record([](const Exchange& e) {
         const std::string reply = Framed(GoodMessage(e));
         return reply + reply;
       }),
       MountTimeout::kReplies, Ending::kServed},
      {"RepliesInReverseOrder", Reversed(), MountTimeout::kReplies, Ending::kServed},
      {"ClosedAtEachByte",
       CutAtEachByte,
       MountTimeout::kReplies,
       Ending::kServed,
       {},
       kSweepRounds},
      {"Reset", [](const Exchange&) { return protocol::kHangUp; }},
      {"HttpText", [](const Exchange&) { return protocol::kHttpAnswer; }},
  };
}

// A whole reply message with this xid and another header.
Tamper Header(std::function<Xdr(Xdr xid_and_direction)> build) {
  return [build = std::move(build)](const Exchange& exchange) {
    return Sends(Framed(build(Xdr().U32(exchange.call.xid, 1))));
  };
}

std::vector<Row> RpcRows() {
  constexpr auto kReplies = MountTimeout::kReplies;
  const auto denied = [](uint32_t flavor) {
    return Header([flavor](Xdr to) { return to.U32(1, 1, flavor); });
  };
  const auto accepted = [](uint32_t status) {
    return Header([status](Xdr to) { return to.U32(0, 0, 0, status); });
  };
  const auto kFails = Ending::kFails;
  const std::errc eio = std::errc::io_error, eacces = std::errc::permission_denied;
  const std::errc no_protocol = std::errc::protocol_not_supported;
  const std::errc not_supported = std::errc::operation_not_supported;
  return {
      {"VerifierOfTwoGiB",
       Header([](Xdr to) { return to.U32(0, 0, 0x7fffffff, 0, 0); }),
       kReplies,
       kFails,
       {eio}},
      {"VerifierOf401Bytes",
       Header([](Xdr to) { return to.U32(0, 0).Bytes(std::string(401, 'v')).U32(0, 0); }),
       kReplies,
       kFails,
       {eio}},
      {"ReplyStatus2", Header([](Xdr to) { return to.U32(2, 0, 0, 0); }), kReplies, kFails, {eio}},
      {"AcceptStatus6", accepted(6), kReplies, kFails, {eio}},
      {"AcceptStatusHuge", accepted(0xffffffff), kReplies, kFails, {eio}},
      {"RejectStatus2",
       Header([](Xdr to) { return to.U32(1, 2, 0, 0); }),
       kReplies,
       kFails,
       {eio, eacces}},
      // Every second time, so that a client that discards them (RFC 5531 has no reply of that
      // length) and repeats the call is served.
      {"HeaderCutAtEachByte",
       [](const Exchange& e) {
         const std::string whole = GoodMessage(e);
         return Sends(Framed(e.index % 2 == 1 ? whole : whole.substr(0, e.index / 2 % 24)));
       },
       MountTimeout::kSilence,
       Ending::kAny,
       {},
       kSweepRounds},
      {"RpcMismatch",
       Header([](Xdr to) { return to.U32(1, 0, 3, 3); }),
       kReplies,
       kFails,
       {eio, no_protocol, eacces}},
      {"BadCredential", denied(1), kReplies, kFails, {eacces}},
      {"RejectedCredential", denied(2), kReplies, kFails, {eacces}},
      {"TooWeak", denied(5), kReplies, kFails, {eacces}},
      {"AuthStatusHuge", denied(0xffffffff), kReplies, kFails, {eacces, eio}},
      {"ProgramUnavailable", accepted(1), kReplies, kFails, {no_protocol, not_supported}},
      {"ProgramMismatch",
       Header([](Xdr to) { return to.U32(0, 0, 0, 2, 2, 2); }),
       kReplies,
       kFails,
       {no_protocol}},
      {"ProgramMismatchCut", accepted(2), kReplies, kFails, {no_protocol, eio}},
      {"ProcedureUnavailable", accepted(3), kReplies, kFails, {not_supported}},
      {"GarbageArguments", accepted(4), kReplies, kFails, {eio}},
      {"SystemError", accepted(5), kReplies, kFails, {eio}},
  };
}

std::vector<Attack> OnAllCalls(int version, const std::vector<Row>& rows) {
  std::vector<Attack> attacks;
  for (const Row& row : rows) {
    const Attack on_reading{.name = row.name,
                            .version = version,
                            .operations = ReadingOperations(version),
                            .tamper = row.tamper,
                            .ending = row.ending,
                            .errors = row.errors,
                            .timeout = row.timeout,
                            .rounds = row.rounds};
    Attack on_changes = on_reading;
    on_changes.name = std::string("ToChanges") + row.name;
    on_changes.operations = ChangingOperations(version);
    // A call that is repeated after its reply was cut finds its object there, which may be ours or
    // not (WIRE-2).
    if (row.ending == Ending::kServed && row.rounds > 1) on_changes.ending = Ending::kAny;
    attacks.push_back(on_reading);
    attacks.push_back(on_changes);
  }
  return attacks;
}

}  // namespace

const std::set<int>& ReadingOperations(int version) {
  static const std::set<int> kNfs3 = {NFS3_LOOKUP, NFS3_ACCESS,  NFS3_READLINK,
                                      NFS3_READ,   NFS3_READDIR, NFS3_READDIRPLUS};
  static const std::set<int> kNfs4 = {OP_LOOKUP, OP_ACCESS, OP_READLINK, OP_READ, OP_READDIR};
  return version == 3 ? kNfs3 : kNfs4;
}

std::vector<Attack> RecordAttacks(int version) { return OnAllCalls(version, RecordRows()); }
std::vector<Attack> RpcAttacks(int version) { return OnAllCalls(version, RpcRows()); }

std::vector<Attack> MountingRecordAttacks() {
  static const std::set<std::string> kAlways = {"FragmentsOfOneByteWithoutEnd", "AByteASecond",
                                                "HalfAReply", "FloodOfUnknownXids"};
  std::vector<Attack> attacks;
  for (const Row& row : RecordRows()) {
    if (row.timeout != MountTimeout::kSilence) continue;
    Attack attack{.tamper = row.tamper,
                  .timeout = MountTimeout::kMount,
                  .nightly = !kAlways.contains(row.name)};
    attack.name = std::string("Mnt") + row.name;
    attack.service = Service::kMount;
    attack.operations = {MOUNT3_MNT};
    attacks.push_back(attack);
    attack.name = std::string("Fsinfo") + row.name;
    attack.service = Service::kNfs;
    attack.operations = {NFS3_FSINFO};
    attacks.push_back(attack);
  }
  return attacks;
}

}  // namespace nfswalk::hostile
