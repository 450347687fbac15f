// Random operations on the extents of one small file against a model of its bytes: writes by two
// openers, WRITEs and COMMITs that a server executes in any order, stores in part, stably or not,
// refuses or loses in a restart, truncations, and reads beside all of these. --gtest_random_seed
// gives others.
//
// The map is pure, so that millions of operations take seconds: a fault of one in ten million shows
// here. write_model_test and write_random_test have the client around it.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nfsclient/data/extent_map.h"

namespace nfswalk::data {
namespace {

#ifdef NFSWALK_TEST_NIGHTLY
constexpr uint64_t kOperations = 250'000'000;  // of each test
#else
constexpr uint64_t kOperations = 2'500'000;
#endif

// The parameter makes another series of numbers.
class ExtentMapTrial : public testing::TestWithParam<int> {
 protected:
  static constexpr size_t kPiece = 8, kFileBytesMax = 48, kReadsMax = 3, kInFlightMax = 4;
  using Extent = ExtentMap::Extent;

  struct Server {
    std::string current, stable;
    uint64_t verifier = 1;
  };
  struct Call {
    Extent* extent = nullptr;
    uint64_t begin = 0;
    std::string data;
    bool must_be_stable = false;
    // Once it is executed:
    size_t stored = 0;
    bool is_stable = false;
    uint64_t verifier = 0;
  };
  struct Commit {
    uint64_t last_written;
    uint64_t verifier = 0;
    bool is_executed = false;
  };
  // A read in progress, and what it may show.
  struct Reader {
    Reader(uint64_t at, size_t bytes) : offset(at), read(at, bytes), into(bytes, '?') {}
    const uint64_t offset;
    ExtentMap::Read read;
    std::string into;
    std::vector<std::bitset<256>> values;
    size_t end_min = 0, end_max = 0;  // of the file
    bool has_all = false, is_executed = false;
    size_t count = 0;
  };

  static ExtentMap::Context Opener() {
    const auto any = std::make_shared<int>();
    return {any, reinterpret_cast<const nfs::OpenContext*>(any.get())};
  }
  size_t Draw(size_t limit) { return random_() % limit; }

  // --- the model

  // The readers may see what is in the model by now, too.
  void Admit(size_t begin, size_t end) {
    for (const auto& reader : readers_) {
      reader->end_min = std::min(reader->end_min, model_.size());
      reader->end_max = std::max(reader->end_max, model_.size());
      const size_t first = std::max<size_t>(begin, reader->offset);
      const size_t last = std::min<size_t>(end, reader->offset + reader->into.size());
      for (size_t at = first; at < last; ++at) {
        const unsigned char value = at < model_.size() ? static_cast<unsigned char>(model_[at]) : 0;
        reader->values[at - reader->offset].set(value);
      }
    }
  }
  // Returns what a read of the whole file that begins now shows.
  std::string Shown() {
    ExtentMap::Read read(0, kFileBytesMax);
    map_.BeginRead(read);
    std::string text(kFileBytesMax, '?');
    std::ranges::copy(server_.current, text.begin());
    const auto into = std::as_writable_bytes(std::span(text));
    text.resize(map_.EndRead(read, into, server_.current.size()));
    return text;
  }

  // --- the client

