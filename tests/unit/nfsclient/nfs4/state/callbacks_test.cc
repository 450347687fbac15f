// Tests the answers to a server's calls (RFC 8881 20): each operation, each state of a slot, and
// malformed calls.
#include "nfsclient/nfs4/state/callbacks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fixtures/fake_server.h"
#include "tests/fixtures/libnfs_raw.h"

namespace nfswalk::protocol {
namespace {

using Accepted = rpc::BackChannel::Accepted;

constexpr uint32_t kMinorVersion = 2;
constexpr uint32_t kCompound = 1;
constexpr uint32_t kCbSequence = 11;
constexpr uint32_t kCbRecallAny = 8;
constexpr uint32_t kCbRecallSlot = 10;
constexpr uint32_t kCbIllegal = 10044;
constexpr uint32_t kHighest = CallbackSlots::kSlots - 1;

// RFC 8881 15.1.
constexpr uint32_t kBadXdr = 10036;
constexpr uint32_t kBadSession = 10052;
constexpr uint32_t kBadSlot = 10053;
constexpr uint32_t kNoMatchingLayout = 10060;
constexpr uint32_t kSeqMisordered = 10063;
constexpr uint32_t kSequencePosition = 10064;
constexpr uint32_t kTooManyOperations = 10070;
constexpr uint32_t kNotInSession = 10071;

std::shared_ptr<const rpc::Session> SessionOf(char letter) {
  auto session = std::make_shared<rpc::Session>();
  session->id.fill(letter);
  return session;
}
std::string IdOf(char letter) { return std::string(sizeof(rpc::Session::id), letter); }

// A CB_COMPOUND's arguments.
Xdr CompoundOf(uint32_t operations, const Xdr& encoded, uint32_t minor_version = kMinorVersion,
               std::string_view tag = "tag") {
  Xdr call;
  call.Bytes(tag).U32(minor_version, 0, operations).Raw(encoded);
  return call;
}
struct Sequence {
  char session = 's';
  uint32_t sequence = 1;
  uint32_t slot = 0;
};
Xdr Encoded(const Sequence& sequence) {
  Xdr operation;
  operation.U32(kCbSequence).Raw(IdOf(sequence.session));
  operation.U32(sequence.sequence, sequence.slot, 0, 0, 0);
  return operation;
}
Xdr InSession(const Sequence& sequence, uint32_t more = 0, const Xdr& operations = {}) {
  return CompoundOf(1 + more, Encoded(sequence).Raw(operations));
}
// The results: status, tag, and those of the operations.
std::string Results(uint32_t status, uint32_t operations, const Xdr& results) {
  return Xdr().U32(status).Bytes("tag").U32(operations).Raw(results).str();
}
Xdr Sequenced(const Sequence& sequence) {
  Xdr result;
  result.U32(kCbSequence, NFS4_OK).Raw(IdOf(sequence.session));
  result.U32(sequence.sequence, sequence.slot, kHighest, kHighest);
  return result;
}

class CallbacksTest : public testing::Test {
 protected:
  CallbacksTest() { callbacks_.Begin(session_); }

  // Returns the results; nullopt where the RPC itself is refused with `refused_`.
  std::optional<std::string> Call(std::string_view arguments, uint32_t procedure = kCompound) {
    rpc::XdrReader in(std::as_bytes(std::span(arguments)));
    rpc::XdrWriter out;
    refused_ = callbacks_.Answer(procedure, in, out);
    if (refused_ != Accepted::kSuccess) return std::nullopt;
    return std::string(reinterpret_cast<const char*>(out.bytes().data()), out.size());
  }

  // The arguments of CB_RECALL: of a delegation that is not held.
  static Xdr Recalled() { return Xdr().U32(1).Raw("delegation..").U32(0).Bytes("handle"); }

