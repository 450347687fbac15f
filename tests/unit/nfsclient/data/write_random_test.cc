// Random operations through two open files against a model of the bytes, on servers in memory that are
// disturbed at random: --gtest_random_seed gives others. Behind each fsync that succeeded the model
// is on stable storage, and stays there.
//
// Lists what a server or an editing proxy in front of one may do, and the test of the WRITE path
// that does it:
//
// | replies and calls                                  | at random | each by itself          |
// |----------------------------------------------------|-----------|-------------------------|
// | WRITE replies without attributes, all or some      | here      | write_trial_test        |
// | FILE_SYNC to UNSTABLE, always or now and then      | here      | write_trial_test        |
// | times that are coarse, stand still, run backwards  | here      | write_trial_test        |
// | calls that are executed late, or in another order  | here      | write_order_test        |
// | replies that come late, or in another order        | here      | -                       |
// | WRITEs and READs of fewer bytes than asked for     | here      | write_back_test         |
// | a restart that loses what was not committed        | here      | write_back_test         |
// | replies and calls that are lost with a connection  | here      | write_back_test         |
// | callers that give up                               | here      | write_order_test        |

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <tuple>

#include "nfsclient/client.h"
#include "nfsclient/nfs4/operation_names.h"
#include "tests/fixtures/disturbed_server.h"
#include "tests/fixtures/fake_mount.h"
#include "tests/fixtures/file_data.h"

