// Data that is received into the memory of the call that reads it, by its own thread or another:
// nothing is written there once the call is done, however it ends.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <semaphore>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "rcu/sync_point.h"
#include "tests/unit/nfsclient/rpc/tagged_call.h"

namespace {

constexpr size_t kBytes = (1 << 20) - 2;  // two bytes of padding
std::vector<std::byte> memory(kBytes);
// Released by each recv(2) into `memory`, before it begins.
std::counting_semaphore<> placing{0};
// Called before each recv(2) of this thread, with whether it is into `memory`.
thread_local std::function<void(bool is_placing)> before_receive;

}  // namespace

extern "C" ssize_t recv(int fd, void* into, size_t size, int flags) {
  static const auto next = reinterpret_cast<decltype(&recv)>(dlsym(RTLD_NEXT, "recv"));
  const auto* at = static_cast<const std::byte*>(into);
  const bool is_placing = at >= memory.data() && at < memory.data() + kBytes;
  if (is_placing) placing.release();
  if (before_receive) before_receive(is_placing);
  return next(fd, into, size, flags);
}

namespace nfswalk::rpc {
namespace {

class ReadingCall final : private TaggedRequest, public Call {
 public:
  explicit ReadingCall(uint32_t tag, std::span<std::byte> into = memory)
      : TaggedRequest(tag), Call(Reading(into)) {}

 private:
  const Request& Reading(std::span<std::byte> into) {
    tagged_.data_into = into;
    tagged_.find_data = [](std::span<const std::byte>) { return std::optional<size_t>(0); };
    tagged_.results_bytes_max = kBytes + 1024;
    return tagged_;
  }
};

class LargeCall final : private TaggedRequest, public Call {
 public:
  LargeCall(uint32_t tag, std::span<const std::byte> data) : TaggedRequest(tag), Call(With(data)) {}

 private:
  const Request& With(std::span<const std::byte> data) {
    tagged_.data = data;
    return tagged_;
  }
};

// A record with a reply that has these results.
std::string Record(const FakeCall& call, const Xdr& results) {
  const Xdr reply = Xdr().U32(call.xid, 1, 0, 0, 0, 0).Raw(results);
  return Xdr().U32(0x80000000u | reply.str().size()).Raw(reply).str();
}
// One whose results are `kBytes` of opaque data.
std::string DataReply(const FakeCall& call, char data) {
  return Record(call, Xdr().Bytes(std::string(kBytes, data)));
}

FakeAnswer Raw(std::string bytes) {
  return {
      .kind = FakeAnswer::Kind::kRaw, .bytes = std::move(bytes), .after = FakeAnswer::After::kRead};
}

bool MemoryIs(char data) {
  return std::ranges::all_of(memory, [&](std::byte b) { return b == std::byte(data); });
}

class PlacedData : public testing::Test {
 protected:
  static constexpr uint32_t kBehindFirst = 3;

  // Answers the first call of tag 1 in part, later ones by `later_`; one of kBehindFirst with what
  // is left of the first reply and NFS3ERR_NOENT; others by `other_`.
  FakeAnswer Answer(const FakeCall& call) {
    if (TagOf(call) == kBehindFirst) {
      return Raw(RestOfFirst() + Record(call, Xdr().U32(NFS3ERR_NOENT)));
    }
    if (TagOf(call) != 1) return other_(call);
    if (first_) return later_(call);
    first_ = call;
    return Raw(DataReply(call, 'd').substr(0, first_part_));
  }
  std::string RestOfFirst() const { return DataReply(*first_, 'd').substr(first_part_); }
  // Executes a call that `end` ends while its data is received, and expects nothing of what is sent
  // later in its memory.
  void ExpectUntouchedAfter(const std::function<void(const Call&)>& end, Outcome outcome) {
    ReadingCall call(1);
    if (outcome == Outcome::kTimedOut) TimeOut(call, false);
    std::jthread ender([&] {
      placing.acquire();
      end(call);
    });
    EXPECT_EQ(connection_->Execute(call), outcome);
    ender.join();
    before_receive = nullptr;
    std::ranges::fill(memory, std::byte{'x'});
    server_.SendReply(*first_, Raw(RestOfFirst()));
    TaggedCall next(2);
    const bool is_open = outcome != Outcome::kCanceled;
    EXPECT_EQ(connection_->Execute(next), is_open ? Outcome::kReplied : Outcome::kCanceled);
    EXPECT_TRUE(MemoryIs('x'));
  }
  // Lets the deadline of a call of this thread pass while its data is received, or behind it.
  void TimeOut(Call& call, bool behind) {
    before_receive = [&call, behind, placed = false](bool is_placing) mutable {
      placed |= is_placing;
      if (placed && is_placing != behind) call.deadline = Call::Clock::now();
    };
  }
  void TearDown() override { before_receive = nullptr; }
  void ExpectWholeReplyAfterADeadline(bool behind) {
    later_ = [this](const FakeCall& call) { return Raw(RestOfFirst() + DataReply(call, 'e')); };
    ReadingCall call(1);
    TimeOut(call, behind);
    EXPECT_EQ(connection_->Execute(call), Outcome::kTimedOut);
    before_receive = nullptr;
    call.deadline = Call::Clock::time_point::max();
    ASSERT_EQ(connection_->Execute(call), Outcome::kReplied);
    XdrReader results = call.results();
    EXPECT_EQ(results.Data(memory), kBytes);
    EXPECT_TRUE(MemoryIs('e'));
    EXPECT_EQ(connection_->connections_opened(), 1u);
  }
  static void ExpectData(const Call& call) {
    XdrReader results = call.results();
    EXPECT_EQ(results.Data(memory), kBytes);
    EXPECT_TRUE(results.good());
    EXPECT_TRUE(MemoryIs('d'));
  }
  void SetUp() override {
    while (placing.try_acquire()) {
    }
    std::ranges::fill(memory, std::byte{});
  }