  void Write() {
    const size_t bytes = 1 + Draw(kPiece + 4), at = Draw(kFileBytesMax - bytes);
    const auto& by = openers_[Draw(4) == 0 ? 1 : 0];
    if (map_.FindObstacle(at, at + bytes, by) != nullptr) {
      if (Draw(2) == 0) return;
      Settle();
    }
    if (map_.live_extents() == 0) {
      map_.SetFileEnd(model_.size());
      is_known_ = true;
    }
    std::string text(bytes, '\0');
    for (char& c : text) c = static_cast<char>(1 + Draw(255));
    Insert(at, text, by);
    const size_t gap_at = model_.size();
    model_.resize(std::max(model_.size(), at + bytes));
    model_.replace(at, bytes, text);
    Admit(std::min(gap_at, at), at + bytes);
    if (is_known_ && Draw(2) == 0) FillGaps(at, at + bytes, by);
  }
  void Insert(size_t at, std::string_view text, const ExtentMap::Context& by) {
    for (auto left = std::as_bytes(std::span(text)); !left.empty();) {
      const size_t taken = map_.Write(at, left, by);
      at += taken;
      left = left.subspan(taken);
    }
  }
  void FillGaps(size_t begin, size_t end, const ExtentMap::Context& by) {
    for (const auto& gap : map_.FindGaps(begin, end, by)) {
      if (!gap) continue;
      const std::string zeros(gap->end - gap->begin, '\0');
      ASSERT_EQ(model_.substr(gap->begin, zeros.size()), zeros) << "a gap is no hole";
      Insert(gap->begin, zeros, by);
    }
  }
  void Send() {
    if (Draw(3) == 0) map_.JoinDirty();
    Extent* extent = map_.NextDirty(Draw(kFileBytesMax));
    if (extent == nullptr) extent = map_.NextDirty();
    if (extent == nullptr || calls_.size() >= kInFlightMax) return;
    Start(*extent);
  }
  void Start(Extent& extent) {
    for (const auto& call : calls_) {
      ASSERT_TRUE(extent.end() <= call->begin || call->begin + call->data.size() <= extent.begin)
          << "two WRITEs of one byte are in flight";
    }
    ASSERT_LE(extent.size, kPiece);
    auto call = std::make_unique<Call>();
    call->extent = &extent;
    call->begin = extent.begin;
    call->data.assign(reinterpret_cast<const char*>(extent.bytes().data()), extent.size);
    call->must_be_stable = extent.must_be_stable;
    ASSERT_EQ(call->data, model_.substr(call->begin, call->data.size()))
        << "a WRITE of bytes that are not the last written";
    map_.StartWrite(extent);
    calls_.push_back(std::move(call));
  }
  void StartCommit() {
    if (!commit_) commit_ = Commit{.last_written = map_.last_written()};
  }
  void Truncate() {
    Settle();
    if (testing::Test::HasFatalFailure()) return;
    const size_t size = Draw(kFileBytesMax), old_size = model_.size();
    server_.current.resize(size);
    server_.stable.resize(size);
    map_.Truncate(size);
    model_.resize(size);
    Admit(std::min(size, old_size), kFileBytesMax);
  }
  void BeginRead() {
    if (readers_.size() >= kReadsMax) return;
    const size_t at = Draw(kFileBytesMax), bytes = 1 + Draw(kFileBytesMax - at);
    auto reader = std::make_unique<Reader>(at, bytes);
    reader->values.resize(bytes);
    reader->end_min = reader->end_max = model_.size();
    map_.BeginRead(reader->read);
    reader->has_all = map_.HasAll(reader->read, is_known_ ? model_.size() : UINT64_MAX, is_known_);
    readers_.push_back(std::move(reader));
    Reader& added = *readers_.back();
    for (size_t i = 0; i < bytes; ++i) {
      added.values[i].set(at + i < model_.size() ? static_cast<unsigned char>(model_[at + i]) : 0);
    }
  }
  void EndRead() {
    if (readers_.empty()) return;
    const size_t which = Draw(readers_.size());
    const auto reader = std::move(readers_[which]);
    readers_.erase(readers_.begin() + static_cast<std::ptrdiff_t>(which));
    if (!reader->has_all && !reader->is_executed) Execute(*reader);
    const size_t shown = map_.EndRead(
        reader->read, std::as_writable_bytes(std::span(reader->into)), reader->count);
    const auto limit = [&](size_t end) {
      return std::min(end - std::min<size_t>(end, reader->offset), reader->into.size());
    };
    ASSERT_GE(shown, limit(reader->end_min)) << "a read at " << reader->offset << " ends too soon";
    ASSERT_LE(shown, limit(reader->end_max)) << "a read at " << reader->offset << " ends too late";
    for (size_t i = 0; i < shown; ++i) {
      ASSERT_TRUE(reader->values[i].test(static_cast<unsigned char>(reader->into[i])))
          << "a read shows a wrong byte at " << reader->offset + i;
    }
  }
  // fsync(2).
  void Sync() {
    Settle();
    if (testing::Test::HasFatalFailure()) return;
    ASSERT_EQ(server_.stable, model_) << "what was synced";
    ASSERT_TRUE(!readers_.empty() || (map_.is_empty() && charged_ == 0));
  }
  // Until the server has all on stable storage.
  void Settle() {
    while (map_.live_extents() > 0 && !testing::Test::HasFatalFailure()) {
      if (Extent* const extent = map_.NextDirty(); extent != nullptr) Start(*extent);
      while (!calls_.empty()) Answer();
      StartCommit();
      AnswerCommit();
    }
  }

  // --- the server

