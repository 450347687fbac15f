#include "nfsclient/rpc/session_slots.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/fixtures/fake_server.h"

namespace nfswalk::rpc {
namespace {

constexpr uint32_t kOk = 0;
constexpr uint32_t kDelay = 10008;
constexpr uint32_t kReqTooBig = 10065;

class SessionSlotsTest : public testing::Test {
 protected:
  // Opens a session of `slots`, of which these are every `stride`-th from `first` on.
  void Open(uint32_t slots, uint32_t first = 0, uint32_t stride = 1) {
    auto session = std::make_shared<Session>();
    session->id.fill('s');
    session->generation = ++generation_;
    session->slots = slots;
    session->on_end = [this](uint64_t generation) { ended_.push_back(generation); };
    session->on_status = [this](uint64_t, uint32_t flags, uint32_t added) {
      flags_.emplace_back(flags, added);
    };
    session_ = session;
    slots_.Open(std::move(session), first, stride);
  }
  static SequenceResult Answered(uint32_t status, uint32_t target = 1000, uint32_t flags = 0,
                                 uint32_t highest = 1000) {
    return {.status = status,
            .highest_slot = highest,
            .target_highest_slot = target,
            .status_flags = flags};
  }
  // Words of SEQUENCE behind the session id: sequence, slot, highest, cached.
  std::array<uint32_t, 4> Encoded(const SessionSlots::Taken& taken, bool is_cached = false) {
    std::array<std::byte, kSequenceBytes> bytes;
    slots_.Encode(taken, is_cached, bytes);
    std::array<uint32_t, 4> words;
    std::memcpy(words.data(), bytes.data() + kSequenceBytes - sizeof words, sizeof words);
    for (uint32_t& word : words) word = ntohl(word);
    return words;
  }
  size_t TakeAll() {
    size_t taken = 0;
    for (; slots_.CanTake(true); ++taken) slots_.Take(100 + static_cast<uint32_t>(taken));
    return taken;
  }