  size_t first_part_ = 200'000;  // bytes of the first reply
  std::optional<FakeCall> first_;
  std::function<FakeAnswer(const FakeCall&)> later_;
  std::function<FakeAnswer(const FakeCall&)> other_ = [](const FakeCall&) { return kNoEntry; };
  FakeServer server_{OnNfsCall([this](const FakeCall& call) { return Answer(call); })};
  const std::unique_ptr<Connection> connection_ =
      OpenConnection(server_.port(), std::chrono::seconds{60});
};

TEST_F(PlacedData, TheDataOfALoneCallIsReceivedWhereItGoes) {
  first_.emplace();
  later_ = [](const FakeCall& call) { return Raw(DataReply(call, 'd')); };
  for (int i = 0; i < 20; ++i) {
    ReadingCall call(1);
    ASSERT_EQ(connection_->Execute(call), Outcome::kReplied);
    XdrReader results = call.results();
    EXPECT_EQ(results.Data(memory), kBytes);
    EXPECT_TRUE(results.good());
    EXPECT_EQ(results.bytes_left(), 0u);
    EXPECT_TRUE(MemoryIs('d'));
    std::ranges::fill(memory, std::byte{});
  }
  EXPECT_TRUE(placing.try_acquire());
}

TEST_F(PlacedData, NothingIsWrittenAfterTheDeadline) {
  ExpectUntouchedAfter([](const Call&) {}, Outcome::kTimedOut);
  EXPECT_EQ(connection_->connections_opened(), 1u);
}

TEST_F(PlacedData, NothingIsWrittenAfterTheConnectionWasGivenUp) {
  ExpectUntouchedAfter([this](const Call& call) { connection_->Abort(call); }, Outcome::kLost);
}

TEST_F(PlacedData, NothingIsWrittenAfterAShutdown) {
  ExpectUntouchedAfter([this](const Call&) { connection_->Shutdown(); }, Outcome::kCanceled);
}

// The rest of the first reply has the xid of the call, but not all of its data.
TEST_F(PlacedData, ACallSentAgainIsNotAnsweredByTheRestOfItsFirstReply) {
  ExpectWholeReplyAfterADeadline(false);
}

TEST_F(PlacedData, ACallSentAgainIsNotAnsweredByTheRestWithoutAnyDataLeft) {
  first_part_ = DataReply({}, 'd').size() - 1;
  ExpectWholeReplyAfterADeadline(true);
}

TEST_F(PlacedData, ACallThatOutlivesItsWaitInItsDataIsReceivedToItsEnd) {
  ReadingCall call(1);
  call.outlives_wait = true;
  TimeOut(call, false);
  EXPECT_EQ(connection_->Execute(call), Outcome::kPending);
  before_receive = nullptr;
  call.deadline = Call::Clock::time_point::max();
  server_.SendReply(*first_, Raw(RestOfFirst()));
  EXPECT_EQ(connection_->Wait(call), Outcome::kReplied);
  ExpectData(call);
}

// The data of a call without a waiter comes while a thread waits for another call.
class PlacedDataOfOther : public PlacedData {
 protected:
  ~PlacedDataOfOther() override { rcu::SyncPointScript::ClearAll(); }