  void Execute(Call& call) {
    call.stored = Draw(4) == 0 ? 1 + Draw(call.data.size()) : call.data.size();
    call.is_stable = call.must_be_stable || Draw(6) == 0;
    call.verifier = server_.verifier;
    const auto store = [&](std::string& bytes) {
      if (bytes.size() < call.begin + call.stored) bytes.resize(call.begin + call.stored);
      bytes.replace(call.begin, call.stored, call.data, 0, call.stored);
    };
    store(server_.current);
    if (call.is_stable) store(server_.stable);
  }
  void Execute() {
    if (calls_.empty()) return;
    Call& call = *calls_[Draw(calls_.size())];
    if (call.stored == 0) Execute(call);
  }
  // Also one that is not the oldest; sometimes its connection ends.
  void Answer() {
    if (calls_.empty()) return;
    const size_t which = Draw(calls_.size());
    const auto call = std::move(calls_[which]);
    calls_.erase(calls_.begin() + static_cast<std::ptrdiff_t>(which));
    if (Draw(10) == 0) return map_.NotWritten(*call->extent);  // executed or not
    if (call->stored == 0 && Draw(50) == 0) {
      map_.Refused(*call->extent);
      return LoseRefused();
    }
    if (call->stored == 0) Execute(*call);
    map_.Written(*call->extent, call->stored, call->is_stable, call->verifier);
  }
  // The server's bytes in its place are the file's, and stay. Reads in progress may show any: what
  // the refused data had replaced may be gone here, and not be in their replies yet.
  void LoseRefused() {
    is_known_ = false;
    server_.stable = server_.current;
    model_ = Shown();
    for (const auto& reader : readers_) {
      reader->end_min = 0;
      reader->end_max = kFileBytesMax;
      for (auto& values : reader->values) values.set();
    }
  }
  void ExecuteCommit() {
    if (!commit_ || commit_->is_executed) return;
    commit_->is_executed = true;
    commit_->verifier = server_.verifier;
    server_.stable = server_.current;
  }
  void AnswerCommit() {
    if (!commit_) return;
    ExecuteCommit();
    map_.Committed(commit_->last_written, commit_->verifier);
    commit_.reset();
  }
  void Restart() {
    server_.current = server_.stable;
    ++server_.verifier;
  }
  void Execute(Reader& reader) {
    reader.is_executed = true;
    const size_t end = std::min(server_.current.size(), reader.offset + reader.into.size());
    reader.count = end - std::min<size_t>(end, reader.offset);
    std::memcpy(reader.into.data(), server_.current.data() + reader.offset * (reader.count > 0),
                reader.count);
  }
  void ExecuteRead() {
    if (readers_.empty()) return;
    Reader& reader = *readers_[Draw(readers_.size())];
    if (!reader.has_all && !reader.is_executed) Execute(reader);
  }

  void Step() {
    const size_t what = Draw(1000);
    if (what < 300) return Write();
    if (what < 420) return Send();
    if (what < 500) return Execute();
    if (what < 600) return Answer();
    if (what < 700) return BeginRead();
    if (what < 770) return ExecuteRead();
    if (what < 870) return EndRead();
    if (what < 910) return StartCommit();
    if (what < 930) return ExecuteCommit();
    if (what < 970) return AnswerCommit();
    if (what < 980) return Restart();
    if (what < 990) return Truncate();
    return Sync();
  }

  const uint64_t seed_ =
      10 * static_cast<uint64_t>(testing::UnitTest::GetInstance()->random_seed()) +
      static_cast<uint64_t>(GetParam());
  std::mt19937_64 random_{seed_};
  std::atomic<size_t> charged_{0};
  ExtentMap map_{kPiece, charged_};
  const std::array<ExtentMap::Context, 2> openers_ = {Opener(), Opener()};
  Server server_;
  std::string model_;
  // Whether the end of the file is known, and no hole of it was filled: not after a refusal, until
  // the server has all.
  bool is_known_ = true;
  std::vector<std::unique_ptr<Call>> calls_;
  std::optional<Commit> commit_;
  std::vector<std::unique_ptr<Reader>> readers_;
};
INSTANTIATE_TEST_SUITE_P(Seeds, ExtentMapTrial, testing::Range(0, 4));

TEST_P(ExtentMapTrial, ReadsAndStableBytesAreThoseOfTheModel) {
  uint64_t done = 0;
  for (; done < kOperations && !HasFatalFailure(); ++done) Step();
  const bool is_done = !HasFatalFailure();
  while (!readers_.empty()) EndRead();
  if (is_done && !HasFatalFailure()) Sync();
  EXPECT_FALSE(HasFatalFailure()) << "operation " << done << " with seed " << seed_;
  std::printf("operations: %llu\n", static_cast<unsigned long long>(done));
}

}  // namespace
}  // namespace nfswalk::data