  std::shared_ptr<const Session> session_;
  SessionSlots slots_;
  uint64_t generation_ = 0;
  std::vector<uint64_t> ended_;
  std::vector<std::pair<uint32_t, uint32_t>> flags_;  // with those that were added
};

TEST_F(SessionSlotsTest, ThereIsNoneWithoutASession) {
  EXPECT_FALSE(slots_.CanTake());
  Open(1);
  EXPECT_TRUE(slots_.CanTake());
  slots_.Close(generation_ + 1);
  EXPECT_TRUE(slots_.CanTake()) << "it was another one";
  slots_.Close(generation_);
  EXPECT_FALSE(slots_.CanTake());
}

TEST_F(SessionSlotsTest, SequenceIsEncodedAsInTheRfc) {
  Open(8);
  const auto taken = slots_.Take(1);
  std::array<std::byte, kSequenceBytes> bytes;
  slots_.Encode(taken, true, bytes);
  protocol::Xdr expected;
  expected.U32(53).Raw(std::string(16, 's')).U32(1, 0, 0, 1);
  EXPECT_EQ(std::memcmp(bytes.data(), expected.str().data(), bytes.size()), 0);
}

TEST_F(SessionSlotsTest, TheLowestFreeOneIsTakenAndUsedAgainWithTheNextNumber) {
  Open(3);
  const auto first = slots_.Take(1), second = slots_.Take(2);
  EXPECT_EQ(Encoded(first), (std::array<uint32_t, 4>{1, 0, 1, 0}));
  EXPECT_EQ(Encoded(second), (std::array<uint32_t, 4>{1, 1, 1, 0}));
  slots_.Answer(first, Answered(kOk));
  EXPECT_EQ(Encoded(slots_.Take(3)), (std::array<uint32_t, 4>{2, 0, 1, 0}));
  EXPECT_EQ(Encoded(slots_.Take(4)), (std::array<uint32_t, 4>{1, 2, 2, 0}));
  EXPECT_FALSE(slots_.CanTake());
}

TEST_F(SessionSlotsTest, ConnectionsHaveSlotsOfTheirOwn) {
  const struct {
    uint32_t slots, first, stride;
    size_t mine;
  } rows[] = {{8, 0, 1, 8}, {8, 0, 3, 3}, {8, 2, 3, 2}, {2, 1, 2, 1}, {64, 0, 1, 64}};
  for (const auto& row : rows) {
    Open(row.slots, row.first, row.stride);
    EXPECT_EQ(Encoded(slots_.Take(1))[1], row.first);
    EXPECT_EQ(1 + TakeAll(), row.mine) << row.slots;
  }
}

// WIRE-46. sa_highest_slotid: of all connections, and with those whose calls have no reply.
TEST_F(SessionSlotsTest, TheHighestSlotInUseIsTold) {
  Open(8, 0, 2);
  SessionSlots other;
  other.Open(session_, 1, 2);
  const auto first = slots_.Take(1), second = slots_.Take(2);
  EXPECT_EQ(Encoded(first)[2], 2u);
  const auto third = other.Take(3);
  EXPECT_EQ(Encoded(first)[2], 2u);
  const auto fifth = other.Take(4);
  EXPECT_EQ(Encoded(first)[2], 3u);
  other.Answer(fifth, Answered(kOk));
  EXPECT_EQ(Encoded(first)[2], 2u);
  slots_.Leave(second, true);
  EXPECT_EQ(Encoded(first)[2], 2u) << "the server may execute it yet";
  protocol::Xdr late;
  late.U32(53, kOk).Raw(std::string(16, 's')).U32(1, 2, 7, 7, 0);
  XdrReader reader(std::as_bytes(std::span(late.str())));
  slots_.TakeLate(2, reader);
  EXPECT_EQ(Encoded(first)[2], 1u);
  other.Leave(third, false);
  EXPECT_EQ(Encoded(first)[2], 1u) << "the other's first";
}

TEST_F(SessionSlotsTest, NoCallIsSentAboveTheLimitUntilTheServerLiftsIt) {
  Open(8);
  session_->highest.store(1);
  EXPECT_EQ(TakeAll(), 2u);
  // Limits apply to all connections; the last reply sets them.
  Open(8, 1, 2);
  SessionSlots other;
  other.Open(session_, 0, 2);
  other.Answer(other.Take(1), Answered(kOk, 4));
  EXPECT_EQ(TakeAll(), 2u);
  session_->highest.store(0);
  EXPECT_EQ(TakeAll(), 0u);
  session_->highest.store(6);
  EXPECT_EQ(TakeAll(), 1u);
  session_->highest.store(7);
  EXPECT_EQ(TakeAll(), 1u);
}

// Another connection's reply, or a call of the server, comes in between.
TEST_F(SessionSlotsTest, ALimitThatIsLoweredMeanwhileLeavesTheSlotThatWasFound) {
  Open(8);
  slots_.Take(1);
  EXPECT_TRUE(slots_.CanTake());
  session_->highest.store(0);
  EXPECT_EQ(Encoded(slots_.Take(2))[1], 1u);
  EXPECT_FALSE(slots_.CanTake(true));
}

// Replies restart no sequence number, whatever slots they say the server accepts: they may be old.
TEST_F(SessionSlotsTest, NumbersGoOnWhateverTheServerAccepts) {
  Open(4);
  const auto first = slots_.Take(1), second = slots_.Take(2);
  slots_.Answer(second, Answered(kOk));
  slots_.Answer(first, Answered(kOk, UINT32_MAX, 0, 0));
  EXPECT_EQ(Encoded(slots_.Take(3)), (std::array<uint32_t, 4>{2, 0, 0, 0}));
  EXPECT_EQ(Encoded(slots_.Take(4)), (std::array<uint32_t, 4>{2, 1, 1, 0}));
}

// A connection's first slot is used whatever the limit is.
TEST_F(SessionSlotsTest, TheFirstSlotsOfAllConnectionsAreToldToBeInUse) {
  Open(64, 0, 16);
  EXPECT_EQ(Encoded(slots_.Take(1))[2], 15u);
}

TEST_F(SessionSlotsTest, AFlagIsNewOnceForAllConnections) {
  Open(8, 0, 2);
  SessionSlots other;
  other.Open(session_, 1, 2);
  slots_.Answer(slots_.Take(1), Answered(kOk, 1000, 1));
  other.Answer(other.Take(1), Answered(kOk, 1000, 1));
  other.Answer(other.Take(1), Answered(kOk, 1000, 3));
  slots_.Answer(slots_.Take(1), Answered(kOk, 1000, 2));
  slots_.Answer(slots_.Take(1), Answered(kOk, 1000, 3));
  EXPECT_EQ(flags_,
            (std::vector<std::pair<uint32_t, uint32_t>>{{1, 1}, {1, 0}, {3, 2}, {2, 0}, {3, 1}}));
}

// WIRE-37. Each status of SEQUENCE: whether its number is used up, and whether the session goes on.
TEST_F(SessionSlotsTest, EachStatusTellsOfItsSlot) {
  const struct {
    uint32_t status;
    bool is_used_up, ends;
  } rows[] = {{kOk, true, false},
              {kDelay, false, false},
              {kReqTooBig, false, false},
              {kRetryUncachedRep, true, false},
              {kSeqFalseRetry, true, false},
              {kBadHighSlot, false, false},
              {kBadSession, false, true},
              {kDeadSession, false, true},
              {kBadSlot, false, true},
              {kConnNotBoundToSession, false, true},
              {kSeqMisordered, false, true}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.status);
    ended_.clear();
    Open(4);
    slots_.Answer(slots_.Take(1), Answered(row.status));
    EXPECT_EQ(ended_.size(), row.ends ? 1u : 0u);
    EXPECT_EQ(slots_.CanTake(), !row.ends);
    if (row.ends) continue;
    EXPECT_EQ(slots_.Take(2).sequence, row.is_used_up ? 2u : 1u);
  }
}

TEST_F(SessionSlotsTest, ASlotThatTheServerHasNotIsNotUsedAgain) {
  Open(4);
  std::vector<SessionSlots::Taken> taken;
  for (uint32_t i = 0; i < 4; ++i) taken.push_back(slots_.Take(i));
  slots_.Answer(taken[2], Answered(kBadSlot));
  for (const size_t i : {3, 1, 0}) slots_.Answer(taken[i], Answered(kDelay));
  EXPECT_EQ(TakeAll(), 2u);
}

TEST_F(SessionSlotsTest, ALowerTargetIsKeptToAndAHigherOneTakenUp) {
  Open(8);
  slots_.Answer(slots_.Take(1), Answered(kOk, 2));
  EXPECT_EQ(TakeAll(), 3u);
  Open(8);
  slots_.Answer(slots_.Take(1), Answered(kOk, 0));
  slots_.Answer(slots_.Take(1), Answered(kOk, UINT32_MAX));
  EXPECT_EQ(TakeAll(), 8u) << "no more than were granted";
}

TEST_F(SessionSlotsTest, AConnectionKeepsOneWhateverTheTargetIs) {
  Open(8, 3, 4);
  slots_.Answer(slots_.Take(1), Answered(kOk, 0));
  EXPECT_EQ(Encoded(slots_.Take(2)), (std::array<uint32_t, 4>{2, 3, 3, 0}));
  EXPECT_FALSE(slots_.CanTake(true));
}

TEST_F(SessionSlotsTest, OneOfSeveralIsReserved) {
  Open(1);
  EXPECT_TRUE(slots_.CanTake());
  Open(2);
  slots_.Take(1);
  EXPECT_FALSE(slots_.CanTake());
  EXPECT_TRUE(slots_.CanTake(true));
}

TEST_F(SessionSlotsTest, ADelayOfARepetitionLeavesTheSlotUnsettled) {
  Open(2);
  slots_.Answer(slots_.Take(1), Answered(kDelay), true);
  EXPECT_EQ(Encoded(slots_.Take(2))[1], 1u);
  EXPECT_EQ(slots_.Take(3).sequence, 2u);
}

TEST_F(SessionSlotsTest, AnUnsettledSlotIsTheLastToBeUsed) {
  Open(2);
  slots_.Leave(slots_.Take(1), true);
  EXPECT_EQ(Encoded(slots_.Take(2))[1], 1u);
  EXPECT_EQ(Encoded(slots_.Take(3)), (std::array<uint32_t, 4>{2, 0, 1, 0})) << "as if executed";
}

TEST_F(SessionSlotsTest, ACallThatWasNotSentLeavesItsSlotAsItWas) {
  Open(1);
  slots_.Leave(slots_.Take(1), false);
  EXPECT_EQ(slots_.Take(2).sequence, 1u);
}

TEST_F(SessionSlotsTest, TheAnswerOfTheNextCallSettlesASlot) {
  const struct {
    uint32_t status;
    uint32_t next;                  // sequence of the call behind it
  } rows[] = {{kOk, 3},             // it had been executed
              {kDelay, 2},          // it is executed still
              {kReqTooBig, 2}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.status);
    Open(1);
    slots_.Leave(slots_.Take(1), true);
    slots_.Answer(slots_.Take(2), Answered(row.status));
    EXPECT_EQ(slots_.Take(3).sequence, row.next);
    EXPECT_TRUE(ended_.empty());
  }
}