namespace nfswalk {
namespace {

using fixtures::BytesOf;
using fixtures::Difference;
using fixtures::Pattern;
using protocol::FakeClock;
using protocol::FakeFault;

#ifdef NFSWALK_TEST_NIGHTLY
constexpr int kOperations = 200'000;
#else
constexpr int kOperations = 4'000;
#endif

// The version, 42 for 4.2, which also allocates, punches holes and copies; the clock of the server;
// and whether it loses connections; it executes calls late if not, since a WRITE that is executed
// behind the connection that carried it can be noticed by no client.
class WriteRandom : public FakeFile,
                    public testing::WithParamInterface<std::tuple<int, FakeClock, bool>> {
 protected:
  static constexpr size_t kLimit = 16 * kPiece, kFileBytesMax = 5 * kLimit;
  static constexpr uint64_t kNowhere = UINT64_MAX;

  static constexpr int kVersion4Point2 = 42;

  WriteRandom()
      : FakeFile(std::get<int>(GetParam()) == 3 ? 3 : 4,
                 std::get<int>(GetParam()) == kVersion4Point2 ? 2 : 0) {
    options_.wsize = options_.rsize = kPiece;
    options_.dirty_bytes_max = kLimit;
    server_.set_clock(std::get<FakeClock>(GetParam()));
  }
  void SetUp() override {
    Mount();
    for (auto& file : files_) file = Open();
  }
  bool has_holes() const { return minor_version_ == 2; }
  bool loses_connections() const { return std::get<bool>(GetParam()); }
  size_t Draw(size_t limit) { return random_() % limit; }
  size_t DrawBytes() { return 1 + Draw(Draw(4) == 0 ? 4 * kPiece : 2'000); }
  std::string DrawText(size_t bytes) { return Pattern(bytes, ++patterns_); }
  File& Any() { return *files_[Draw(files_.size())]; }

  void Write(size_t at, size_t bytes) {
    const std::string text = DrawText(bytes);
    const auto written = Any().PWrite(BytesOf(text), at);
    if (!written) return ExpectGivenUp(written.error());
    Replace(at, text.substr(0, *written));
  }
  void Append() {
    if (model_.size() > kFileBytesMax) return;
    const std::string text = DrawText(DrawBytes());
    const auto written = Any().Append(BytesOf(text));
    if (!written) return ExpectGivenUp(written.error());
    model_ += text.substr(0, *written);
  }
  void Read(size_t at, size_t bytes) {
    std::string text(bytes, '?');
    const auto count = Any().PRead(std::as_writable_bytes(std::span(text)), at);
    if (!count) return ExpectGivenUp(count.error());
    text.resize(*count);
    EXPECT_EQ(Difference(text, at < model_.size() ? model_.substr(at, bytes) : ""), "")
        << "read at " << at;
  }
  // One that is given up may be executed all the same.
  void Truncate(size_t size) {
    const auto cut = Any().SetAttributesOf({.size_bytes = size});
    if (!cut) {
      ExpectGivenUp(cut.error());
      deadline_.reset();
      if (StatSize() != size) return;
    }
    model_.resize(size);
  }
  void Allocate(size_t at, size_t bytes) {
    const std::errc error = Any().Allocate(at, bytes);
    if (error != kOk) {
      ExpectGivenUp(error);
      if (StatSizeInTime() < at + bytes) return;
    }
    model_.resize(std::max(model_.size(), at + bytes));
  }
  void PunchHole(size_t at, size_t bytes) {
    const size_t inside = at < model_.size() ? std::min(bytes, model_.size() - at) : 0;
    const std::string zeros(inside, '\0');
    const std::errc error = Any().PunchHole(at, bytes);
    if (error != kOk) {
      ExpectGivenUp(error);
      (void)StatSizeInTime();
      if (inside == 0 || server_.Find("f")->data.substr(at, inside) != zeros) return;
    }
    if (inside != 0) model_.replace(at, inside, zeros);
  }
  // Within the file. One that is given up may be executed all the same, in part.
  void Copy(size_t from, size_t to, size_t bytes) {
    const size_t apart = from < to ? to - from : from - to;
    const size_t inside = from < model_.size() ? model_.size() - from : 0;
    bytes = std::min(bytes, apart);
    if (bytes == 0) return;
    const auto copied = Any().CopyFrom(Any(), from, to, bytes);
    if (copied) {
      EXPECT_LE(*copied, std::min(inside, bytes));
      EXPECT_EQ(*copied != 0, inside != 0);
      if (*copied != 0) Replace(to, model_.substr(from, *copied));
      return;
    }
    ExpectGivenUp(copied.error());
    (void)StatSizeInTime();
    const std::string now = server_.Find("f")->data;
    const std::string part = model_.substr(std::min(from, model_.size()), bytes);
    size_t made = 0;  // bytes of it that the server has
    while (made < part.size() && to + made < now.size() && now[to + made] == part[made]) ++made;
    if (made != 0) Replace(to, part.substr(0, made));
  }
  void Seek(size_t at, Content content) {
    const auto found = Any().Seek(at, content);
    if (!found && found.error() != std::errc::no_such_device_or_address) {
      return ExpectGivenUp(found.error());
    }
    EXPECT_EQ(found.value_or(kNowhere), FirstOf(at, content)) << "from " << at;
  }
  // In the model, in blocks of the server.
  uint64_t FirstOf(size_t at, Content content) const {
    constexpr size_t kBlock = protocol::FakeNfs4::kBlockBytes;
    if (at >= model_.size()) return kNowhere;
    for (; at < model_.size(); at = (at / kBlock + 1) * kBlock) {
      const std::string block = model_.substr(at / kBlock * kBlock, kBlock);
      const bool is_hole = block.find_first_not_of('\0') == std::string::npos;
      if (is_hole == (content == Content::kHole)) return at;
    }
    return content == Content::kHole ? model_.size() : kNowhere;
  }
  void ChangeSpace() {
    const size_t at = Draw(kFileBytesMax), bytes = DrawBytes();
    switch (Draw(4)) {
      case 3:
        return Copy(at, Draw(kFileBytesMax), bytes);
      case 0:
        return Allocate(at, bytes);
      case 1:
        return PunchHole(at, bytes);
      default:
        return Seek(at, Draw(2) == 0 ? Content::kData : Content::kHole);
    }
  }
  void Sync() {
    const std::errc error = Any().Sync();
    if (error != kOk) return ExpectGivenUp(error);
    const auto found = server_.Find("f");
    EXPECT_EQ(Difference(found->committed.value_or(found->data), model_), "") << "stable";
  }
  void Reopen() {
    const size_t which = Draw(files_.size());
    const std::errc error = files_[which]->Close();
    if (error != kOk) ExpectGivenUp(error);
    deadline_.reset();
    files_[which] = Open();
  }
  void Replace(size_t at, const std::string& text) {
    if (model_.size() < at + text.size()) model_.resize(at + text.size());
    model_.replace(at, text.size(), text);
  }
  void ExpectGivenUp(std::errc error) const {
    EXPECT_EQ(error, std::errc::timed_out);
    EXPECT_TRUE(deadline_.has_value());
  }
  void Disturb() {
    constexpr size_t kAll = std::numeric_limits<size_t>::max();
    using Kind = FakeFault::Kind;
    const size_t what = Draw(100);
    if (what < 2) server_.LoseUncommitted();
    if (what == 2) server_.set_write_bytes_max(Draw(2) == 0 ? kAll : 1 + Draw(kPiece));
    if (what == 3) server_.set_read_bytes_max(Draw(2) == 0 ? kAll : 1 + Draw(kPiece));
    if (what == 4 && loses_connections()) {
      const auto kind = Draw(2) == 0 ? Kind::kLoseCall : Kind::kLoseReply;
      server_.Inject(Draw(2) == 0 ? op_.write : op_.commit, {.kind = kind}, 1,
                     static_cast<int>(Draw(5)));
    }
    if (what < 20) deadline_.emplace(Deadline::Clock::now() + std::chrono::microseconds(Draw(900)));
  }
  // `streams`: only what waits for no reply.
  void Step(bool streams) {
    Disturb();
    if (has_holes() && !streams && Draw(5) == 0) {
      ChangeSpace();
      deadline_.reset();
      return;
    }
    const size_t end = model_.size();
    const size_t what = Draw(streams ? 60 : 100);
    if (what < 20) {
      Write(end < kFileBytesMax ? end + (Draw(8) == 0 ? Draw(kPiece) : 0) : Draw(end), DrawBytes());
    } else if (what < 35) {
      Write(Draw(kFileBytesMax), DrawBytes());
    } else if (what < 60) {
      Read(Draw(end + 1), DrawBytes());
    } else if (what < 70) {
      Append();
    } else if (what < 78) {
      Truncate(Draw(kFileBytesMax));
    } else if (what < 88) {
      Sync();
    } else if (what < 95) {
      Reopen();
    } else {
      EXPECT_EQ(StatSizeInTime(), end);
    }
    deadline_.reset();
  }
  uint64_t StatSizeInTime() {
    deadline_.reset();
    return StatSize();
  }

  const uint64_t seed_ = static_cast<uint64_t>(testing::UnitTest::GetInstance()->random_seed());
  std::mt19937_64 random_{seed_};
  uint64_t patterns_ = 0;
  std::array<std::unique_ptr<File>, 2> files_;
  std::optional<Deadline> deadline_;
  std::string model_;
};
INSTANTIATE_TEST_SUITE_P(Servers, WriteRandom,
                         testing::Combine(testing::Values(3, 4, 42),
                                          testing::Values(FakeClock::kFine, FakeClock::kCoarse,
                                                          FakeClock::kStopped,
                                                          FakeClock::kBackwards),
                                          testing::Bool()));

TEST_P(WriteRandom, SyncedDataSurvivesServerRestarts) {
  constexpr int kOperationsOfPhase = 100;
  std::optional<protocol::DisturbedServer> late;
  if (!loses_connections()) {
    const protocol::DisturbedServer::Operations operations{
        op_.read,
        op_.write,
        op_.commit,
        op_.setattr,
        {protocol::kOpAllocate, protocol::kOpCopy, protocol::kOpDeallocate}};
    late.emplace(server_, operations, kOperations, seed_);
  }
  for (int i = 0; i < kOperations && !HasFailure(); ++i) {
    SCOPED_TRACE("operation " + std::to_string(i) + " with seed " + std::to_string(seed_));
    Step(i / kOperationsOfPhase % 2 == 0);
  }
  server_.set_write_bytes_max(std::numeric_limits<size_t>::max());
  for (auto& file : files_) EXPECT_EQ(file->Close(), kOk);
  EXPECT_EQ(Difference(Stable(), model_), "");
  std::printf("operations: %d\n", kOperations);
}

}  // namespace
}  // namespace nfswalk
