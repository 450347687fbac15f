// Data of files against a model of them, as fsx does: random operations through two open files of
// one client, over a real server of both versions; and what is left of it when the server is
// killed.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <thread>

#include "nfsclient/client.h"
#include "tests/fixtures/mounted_export.h"

namespace nfswalk {
namespace {

#ifdef NFSWALK_TEST_NIGHTLY
constexpr int kOperations = 5'000'000;  // for each version
constexpr int kKills = 20;
#else
constexpr int kOperations = 3'000;
constexpr int kKills = 2;
#endif
constexpr size_t kFileBytesMax = 300'000;
constexpr size_t kTransferMax = 70'000;

class Data : public fixtures::VersionedExport {
 protected:
  void SetUp() override {
    VersionedExport::SetUp();
    if (IsSkipped()) return;
    client_ = Mount("wsize=16384&rsize=16384&hard");
    ASSERT_NE(client_, nullptr);
    ASSERT_TRUE(client_->Create(Path("file"), 0644, true, root_));
    for (auto& file : files_) file = Open();
  }
  std::unique_ptr<File> Open() {
    auto file = client_->Open(Path("file"), kMayRead | kMayWrite, root_);
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
    ASSERT_EQ(file.PWrite(Bytes(text), at), text.size());
    if (model_.size() < at + text.size()) model_.resize(at + text.size());
    model_.replace(at, text.size(), text);
  }
  void Append(File& file) {
    const std::string text = DrawText(std::min(DrawBytes(), kFileBytesMax - model_.size()));
    ASSERT_EQ(file.Append(Bytes(text)), text.size());
    model_ += text;
  }
  void Read(File& file, size_t at, size_t bytes) {
    std::string text(bytes, '?');
    const auto count = file.PRead(std::as_writable_bytes(std::span(text)), at);
    ASSERT_TRUE(count.has_value());
    text.resize(*count);
    const std::string expected = at < model_.size() ? model_.substr(at, bytes) : "";
    ASSERT_EQ(text.size(), expected.size()) << "from " << at;
    ASSERT_TRUE(text == expected) << "from " << at << " bytes " << bytes;
  }
  void Truncate(File& file) {
    const size_t size = Draw(kFileBytesMax);
    ASSERT_TRUE(file.SetAttributesOf({.size_bytes = size}).has_value());
    model_.resize(size);
  }
  // One operation by one of the files.
  void Step() {
    std::unique_ptr<File>& file = files_[Draw(files_.size())];
    switch (Draw(16)) {
      case 0:
        return Truncate(*file);
      case 1:
        return Append(*file);
      case 2:
        ASSERT_EQ(file->Close(), std::errc{});
        file = Open();
        return;
      case 3:
        ASSERT_EQ(file->Sync(), std::errc{});
        ASSERT_TRUE(OnServer() == model_);
        return;
      case 4: {
        const auto attributes = client_->Stat(Path("file"), root_);
        ASSERT_TRUE(attributes.has_value());
        ASSERT_EQ(attributes->size_bytes, model_.size());
        return;
      }
      case 5:
      case 6:
      case 7:  // goes on where it was
        at_ = at_ < model_.size() ? at_ : 0;
        Read(*files_[0], at_, 1 + Draw(20'000));
        at_ += 20'000;
        return;
      case 8:
      case 9:
      case 10:
        return Read(*file, Draw(kFileBytesMax), DrawBytes());
      default:
        return Write(*file);
    }
  }

  std::mt19937_64 random_{20'000 + static_cast<uint64_t>(version())};
  std::unique_ptr<Client> client_;
  std::array<std::unique_ptr<File>, 2> files_;
  std::string model_;
  size_t at_ = 0;  // of the sequential reader
};
INSTANTIATE_TEST_SUITE_P(Versions, Data, fixtures::AllVersions(), fixtures::VersionTestName);

TEST_P(Data, RandomOperationsThroughTwoOpenFilesMatchTheModel) {
  for (int i = 0; i < kOperations; ++i) {
    Step();
    if (HasFatalFailure()) {
      FAIL() << "operation " << i;
    }
  }
  for (auto& file : files_) EXPECT_EQ(file->Close(), std::errc{});
  EXPECT_TRUE(OnServer() == model_);
}

// What Sync() answered with success is on the server, however often it is killed meanwhile.
TEST_P(Data, NothingIsLostThatSyncHasAnswered) {
  for (int kill = 0; kill < kKills; ++kill) {
    std::thread killer([this] {
      server().Kill();
      EXPECT_EQ(server().Restart(), "");
    });
    for (int i = 0; i < 10; ++i) {
      for (int writes = 0; writes < 20; ++writes) Write(*files_[Draw(2)]);
      ASSERT_EQ(files_[0]->Sync(), std::errc{});
      ASSERT_TRUE(OnServer() == model_);
    }
    killer.join();
  }
}

}  // namespace
}  // namespace nfswalk
