// Written data, and servers that are killed: what Sync() or Close() have answered is on the server.
//
// nfs-ganesha keeps UNSTABLE data over its end, as the files are the kernel's. So files are put
// back to their last Sync() while the server is down: what was not committed is lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <fstream>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "nfsclient/client.h"
#include "tests/fixtures/file_data.h"
#include "tests/fixtures/mounted_export.h"

namespace nfswalk::faults {
namespace {

#ifdef NFSWALK_TEST_NIGHTLY
constexpr int kKills = 20;
#else
constexpr int kKills = 3;
#endif

using fixtures::ContentOf;
using fixtures::Difference;

std::span<const std::byte> Bytes(std::string_view text) { return fixtures::BytesOf(text); }

// Writes at random to a file of its own, syncs it, and compares it with the server.
class Writer {
 public:
  Writer(std::unique_ptr<File> file, std::string backing, uint64_t seed)
      : file_(std::move(file)), backing_(std::move(backing)), random_(seed) {}

  void Run(const std::atomic<bool>& stop) {
    while (!stop.load() && !testing::Test::HasFailure()) {
      for (size_t writes = 1 + random_() % 20; writes > 0; --writes) Write();
      AwaitResume();
      Sync();
      EXPECT_EQ(Difference(ContentOf(backing_), model_), "") << backing_;
      ++syncs_;
      syncs_.notify_all();
    }
    EXPECT_EQ(file_->Close(), kOk);
    EXPECT_EQ(Difference(ContentOf(backing_), model_), "") << backing_;
    syncs_ = kEndedSyncs;
    syncs_.notify_all();
    pause_ = Pausing::kEnded;
    pause_.notify_all();
  }
  // Returns when `count` more syncs have ended, or the writer has.
  void AwaitSyncs(uint64_t count) const {
    const uint64_t begin = syncs_.load();
    for (uint64_t now = begin; now < kEndedSyncs && now < begin + count; now = syncs_.load()) {
      syncs_.wait(now);
    }
  }
  // Returns once the writer has stopped before a Sync(), with data that was not committed, or has
  // ended.
  void Pause() {
    Pausing running = Pausing::kNo;
    pause_.compare_exchange_strong(running, Pausing::kAsked);
    pause_.wait(Pausing::kAsked);
  }
  void Resume() {
    Pausing paused = Pausing::kPaused;
    pause_.compare_exchange_strong(paused, Pausing::kNo);
    pause_.notify_all();
  }
  // Puts the file back to the last Sync(), unless one is in progress, which may have been committed
  // already. Returns how many bytes that changed. Preconditions: the server is down.
  size_t LoseUncommitted() {
    const std::lock_guard lock(mutex_);
    if (is_syncing_) return 0;
    const std::string content = ContentOf(backing_);
    std::ofstream(backing_) << synced_;  // the same inode, which the server finds by its handle
    size_t lost = content.size() - std::min(content.size(), synced_.size());
    for (size_t i = 0; i < std::min(content.size(), synced_.size()); ++i) {
      lost += content[i] != synced_[i] ? 1u : 0u;
    }
    return lost;
  }

 private:
  static constexpr uint64_t kEndedSyncs = UINT64_MAX / 2;
  enum class Pausing : uint8_t { kNo, kAsked, kPaused, kEnded };