  const std::shared_ptr<const rpc::Session> session_ = SessionOf('s');
  std::vector<uint32_t> slots_recalled_;
  std::unique_ptr<rpc::Caller> caller_ =
      *rpc::Caller::Open(rpc::Endpoint{"127.0.0.1", 1, 1, 1}, {});
  const std::shared_ptr<Delegations> delegations_ = std::make_shared<Delegations>(
      *caller_, [] { return uint64_t{1}; }, [] {});
  Callbacks callbacks_{kMinorVersion, *delegations_, {.on_slots_recalled = [this] {
                         slots_recalled_.push_back(session_->highest.load());
                       }}};
  Accepted refused_ = Accepted::kSuccess;
};

TEST_F(CallbacksTest, ProceduresAreNullAndCompound) {
  EXPECT_EQ(Call("", 0), "");
  EXPECT_EQ(Call("", 2), std::nullopt);
  EXPECT_EQ(refused_, Accepted::kProcedureUnavailable);
}

TEST_F(CallbacksTest, ASequenceAloneProbesTheSession) {
  EXPECT_EQ(Call(InSession({})), Results(NFS4_OK, 1, Sequenced({})));
  EXPECT_EQ(Call(CompoundOf(0, {})), Results(NFS4_OK, 0, {}));
}

// Behind CB_SEQUENCE: its arguments, where it reads them, and the status that it ends in.
TEST_F(CallbacksTest, EachOperationHasItsAnswer) {
  const struct {
    uint32_t operation;
    Xdr arguments;
    uint32_t answered, status;
  } rows[] = {
      {0, {}, kCbIllegal, NFS4ERR_OP_ILLEGAL},
      {1, {}, kCbIllegal, NFS4ERR_OP_ILLEGAL},
      {2, {}, kCbIllegal, NFS4ERR_OP_ILLEGAL},
      {3, {}, 3, NFS4ERR_BADHANDLE},            // CB_GETATTR
      {4, Recalled(), 4, NFS4ERR_BAD_STATEID},  // CB_RECALL
      {4, {}, 4, kBadXdr},
      {5, {}, 5, kNoMatchingLayout},        // CB_LAYOUTRECALL
      {6, {}, 6, NFS4ERR_NOTSUPP},          // CB_NOTIFY
      {7, {}, 7, NFS4ERR_NOTSUPP},          // CB_PUSH_DELEG
      {8, Xdr().U32(3, 1, 3), 8, NFS4_OK},  // CB_RECALL_ANY
      {8, Xdr().U32(0, 0), 8, NFS4_OK},
      {8, Xdr().U32(0, 8, 0, 0, 0, 0, 0, 0, 0, 0), 8, NFS4_OK},
      {8, Xdr().U32(0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0), 8, kBadXdr},
      {8, Xdr().U32(0, 1), 8, kBadXdr},
      {8, Xdr().U32(0, ~0u), 8, kBadXdr},
      {8, {}, 8, kBadXdr},
      {9, {}, 9, NFS4ERR_NOTSUPP},      // CB_RECALLABLE_OBJ_AVAIL
      {10, Xdr().U32(5), 10, NFS4_OK},  // CB_RECALL_SLOT
      {10, {}, 10, kBadXdr},
      {11, Encoded({.sequence = 2}), 11, kSequencePosition},  // CB_SEQUENCE
      {12, {}, 12, NFS4ERR_NOTSUPP},                          // CB_WANTS_CANCELLED
      {13, {}, 13, NFS4ERR_NOTSUPP},                          // CB_NOTIFY_LOCK
      {14, {}, 14, NFS4ERR_NOTSUPP},                          // CB_NOTIFY_DEVICEID
      {15, {}, 15, NFS4ERR_BAD_STATEID},                      // CB_OFFLOAD
      {16, {}, kCbIllegal, NFS4ERR_OP_ILLEGAL},
      {~0u, {}, kCbIllegal, NFS4ERR_OP_ILLEGAL},
  };
  Sequence sequence;
  for (const auto& row : rows) {
    SCOPED_TRACE(row.operation);
    Xdr result = Sequenced(sequence);
    result.U32(row.answered, row.status);
    EXPECT_EQ(Call(InSession(sequence, 1, Xdr().U32(row.operation).Raw(row.arguments))),
              Results(row.status, 2, result));
    ++sequence.sequence;
  }
  EXPECT_EQ(slots_recalled_, std::vector<uint32_t>{5});
}

TEST_F(CallbacksTest, OperationsEndWithTheFirstThatFails) {
  Xdr operations;
  operations.U32(kCbRecallSlot, 7)
      .U32(kCbRecallAny, 0, 0)
      .U32(4)
      .Raw(Recalled())
      .U32(kCbRecallSlot, 8);
  Xdr results = Sequenced({});
  results.U32(kCbRecallSlot, NFS4_OK, kCbRecallAny, NFS4_OK, 4, NFS4ERR_BAD_STATEID);
  EXPECT_EQ(Call(InSession({}, 4, operations)), Results(NFS4ERR_BAD_STATEID, 4, results));
  EXPECT_EQ(slots_recalled_, std::vector<uint32_t>{7});
}

// Fewer operations than it says: the rest is of none that is known.
TEST_F(CallbacksTest, OperationsThatDoNotComeAreIllegal) {
  Xdr results = Sequenced({});
  results.U32(kCbIllegal, NFS4ERR_OP_ILLEGAL);
  EXPECT_EQ(Call(InSession({}, 1)), Results(NFS4ERR_OP_ILLEGAL, 2, results));
}

TEST_F(CallbacksTest, RefusedCompoundsChangeNothing) {
  Xdr nothing, early;
  early.U32(kCbRecallSlot, 3).Raw(Encoded({}));
  Xdr cut;
  cut.U32(kCbSequence).Raw(IdOf('s')).U32(1);
  Xdr referring;
  referring.U32(kCbSequence).Raw(IdOf('s')).U32(1, 0, 0, 0).U32(~0u);
  Xdr calls;
  calls.U32(kCbSequence).Raw(IdOf('s')).U32(1, 0, 0, 0).U32(1);
  calls.Raw(IdOf('s')).U32(~0u);
  const auto failed = [](uint32_t operation, uint32_t status) {
    return Results(status, 1, Xdr().U32(operation, status));
  };
  const struct {
    const char* name;
    Xdr call;
    std::string results;
  } rows[] = {
      {"another minor version", CompoundOf(1, Encoded({}), 1),
       Results(NFS4ERR_MINOR_VERS_MISMATCH, 0, {})},
      {"no CB_SEQUENCE", CompoundOf(2, early), failed(kCbRecallSlot, kNotInSession)},
      {"no known operation", CompoundOf(1, Xdr().U32(99)), failed(kCbIllegal, kNotInSession)},
      {"too many operations", InSession({}, 8), failed(kCbSequence, kTooManyOperations)},
      {"operations without end", InSession({}, ~1u), failed(kCbSequence, kTooManyOperations)},
      {"another session", InSession({.session = 't'}), failed(kCbSequence, kBadSession)},
      {"a slot too many", InSession({.slot = kHighest + 1}), failed(kCbSequence, kBadSlot)},
      {"the last slot", InSession({.slot = ~0u}), failed(kCbSequence, kBadSlot)},
      {"sequence 0", InSession({.sequence = 0}), failed(kCbSequence, kSeqMisordered)},
      {"sequence 2", InSession({.sequence = 2}), failed(kCbSequence, kSeqMisordered)},
      {"the last sequence", InSession({.sequence = ~0u}), failed(kCbSequence, kSeqMisordered)},
      {"a CB_SEQUENCE cut short", CompoundOf(1, cut), failed(kCbSequence, kBadXdr)},
      {"endless lists of calls", CompoundOf(1, referring), failed(kCbSequence, kBadXdr)},
      {"an endless list of calls", CompoundOf(1, calls), failed(kCbSequence, kBadXdr)},
  };
  for (const auto& row : rows) EXPECT_EQ(Call(row.call), row.results) << row.name;
  EXPECT_TRUE(slots_recalled_.empty());
  EXPECT_EQ(Call(InSession({})), Results(NFS4_OK, 1, Sequenced({}))) << "still the first";
}

TEST_F(CallbacksTest, ArgumentsThatAreNoCompoundAreGarbage) {
  const std::string good = InSession({}).str();
  constexpr size_t kHeadBytes = 4 + 4 + 3 * 4;  // tag, minor version, ident, count
  for (size_t bytes = 0; bytes < kHeadBytes; ++bytes) {
    EXPECT_EQ(Call(std::string_view(good).substr(0, bytes)), std::nullopt) << bytes;
    EXPECT_EQ(refused_, Accepted::kGarbageArguments);
  }
  EXPECT_EQ(Call(CompoundOf(0, {}, kMinorVersion, std::string(1025, 't'))), std::nullopt);
  EXPECT_NE(Call(CompoundOf(0, {}, kMinorVersion, std::string(1024, 't'))), std::nullopt);
}

// WIRE-45.
TEST_F(CallbacksTest, ACallThatIsSentAgainIsAnsweredAsBefore) {
  const Xdr recall = Xdr().U32(kCbRecallSlot, 9);
  const auto first = Call(InSession({}, 1, recall));
  EXPECT_EQ(Call(InSession({}, 1, recall)), first);
  EXPECT_EQ(Call(InSession({}, 1, recall)), first);
  EXPECT_EQ(slots_recalled_.size(), 1u);
  // An error is kept as well.
  const auto failed = Call(InSession({.sequence = 2}, 1, Xdr().U32(4)));
  EXPECT_EQ(Call(InSession({.sequence = 2}, 1, Xdr().U32(4))), failed);
  EXPECT_EQ(Call(InSession({.sequence = 1})),
            Results(kSeqMisordered, 1, Xdr().U32(kCbSequence, kSeqMisordered)));
}

TEST_F(CallbacksTest, SlotsCountForThemselves) {
  for (uint32_t slot = 0; slot <= kHighest; ++slot) {
    for (uint32_t sequence = 1; sequence <= 3; ++sequence) {
      const Sequence next{.sequence = sequence, .slot = slot};
      EXPECT_EQ(Call(InSession(next)), Results(NFS4_OK, 1, Sequenced(next)));
    }
  }
}

TEST_F(CallbacksTest, AnotherSessionBeginsAnew) {
  Call(InSession({}, 1, Xdr().U32(kCbRecallSlot, 9)));
  callbacks_.Begin(SessionOf('t'));
  EXPECT_EQ(Call(InSession({})), Results(kBadSession, 1, Xdr().U32(kCbSequence, kBadSession)));
  const Sequence next{.session = 't'};
  EXPECT_EQ(Call(InSession(next)), Results(NFS4_OK, 1, Sequenced(next)));
}

TEST_F(CallbacksTest, TheLongestReplyFitsInAMessage) {
  Xdr operations;
  for (uint32_t i = 2; i < Callbacks::kOperationsMax; ++i) operations.U32(kCbRecallAny, 0, 0);
  operations.U32(4);
  Xdr call;
  call.Bytes(std::string(1024, 't')).U32(kMinorVersion, 0, Callbacks::kOperationsMax);
  call.Raw(Encoded({})).Raw(operations);
  const auto results = Call(call);
  ASSERT_TRUE(results.has_value());
  constexpr size_t kReplyHeadBytes = 6 * 4;
  EXPECT_LE(kReplyHeadBytes + results->size(), rpc::BackChannel::kMessageBytesMax);
}

}  // namespace
}  // namespace nfswalk::protocol
