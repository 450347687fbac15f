// Data of a file against a model of it, as fsx does: random operations through two open files of
// one client, over a real server of both versions. --gtest_random_seed gives others.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <string>

#include "nfsclient/client.h"
#include "tests/fixtures/mounted_export.h"

namespace nfswalk {
namespace {

#ifdef NFSWALK_TEST_NIGHTLY
constexpr int kOperations = 5'000'000;  // for each version
#else
constexpr int kOperations = 10'000;
#endif
// Of those that are printed after a failure.
constexpr size_t kListed = 100;
constexpr size_t kFileBytesMax = 300'000;
constexpr size_t kTransferMax = 70'000;

class Data : public fixtures::ExportClient {
 protected:
  Data() : ExportClient("wsize=16384&rsize=16384&hard") {}

  void SetUp() override {
    ExportClient::SetUp();
    if (client_ == nullptr) return;
    ASSERT_TRUE(client_->Create(Path("file"), 0666, true, root_));
    for (size_t i = 0; i < files_.size(); ++i) files_[i] = Open(i);
  }
  // The second file is another user's.
  std::unique_ptr<File> Open(size_t which) {
    auto file = client_->Open(Path("file"), kMayRead | kMayWrite, which == 0 ? root_ : user_);
    EXPECT_TRUE(file.has_value());
    return std::move(*file);
  }
  std::string OnServer() const {
    std::ifstream in(Backing("file"));
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  size_t Draw(size_t limit) { return random_() % limit; }
  // Mostly small, sometimes a few pieces.
  size_t DrawBytes() { return 1 + Draw(Draw(4) == 0 ? kTransferMax : 5'000); }
  std::string DrawText(size_t bytes) {
    std::string text(bytes, '\0');
    for (char& c : text) c = static_cast<char>(random_());
    return text;
  }
  static std::span<const std::byte> Bytes(std::string_view text) {
    return std::as_bytes(std::span(text));
  }

  void Write(File& file) {
    const std::string text = DrawText(DrawBytes());
    const size_t at = Draw(kFileBytesMax - text.size());
    Note("write", at, text.size());
    ASSERT_EQ(file.PWrite(Bytes(text), at), text.size());
    if (model_.size() < at + text.size()) model_.resize(at + text.size());
    model_.replace(at, text.size(), text);
  }
  void Append(File& file) {
    const std::string text = DrawText(std::min(DrawBytes(), kFileBytesMax - model_.size()));
    Note("append", model_.size(), text.size());
    ASSERT_EQ(file.Append(Bytes(text)), text.size());
    model_ += text;
  }
  void Read(File& file, size_t at, size_t bytes) {
    Note("read", at, bytes);
    std::string text(bytes, '?');
    const auto count = file.PRead(std::as_writable_bytes(std::span(text)), at);
    ASSERT_TRUE(count.has_value());
    text.resize(*count);
    const std::string expected = at < model_.size() ? model_.substr(at, bytes) : "";
    ASSERT_EQ(text.size(), expected.size());
    const auto [differs, unused] = std::ranges::mismatch(text, expected);
    ASSERT_TRUE(text == expected) << "at " << at + static_cast<size_t>(differs - text.begin());
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
  void Truncate(File& file) {
    const size_t size = Draw(kFileBytesMax);
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
    ASSERT_TRUE(OnServer() == model_);
  }
  void Stat() {
    Note("stat", 0, 0);
    const auto attributes = client_->Stat(Path("file"), root_);
    ASSERT_TRUE(attributes.has_value());
    ASSERT_EQ(attributes->size_bytes, model_.size());
  }
  // One operation by one of the files.
  void Step() {
    which_ = Draw(files_.size());
    File& file = *files_[which_];
    const size_t operation = Draw(20);
    if (operation < 7) return Write(file);
    if (operation < 11) return Read(file, Draw(kFileBytesMax), DrawBytes());
    if (operation < 14) return ReadOn(file);
    if (operation < 15) return Truncate(file);
    if (operation < 16) return Append(file);
    if (operation < 17) return Reopen(which_);
    if (operation < 18) return Sync(file);
    return Stat();
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
INSTANTIATE_TEST_SUITE_P(Versions, Data, fixtures::AllVersions(), fixtures::VersionTestName);

TEST_P(Data, RandomOperationsThroughTwoOpenFilesMatchTheModel) {
  for (int i = 0; i < kOperations; ++i) {
    Step();
    if (HasFatalFailure()) {
      FAIL() << "operation " << i << " with seed " << seed_ << ", after" << Listed();
    }
  }
  for (auto& file : files_) EXPECT_EQ(file->Close(), std::errc{});
  EXPECT_TRUE(OnServer() == model_);
}

}  // namespace
}  // namespace nfswalk