  void AwaitResume() {
    Pausing asked = Pausing::kAsked;
    if (!pause_.compare_exchange_strong(asked, Pausing::kPaused)) return;
    pause_.notify_all();
    pause_.wait(Pausing::kPaused);
  }
  void Sync() {
    {
      const std::lock_guard lock(mutex_);
      is_syncing_ = true;
    }
    EXPECT_EQ(file_->Sync(), kOk);
    const std::lock_guard lock(mutex_);
    is_syncing_ = false;
    synced_ = model_;
  }
  void Write() {
    constexpr size_t kFileBytesMax = 300'000;
    std::string text(1 + random_() % 60'000, static_cast<char>(random_()));
    text[random_() % text.size()] = static_cast<char>(random_());
    const size_t at = random_() % (kFileBytesMax - text.size());
    EXPECT_EQ(file_->PWrite(Bytes(text), at), text.size());
    if (model_.size() < at + text.size()) model_.resize(at + text.size());
    model_.replace(at, text.size(), text);
  }

  const std::unique_ptr<File> file_;
  const std::string backing_;
  std::mt19937_64 random_;
  std::string model_;
  std::atomic<uint64_t> syncs_{0};
  std::atomic<Pausing> pause_{Pausing::kNo};
  std::mutex mutex_;  // of all below
  bool is_syncing_ = false;
  std::string synced_;  // the content as of the last Sync()
};

using WrittenData = fixtures::VersionedExport;

INSTANTIATE_TEST_SUITE_P(Versions, WrittenData, fixtures::AllVersions(), fixtures::VersionTestName);

// WIRE-20. Writers are at any point between a WRITE and its COMMIT.
TEST_P(WrittenData, KillsUnderLoadLoseNothingThatWasSynced) {
  const auto client = Mount("hard&nconnect=2&wsize=16384");
  ASSERT_NE(client, nullptr);
  std::vector<std::unique_ptr<Writer>> writers;
  for (const char* name : {"a", "b", "c"}) {
    auto opened = client->CreateAndOpen(Path(name), kMayRead | kMayWrite, 0644, true, root_);
    ASSERT_TRUE(opened.has_value());
    writers.push_back(std::make_unique<Writer>(std::move(opened->file), Backing(name), *name));
  }
  std::atomic<bool> stop{false};
  size_t lost_bytes = 0;
  std::vector<std::jthread> threads;
  for (const auto& writer : writers) threads.emplace_back([&] { writer->Run(stop); });
  std::string error;
  for (int kill = 0; kill < kKills && error.empty() && !HasFailure(); ++kill) {
    // The others are at any point.
    Writer& paused = *writers[static_cast<size_t>(kill) % writers.size()];
    paused.AwaitSyncs(2);
    paused.Pause();
    server().Kill();
    for (const auto& writer : writers) {
      const size_t lost = writer->LoseUncommitted();
      if (writer.get() == &paused) lost_bytes += lost;
    }
    error = server().Restart();
    paused.Resume();
  }
  EXPECT_EQ(error, "");
  EXPECT_GT(lost_bytes, 0u);
  for (const auto& writer : writers) writer->AwaitSyncs(1);
  stop = true;
}

// The parameter: the grace period in seconds, in which opens are reclaimed; 0: they are opened by
// name.
class ManyOpenFiles : public testing::TestWithParam<uint32_t> {};

INSTANTIATE_TEST_SUITE_P(Grace, ManyOpenFiles, testing::Values(0, 2));

// WIRE-17. Each has data that was not sent when the server is killed.
TEST_P(ManyOpenFiles, SurviveARestartWithTheirData) {
  constexpr int kFiles = 1000;
  const Credential root{0, 0};
  auto server = fixtures::NfsServer::Start({.grace_seconds = GetParam()});
  if (!server) GTEST_SKIP() << server.error();
  std::unique_ptr<Client> client;
  {
    const fixtures::NfsServer::NetworkScope inside(**server);
    client = std::move(*Client::Mount(*ParseMountUrl((*server)->Url("hard", 4))));
  }
  std::vector<std::unique_ptr<File>> files;
  for (int i = 0; i < kFiles; ++i) {
    const std::string name = "file" + std::to_string(i);
    auto opened = client->CreateAndOpen(name, kMayRead | kMayWrite, 0644, true, root);
    ASSERT_TRUE(opened.has_value());
    files.push_back(std::move(opened->file));
    ASSERT_EQ(files.back()->PWrite(Bytes(name), 0), name.size());
  }
  (*server)->Kill();
  ASSERT_EQ((*server)->Restart(), "");
  for (int i = 0; i < kFiles; ++i) {
    const std::string name = "file" + std::to_string(i);
    ASSERT_EQ(files[static_cast<size_t>(i)]->PWrite(Bytes("after"), 100), 5u);
    ASSERT_EQ(files[static_cast<size_t>(i)]->Close(), kOk) << name;
    std::string expected = name;
    expected.resize(100);
    ASSERT_EQ(ContentOf((*server)->backing_directory() + "/" + name), expected + "after");
  }
}

}  // namespace
}  // namespace nfswalk::faults