// The server has not seen the call, or executes it.
TEST_F(SessionSlotsTest, ARefusalOfTheNextNumberEndsTheSession) {
  Open(1);
  slots_.Leave(slots_.Take(1), true);
  slots_.Answer(slots_.Take(2), Answered(kSeqMisordered));
  EXPECT_EQ(ended_, std::vector<uint64_t>{generation_});
}

TEST_F(SessionSlotsTest, TwoCallsWithoutReplyInOneSlotEndTheSession) {
  Open(1);
  slots_.Leave(slots_.Take(1), true);
  slots_.Leave(slots_.Take(2), true);
  EXPECT_EQ(ended_, std::vector<uint64_t>{generation_});
}

TEST_F(SessionSlotsTest, ALateReplySettlesItsSlotAlone) {
  protocol::Xdr result;
  result.U32(53, kOk).Raw(std::string(16, 's')).U32(1, 0, 0, 1000, 0);
  const auto late = [&](uint32_t xid) {
    XdrReader reader(std::as_bytes(std::span(result.str())));
    slots_.TakeLate(xid, reader);
  };
  Open(1);
  slots_.Leave(slots_.Take(7), true);
  late(8);
  EXPECT_EQ(slots_.Take(9).sequence, 2u) << "unsettled";
  late(9);
  EXPECT_FALSE(slots_.CanTake()) << "its call waits for the reply itself";
  Open(1);
  slots_.Leave(slots_.Take(7), true);
  late(7);
  slots_.Answer(slots_.Take(8), Answered(kSeqMisordered));
  EXPECT_EQ(ended_.size(), 1u) << "no doubt was left";
}

