// Data that is received into the memory of the call that reads it: nothing is written there once
// the call is done, however it ends.
#include <dlfcn.h>
#include <gtest/gtest.h>
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
#include <vector>

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
  explicit ReadingCall(uint32_t tag) : TaggedRequest(tag), Call(Reading()) {}

 private:
  const Request& Reading() {
    tagged_.data_into = memory;
    tagged_.find_data = [](std::span<const std::byte>) { return std::optional<size_t>(0); };
    tagged_.results_bytes_max = kBytes + 1024;
    return tagged_;
  }
};

// A reply whose results are `kBytes` of opaque data.
std::string DataReply(const FakeCall& call, char data) {
  const Xdr reply = Xdr().U32(call.xid, 1, 0, 0, 0, 0).Bytes(std::string(kBytes, data));
  return Xdr().U32(0x80000000u | reply.str().size()).Raw(reply).str();
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
  // Answers the first call of tag 1 in part, later ones by `later`; others with NFS3ERR_NOENT.
  FakeAnswer Answer(const FakeCall& call) {
    if (TagOf(call) != 1) return kNoEntry;
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
  void SetUp() override {
    while (placing.try_acquire()) {
    }
    std::ranges::fill(memory, std::byte{});
  }

  size_t first_part_ = 200'000;  // bytes of the first reply
  std::optional<FakeCall> first_;
  std::function<FakeAnswer(const FakeCall&)> later_;
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

}  // namespace
}  // namespace nfswalk::rpc
