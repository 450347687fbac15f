// Data of a file against a model of it, as fsx does: random operations through two open files of
// one client, over a real server of both versions. --gtest_random_seed gives others.
//
// The file grows to many times what may be dirty. Phases in which all operations take turns follow
// those that only write and read: a stat, a sync or a truncation waits for all WRITEs, so that few
// are in flight beside other operations.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <sstream>
#include <string>

#include "nfsclient/client.h"
#include "tests/fixtures/data_export.h"
#include "tests/fixtures/file_data.h"

namespace nfswalk {
namespace {

#ifdef NFSWALK_TEST_NIGHTLY
constexpr int kOperations = 2'500'000;  // for each version and size of pieces
#else
constexpr int kOperations = 15'000;
#endif
constexpr int kOperationsOfPhase = 250;
// Number of the latest operations that are printed after a failure.
constexpr size_t kListed = 100;
constexpr size_t kPiecesMax = 200;

class Data : public fixtures::DataClient {
 protected:
  void SetUp() override {
    DataClient::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    ASSERT_TRUE(client_->Create(Path("file"), 0666, true, root_));
    for (size_t i = 0; i < files_.size(); ++i) files_[i] = Open(i);
  }
  // The second file is another user's.
  std::unique_ptr<File> Open(size_t which) {
    return DataExport::Open(*client_, kMayRead | kMayWrite, which == 0 ? root_ : user_);
  }
  void CompareWithServer() const {
    ASSERT_EQ(fixtures::Difference(fixtures::ContentOf(Backing("file")), model_), "");
  }
  size_t file_bytes_max() const { return kPiecesMax * piece_bytes(); }
  size_t Draw(size_t limit) { return random_() % limit; }
  // Mostly small, sometimes a few pieces.
  size_t DrawBytes() { return 1 + Draw(Draw(4) == 0 ? 4 * piece_bytes() : 5'000); }
  std::string DrawText(size_t bytes) {
    std::string text(bytes, '\0');
    for (char& c : text) c = static_cast<char>(random_());
    return text;
  }

  void Write(File& file) {
    const size_t bytes = DrawBytes();
    WriteAt(file, Draw(file_bytes_max() - bytes), bytes);
  }
  // At the end, or less than a page behind it; anywhere once the file is as large as it gets.
  void WriteOn(File& file) {
    const size_t bytes = DrawBytes(), hole = Draw(8) == 0 ? Draw(4096) : 0;
    if (model_.size() + hole + bytes > file_bytes_max()) return Write(file);
    WriteAt(file, model_.size() + hole, bytes);
  }
  // Twice, close to each other, into what is there.
  void Patch(File& file) {
    constexpr size_t kBytes = 100, kHole = 4096;
    if (model_.size() < 2 * kBytes + kHole) return;
    const size_t at = Draw(model_.size() - 2 * kBytes - kHole);
    WriteAt(file, at, kBytes);
    if (!HasFatalFailure()) WriteAt(file, at + kBytes + Draw(kHole), kBytes);
  }
  void WriteAt(File& file, size_t at, size_t bytes) {
    const std::string text = DrawText(bytes);
    Note("write", at, text.size());
    ASSERT_EQ(file.PWrite(fixtures::BytesOf(text), at), text.size());
    if (model_.size() < at + text.size()) model_.resize(at + text.size());
    model_.replace(at, text.size(), text);
  }
  void Append(File& file) {
    const std::string text = DrawText(std::min(DrawBytes(), file_bytes_max() - model_.size()));
    Note("append", model_.size(), text.size());
    ASSERT_EQ(file.Append(fixtures::BytesOf(text)), text.size());
    model_ += text;
  }
  void Read(File& file, size_t at, size_t bytes) {
    Note("read", at, bytes);
    std::string text(bytes, '?');
    const auto count = file.PRead(std::as_writable_bytes(std::span(text)), at);
    ASSERT_TRUE(count.has_value()) << std::make_error_code(count.error()).message();
    text.resize(*count);
    const std::string expected = at < model_.size() ? model_.substr(at, bytes) : "";
    ASSERT_EQ(fixtures::Difference(text, expected), "") << "at " << at;
  }
  // So that it is read ahead of.
  void ReadOn(File& file) {
    size_t at = Draw(model_.size() + 1);
    for (size_t reads = 2 + Draw(8); reads > 0 && !HasFatalFailure(); --reads) {
      const size_t bytes = DrawBytes();
      Read(file, at, bytes);
      at += bytes;
    }
  }
  void Truncate(File& file) { Truncate(file, Draw(file_bytes_max())); }
  void Truncate(File& file, size_t size) {
    Note("truncate", size, 0);
    ASSERT_TRUE(file.SetAttributesOf({.size_bytes = size}).has_value());
    model_.resize(size);
  }
  void Reopen(size_t which) {
    Note("close and open", 0, 0);
    ASSERT_EQ(files_[which]->Close(), std::errc{});
    files_[which] = Open(which);
  }
  void Sync(File& file) {
    Note("sync", 0, 0);
    ASSERT_EQ(file.Sync(), std::errc{});
    CompareWithServer();
  }
  void Stat() {
    Note("stat", 0, 0);
    ASSERT_EQ(StatSize(), model_.size());
  }
  bool has_space_calls() const { return client_->server().minor_version == 2u; }
  void PunchHole(File& file) {
    const size_t at = Draw(file_bytes_max()), bytes = DrawBytes();
    Note("punch hole", at, bytes);
    ASSERT_EQ(file.PunchHole(at, bytes), kOk);
    if (at >= model_.size()) return;
    const size_t inside = std::min(bytes, model_.size() - at);
    model_.replace(at, inside, std::string(inside, '\0'));
  }
  void Allocate(File& file) {
    const size_t bytes = DrawBytes(), at = Draw(file_bytes_max() - bytes);
    Note("allocate", at, bytes);
    ASSERT_EQ(file.Allocate(at, bytes), kOk);
    model_.resize(std::max(model_.size(), at + bytes));
  }
  // From the file to itself, by the server where that can.
  void Copy(File& file) {
    const size_t from = Draw(model_.size() + 1), to = Draw(file_bytes_max() / 2);
    const size_t bytes = std::min(DrawBytes(), from < to ? to - from : from - to);
    Note("copy from", from, bytes);
    Note("copy to", to, bytes);
    const auto copied = file.CopyFrom(*files_[Draw(files_.size())], from, to, bytes);
    if (!copied && copied.error() == std::errc::operation_not_supported) return;
    ASSERT_TRUE(copied.has_value());
    ASSERT_LE(*copied, bytes);
    const std::string part = model_.substr(from, *copied);
    if (part.empty()) return;
    ASSERT_EQ(part.size(), *copied);
    if (model_.size() < to + part.size()) model_.resize(to + part.size());
    model_.replace(to, part.size(), part);
  }
  // The file system decides where the holes are, but they are zeros.
  void Seek(File& file) {
    const size_t at = Draw(file_bytes_max());
    Note("seek", at, 0);
    const auto data = file.Seek(at, Content::kData), hole = file.Seek(at, Content::kHole);
    const std::errc behind = std::errc::no_such_device_or_address;
    ASSERT_TRUE(data || data.error() == behind);
    const size_t before = data.value_or(model_.size());
    for (size_t i = at; i < before && i < model_.size(); ++i) ASSERT_EQ(model_[i], '\0') << i;
    ASSERT_EQ(hole.has_value(), at < model_.size());
    ASSERT_LE(hole.value_or(0), model_.size());
  }
  // One operation by one of the files.
  void Step() {
    which_ = Draw(files_.size());
    File& file = *files_[which_];
    const size_t operation = Draw(has_space_calls() ? 24 : 20);
    if (operation == 23) return Copy(file);
    if (operation == 20) return PunchHole(file);
    if (operation == 21) return Allocate(file);
    if (operation == 22) return Seek(file);
    if (operation < 7) return Write(file);
    if (operation < 11) return Read(file, Draw(file_bytes_max()), DrawBytes());
    if (operation < 14) return ReadOn(file);
    if (operation < 15) return Truncate(file);
    if (operation < 16) return Append(file);
    if (operation < 17) return Reopen(which_);
    if (operation < 18) return Sync(file);
    return Stat();
  }
  // One of a phase: a writer lets the file grow, and patches it in one of `steps_of_patch` steps;
  // both files read it.
  void StepOfStream(size_t writer, size_t steps_of_patch) {
    const size_t operation = Draw(20);
    which_ = operation < 12 ? writer : Draw(files_.size());
    File& file = *files_[which_];
    if (operation < 12) return Draw(steps_of_patch) == 0 ? Patch(file) : WriteOn(file);
    if (operation < 18) return Read(file, Draw(model_.size() + 1), DrawBytes());
    return ReadOn(file);
  }
  // Runs one phase of each kind; returns the operations that were made.
  int Round() {
    which_ = Draw(files_.size());
    const size_t writer = which_;
    Truncate(*files_[writer], Draw(2) == 0 ? 0 : Draw(file_bytes_max() / 2));
    const size_t steps_of_patch = Draw(2) == 0 ? 10 : 100;
    int steps = 0;
    for (; steps < kOperationsOfPhase && !HasFatalFailure(); ++steps) {
      StepOfStream(writer, steps_of_patch);
    }
    if (!HasFatalFailure() && Draw(2) == 0) Sync(*files_[Draw(files_.size())]);
    for (; steps < 2 * kOperationsOfPhase && !HasFatalFailure(); ++steps) Step();
    if (!HasFatalFailure()) Sync(*files_[Draw(files_.size())]);
    return steps;
  }
  void Note(std::string_view operation, size_t at, size_t bytes) {
    if (operations_.size() == kListed) operations_.pop_front();
    operations_.push_back({which_, operation, at, bytes});
  }
  std::string Listed() const {
    std::ostringstream list;
    for (const Operation& operation : operations_) {
      list << "\n  file " << operation.which << ": " << operation.name << " " << operation.at << " "
           << operation.bytes;
    }
    return list.str();
  }

  struct Operation {
    size_t which;
    std::string_view name;
    size_t at, bytes;
  };

  const uint64_t seed_ =
      10 * static_cast<uint64_t>(testing::UnitTest::GetInstance()->random_seed()) +
      static_cast<uint64_t>(version());
  std::mt19937_64 random_{seed_};
  const Credential user_{1000, 100};
  std::array<std::unique_ptr<File>, 2> files_;
  std::string model_;
  size_t which_ = 0;                  // of files_
  std::deque<Operation> operations_;  // the latest
};
INSTANTIATE_TEST_SUITE_P(Pieces, Data,
                         testing::Values(fixtures::DataSetting{3, 4096, 64},
                                         fixtures::DataSetting{4, 4096, 64},
                                         fixtures::DataSetting{3, 16384, 8},
                                         fixtures::DataSetting{4, 16384, 8}),
                         fixtures::DataSettingName);

TEST_P(Data, RandomOperationsThroughTwoOpenFilesMatchTheModel) {
  for (int operations = 0; operations < kOperations;) {
    operations += Round();
    if (HasFatalFailure()) {
      FAIL() << "operation " << operations << " with seed " << seed_ << ", after" << Listed();
    }
  }
  for (auto& file : files_) EXPECT_EQ(file->Close(), std::errc{});
  CompareWithServer();
}

}  // namespace
}  // namespace nfswalk