TEST_F(SessionSlotsTest, ACallOfAnEarlierSessionTouchesNoSlot) {
  Open(1);
  const auto before = slots_.Take(1);
  Open(1);
  EXPECT_FALSE(slots_.Has(before));
  slots_.Answer(before, Answered(kBadSession));
  slots_.Leave(before, true);
  slots_.Close(before.generation);
  EXPECT_TRUE(ended_.empty());
  EXPECT_EQ(slots_.Take(2).sequence, 1u);
}

// WIRE-41. Each of session, slot and number alone.
TEST_F(SessionSlotsTest, AResultThatNamesAnotherCallIsNotOfThisOne) {
  Open(9, 1, 4);
  (void)slots_.Take(1);
  const auto taken = slots_.Take(2);
  SequenceResult result = Answered(kOk);
  result.session.fill('s');
  result.slot = 5;
  result.sequence = 1;
  EXPECT_TRUE(slots_.IsOf(taken, result));
  const auto with = [&](auto SequenceResult::*field, auto value) {
    SequenceResult other = result;
    other.*field = value;
    return other;
  };
  std::array<char, 16> session = result.session;
  session.back() = 't';
  EXPECT_FALSE(slots_.IsOf(taken, with(&SequenceResult::session, session)));
  EXPECT_FALSE(slots_.IsOf(taken, with(&SequenceResult::slot, 1u)));
  EXPECT_FALSE(slots_.IsOf(taken, with(&SequenceResult::sequence, 2u)));
  // An error names none of them.
  EXPECT_TRUE(slots_.IsOf(taken, Answered(kBadSession)));
}

TEST_F(SessionSlotsTest, StatusFlagsAreToldOfEachReplyThatHasThem) {
  Open(1);
  for (const uint32_t flags : {0u, 1u, 1u, 0x101u, 0x100u, 0u}) {
    slots_.Answer(slots_.Take(1), Answered(kOk, 1000, flags));
  }
  using Flags = std::pair<uint32_t, uint32_t>;
  EXPECT_EQ(flags_, (std::vector<Flags>{{1, 1}, {1, 0}, {0x101, 0x100}, {0x100, 0}}));
}

TEST(ReadSequence, RefusesEveryPrefixAndOtherOperations) {
  protocol::Xdr whole;
  whole.U32(53, kOk).Raw(std::string(16, 's')).U32(1, 2, 3, 4, 5);
  for (size_t bytes = 0; bytes <= whole.str().size(); bytes += 4) {
    XdrReader reader(std::as_bytes(std::span(whole.str()).first(bytes)));
    EXPECT_EQ(ReadSequence(reader).has_value(), bytes == whole.str().size()) << bytes;
  }
  XdrReader reader(std::as_bytes(std::span(whole.str())));
  const auto read = ReadSequence(reader);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->session[15], 's');
  EXPECT_EQ(read->sequence, 1u);
  EXPECT_EQ(read->slot, 2u);
  EXPECT_EQ(read->highest_slot, 3u);
  EXPECT_EQ(read->target_highest_slot, 4u);
  EXPECT_EQ(read->status_flags, 5u);
  protocol::Xdr other;
  other.U32(22, kOk);
  XdrReader of_other(std::as_bytes(std::span(other.str())));
  EXPECT_FALSE(ReadSequence(of_other));
  protocol::Xdr failed;
  failed.U32(53, kBadSession);
  XdrReader of_failed(std::as_bytes(std::span(failed.str())));
  EXPECT_EQ(ReadSequence(of_failed)->status, kBadSession);
}

}  // namespace
}  // namespace nfswalk::rpc