  void Start(Call& call) {
    call.outlives_wait = true;
    connection_->Submit(call);
    connection_->SendNow(call);
  }
  // Executes another call, and `then` before the first recv(2) into `memory`.
  Outcome ExecuteOther(const std::function<void(Call&)>& then) {
    TaggedCall other(kBehindFirst);
    before_receive = [&, done = false](bool is_placing) mutable {
      if (is_placing && !std::exchange(done, true)) then(other);
    };
    const Outcome outcome = connection_->Execute(other);
    before_receive = nullptr;
    return outcome;
  }
};

TEST_F(PlacedDataOfOther, IsReceivedWhereItGoes) {
  ReadingCall call(1);
  Start(call);
  EXPECT_EQ(ExecuteOther([](Call&) {}), Outcome::kReplied);
  EXPECT_EQ(connection_->Wait(call), Outcome::kReplied);
  ExpectData(call);
  EXPECT_TRUE(placing.try_acquire());
}

TEST_F(PlacedDataOfOther, GoesOnBehindTheDeadlineOfTheThreadThatReceives) {
  ReadingCall call(1);
  Start(call);
  EXPECT_EQ(ExecuteOther([](Call& other) { other.deadline = Call::Clock::now(); }),
            Outcome::kTimedOut);
  TaggedCall next(2);
  EXPECT_EQ(connection_->Execute(next), Outcome::kReplied);
  EXPECT_EQ(connection_->Wait(call), Outcome::kReplied);
  ExpectData(call);
  EXPECT_EQ(connection_->connections_opened(), 1u);
}

// The socket takes a part of it, and the thread that receives, for data that stays away, the rest.
TEST_F(PlacedDataOfOther, HoldsUpNoCallThatWasSentInPart) {
  constexpr uint32_t kReceiving = 4, kLarge = 5;
  FakeCall receiving;
  other_ = [&](const FakeCall& call) {
    const bool is_large = TagOf(call) == kLarge;
    if (!is_large) receiving = call;
    const Xdr no_entry = Xdr().U32(NFS3ERR_NOENT);
    return is_large ? Raw(RestOfFirst() + Record(call, no_entry) + Record(receiving, no_entry))
                    : kSilence;
  };
  ReadingCall call(1);
  Start(call);
  std::jthread receiver([this] {
    TaggedCall other(kReceiving);
    other.deadline = Call::Clock::now() + std::chrono::seconds{30};
    EXPECT_EQ(connection_->Execute(other), Outcome::kReplied);
  });
  placing.acquire();
  const std::vector<std::byte> data(24 << 20);
  LargeCall large(kLarge, data);
  Start(large);
  receiver.join();
  EXPECT_EQ(connection_->Wait(large), Outcome::kReplied);
  EXPECT_EQ(connection_->Wait(call), Outcome::kReplied);
  ExpectData(call);
}

TEST_F(PlacedDataOfOther, EndsItsOwnCallAloneWithoutMemory) {
  void* const absent = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ReadingCall call(1, {static_cast<std::byte*>(absent), kBytes});
  Start(call);
  EXPECT_EQ(ExecuteOther([](Call&) {}), Outcome::kReplied);
  EXPECT_EQ(connection_->Wait(call), Outcome::kNoMemory);
  EXPECT_EQ(connection_->connections_opened(), 1u);
  munmap(absent, kBytes);
}

struct Ending {
  const char* name;
  void (*before)(Connection& connection, const Call& call);  // by the thread that receives
  Outcome outcome, of_other;
};
class PlacedDataOfOtherEnds : public PlacedDataOfOther,
                              public testing::WithParamInterface<std::tuple<Ending, bool>> {};

// The thread that ends the call waits for the recv(2), whatever became of the connection meanwhile.
TEST_P(PlacedDataOfOtherEnds, NoSoonerThanTheRecvIntoItsMemory) {
  const auto [ending, withdraws] = GetParam();
  std::counting_semaphore<> waits_or_ended{0};
  rcu::SyncPointScript::OnReach("connection:before-wait-for-receive",
                                [&] { waits_or_ended.release(); });
  ReadingCall call(1);
  Start(call);
  std::jthread ender;
  const Outcome of_other = ExecuteOther([&](Call&) {
    ending.before(*connection_, call);
    ender = std::jthread([&] {
      call.deadline = Call::Clock::now();
      call.outlives_wait = false;
      const Outcome outcome = withdraws ? connection_->Withdraw(call) : connection_->Wait(call);
      std::ranges::fill(memory, std::byte{'x'});
      EXPECT_EQ(outcome, ending.outcome);
      waits_or_ended.release();
    });
    waits_or_ended.acquire();
  });
  ender.join();
  EXPECT_EQ(of_other, ending.of_other);
  EXPECT_TRUE(MemoryIs('x'));
}

INSTANTIATE_TEST_SUITE_P(
    Endings, PlacedDataOfOtherEnds,
    testing::Combine(
        testing::Values(
            Ending{"TimedOut", [](Connection&, const Call&) {}, Outcome::kTimedOut,
                   Outcome::kReplied},
            Ending{"Lost", [](Connection& of, const Call& call) { of.Abort(call); },
                   Outcome::kLost, Outcome::kLost},
            Ending{"Canceled", [](Connection& of, const Call&) { of.Shutdown(); },
                   Outcome::kCanceled, Outcome::kCanceled}),
        testing::Bool()),
    [](const auto& info) {
      return std::get<0>(info.param).name +
             std::string(std::get<1>(info.param) ? "Withdrawn" : "Awaited");
    });

}  // namespace
}  // namespace nfswalk::rpc
