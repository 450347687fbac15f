// Clients of one server that use one file in turn, or beside each other under locks: two of the library
// and two mounts, over both versions. --gtest_random_seed gives other programs.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <random>
#include <shared_mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "nfsclient/client.h"
#include "tests/fixtures/file_data.h"
#include "tests/integration/mount_pair.h"

namespace nfswalk {
namespace {

#ifdef NFSWALK_TEST_NIGHTLY
constexpr int kTurns = 50'000, kTurnsOfLocks = 10'000, kTurnsOfLargeFile = 1'000;
#else
constexpr int kTurns = 800, kTurnsOfLocks = 1'000, kTurnsOfLargeFile = 20;
#endif

// The file as one of the clients has it open. Errors are failures of the test.
class SharedFile {
 public:
  virtual ~SharedFile() = default;
  virtual std::string Read(uint64_t at, size_t bytes) = 0;
  virtual void Write(uint64_t at, const std::string& text) = 0;
  virtual void Append(const std::string& text) = 0;
  virtual void Truncate(uint64_t size_bytes) = 0;
  virtual uint64_t Size() = 0;
  virtual void Lock(bool exclusive, uint64_t at, uint64_t bytes) = 0;
  virtual void Unlock(uint64_t at, uint64_t bytes) = 0;
  virtual void Close() = 0;
};

class ClientFile : public SharedFile {
 public:
  explicit ClientFile(std::unique_ptr<File> file) : file_(std::move(file)) {}
  std::string Read(uint64_t at, size_t bytes) override {
    return fixtures::ReadPart(*file_, at, bytes);
  }
  void Write(uint64_t at, const std::string& text) override {
    EXPECT_EQ(file_->PWrite(fixtures::BytesOf(text), at), text.size());
  }
  void Append(const std::string& text) override {
    EXPECT_EQ(file_->Append(fixtures::BytesOf(text)), text.size());
  }
  void Truncate(uint64_t size_bytes) override {
    EXPECT_TRUE(file_->SetAttributesOf({.size_bytes = size_bytes}));
  }
  uint64_t Size() override { return file_->attributes().size_bytes; }
  void Lock(bool exclusive, uint64_t at, uint64_t bytes) override {
    const LockType type = exclusive ? LockType::kWrite : LockType::kRead;
    EXPECT_EQ(file_->Lock(kOwner, type, at, bytes), kOk);
  }
  void Unlock(uint64_t at, uint64_t bytes) override {
    EXPECT_EQ(file_->Unlock(kOwner, at, bytes), kOk);
  }
  void Close() override { EXPECT_EQ(file_->Close(), kOk); }

 private:
  static constexpr uint64_t kOwner = 1;
  const std::unique_ptr<File> file_;
};

class DescriptorFile : public SharedFile {
 public:
  explicit DescriptorFile(const std::string& path)
      : path_(path), fd_(open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    EXPECT_GE(fd_, 0);
  }
  ~DescriptorFile() override { close(fd_); }
  std::string Read(uint64_t at, size_t bytes) override {
    std::string text(bytes, '?');
    const ssize_t count = pread(fd_, text.data(), bytes, static_cast<off_t>(at));
    EXPECT_GE(count, 0);
    text.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
    return text;
  }
  void Write(uint64_t at, const std::string& text) override {
    EXPECT_EQ(pwrite(fd_, text.data(), text.size(), static_cast<off_t>(at)),
              static_cast<ssize_t>(text.size()));
  }
  void Append(const std::string& text) override {
    Descriptor file(open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    EXPECT_EQ(write(file.fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    EXPECT_EQ(close(std::exchange(file.fd, -1)), 0);
  }
  void Truncate(uint64_t size_bytes) override {
    EXPECT_EQ(ftruncate(fd_, static_cast<off_t>(size_bytes)), 0);
  }
  uint64_t Size() override { return static_cast<uint64_t>(lseek(fd_, 0, SEEK_END)); }
  void Lock(bool exclusive, uint64_t at, uint64_t bytes) override {
    SetLock(exclusive ? F_WRLCK : F_RDLCK, at, bytes);
  }
  void Unlock(uint64_t at, uint64_t bytes) override { SetLock(F_UNLCK, at, bytes); }
  void Close() override { EXPECT_EQ(close(std::exchange(fd_, -1)), 0); }

 private:
  void SetLock(short type, uint64_t at, uint64_t bytes) const {
    struct flock lock{};
    lock.l_type = type;
    lock.l_start = static_cast<off_t>(at);
    lock.l_len = static_cast<off_t>(bytes);
    EXPECT_EQ(fcntl(fd_, F_SETLKW, &lock), 0);
  }

  const std::string path_;
  int fd_;
};

class TwoClients : public MountPair {
 protected:
  static constexpr size_t kClients = 4;

  // Options of all mounts.
  virtual std::string Limits() const { return "wsize=4096,rsize=4096,dirty_bytes=32768,hard"; }

  void SetUp() override {
    MountPair::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    std::string options = Limits();
    MountBoth(options);
    std::ranges::replace(options, ',', '&');
    for (auto& client : clients_) {
      const auto url = ParseMountUrl(server_->Url(options, GetParam()));
      ASSERT_TRUE(url.has_value());
      auto mounted = Client::Mount(*url);
      ASSERT_TRUE(mounted.has_value()) << mounted.error().message;
      client = std::move(*mounted);
    }
  }
  std::unique_ptr<SharedFile> Open(size_t which) {
    if (which >= clients_.size()) {
      return std::make_unique<DescriptorFile>(which == clients_.size() ? At("f") : Other("f"));
    }
    auto file = clients_[which]->Open("f", kMayRead | kMayWrite, Credential(0, 0));
    EXPECT_TRUE(file.has_value());
    return std::make_unique<ClientFile>(std::move(*file));
  }
  // Version 3 shows a change by other times only: returns once the next one has others, as coarse as
  // the server's clock may be.
  void AwaitOtherTimes() const {
    const timespec changed = StatOf(Backing("f")).st_ctim;
    timespec now{};
    do {
      std::this_thread::yield();
      clock_gettime(CLOCK_REALTIME_COARSE, &now);
    } while (std::pair(now.tv_sec, now.tv_nsec) <= std::pair(changed.tv_sec, changed.tv_nsec));
  }

  const uint64_t seed_ = static_cast<uint64_t>(testing::UnitTest::GetInstance()->random_seed());
  std::array<std::unique_ptr<Client>, 2> clients_;
};

// Close-to-open: an open shows all that was closed before.
TEST_P(TwoClients, OpenShowsDataThatOthersHaveClosed) {
  constexpr size_t kFileBytesMax = 100'000;
  File("f");
  std::mt19937_64 random(seed_);
  const auto draw = [&](size_t limit) { return random() % limit; };
  std::string model;
  for (int turn = 0; turn < kTurns && !HasFailure(); ++turn) {
    const size_t which = draw(kClients);
    SCOPED_TRACE(fmt::format("turn {} of client {} with seed {}", turn, which, seed_));
    const auto file = Open(which);
    if (draw(4) == 0) {
      EXPECT_EQ(file->Size(), model.size());
    }
    for (size_t operations = 1 + draw(5); operations > 0; --operations) {
      const size_t at = draw(kFileBytesMax), bytes = 1 + draw(10'000), what = draw(10);
      const std::string text = fixtures::Pattern(bytes, random());
      if (what < 5) {
        const std::string expected = at < model.size() ? model.substr(at, bytes) : "";
        EXPECT_EQ(fixtures::Difference(file->Read(at, bytes), expected), "") << "at " << at;
      } else if (what < 8) {
        file->Write(at, text);
        model.resize(std::max(model.size(), at + bytes));
        model.replace(at, bytes, text);
      } else if (what == 8 && model.size() < kFileBytesMax) {
        file->Append(text);
        model += text;
      } else {
        file->Truncate(at);
        model.resize(at);
      }
    }
    file->Close();
    EXPECT_EQ(fixtures::Difference(TextOf(Backing("f")), model), "") << "on the server";
    AwaitOtherTimes();
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, TwoClients, fixtures::AllVersions(), fixtures::VersionTestName);

class TwoClientsWithLocks : public TwoClients {
 protected:
  // A part of the file, under a lock. No multiple of a page: neighbours share pages and pieces.
  struct Region {
    std::shared_mutex holders;  // never waited for: the locks of the file exclude as this one does
    std::string model;
  };

  // Each client takes so many turns, in each of which it has the lock of one of the regions, which
  // begin as zeros.
  void RunBesideEachOther(size_t regions, size_t region_bytes, int turns) {
    File("f");
    std::filesystem::resize_file(Backing("f"), regions * region_bytes);
    regions_ = std::vector<Region>(regions);
    for (Region& region : regions_) region.model.resize(region_bytes);
    std::vector<std::jthread> threads;
    for (size_t which = 0; which < kClients; ++which) {
      threads.emplace_back([=, this] { Run(which, turns); });
    }
    threads.clear();
    std::string model;
    for (const Region& region : regions_) model += region.model;
    EXPECT_EQ(fixtures::Difference(TextOf(Backing("f")), model), "") << "on the server";
  }

 private:
  void Run(size_t which, int turns) {
    std::mt19937_64 random(kClients * seed_ + which);
    const auto file = Open(which);
    for (int turn = 0; turn < turns && !HasFailure(); ++turn) {
      SCOPED_TRACE(fmt::format("turn {} of client {} with seed {}", turn, which, seed_));
      const size_t number = random() % regions_.size();
      Region& region = regions_[number];
      const size_t bytes = region.model.size();
      const uint64_t from = number * bytes;
      const bool exclusive = random() % 2 == 0;
      file->Lock(exclusive, from, bytes);
      EXPECT_TRUE(exclusive ? region.holders.try_lock() : region.holders.try_lock_shared());
      EXPECT_EQ(fixtures::Difference(file->Read(from, bytes), region.model), "");
      for (size_t writes = random() % 4; exclusive && writes > 0; --writes) {
        const std::string text = fixtures::Pattern(1 + random() % (bytes / 2), random());
        const size_t at = random() % (bytes - text.size());
        file->Write(from + at, text);
        region.model.replace(at, text.size(), text);
      }
      exclusive ? region.holders.unlock() : region.holders.unlock_shared();
      file->Unlock(from, bytes);
    }
    file->Close();
  }

  std::vector<Region> regions_;
};

TEST_P(TwoClientsWithLocks, LockShowsDataThatOthersHaveUnlocked) {
  RunBesideEachOther(6, 10'000, kTurnsOfLocks);
}

class TwoClientsOfALargeFile : public TwoClientsWithLocks {
 protected:
  std::string Limits() const override { return "wsize=65536,rsize=65536,dirty_bytes=524288,hard"; }
};

// 256 MiB, each region many times what may be dirty.
TEST_P(TwoClientsOfALargeFile, LockShowsDataThatOthersHaveUnlocked) {
  RunBesideEachOther(64, 4'200'007, kTurnsOfLargeFile);
}

INSTANTIATE_TEST_SUITE_P(Versions, TwoClientsWithLocks, testing::Values(4),
                         fixtures::VersionTestName);
INSTANTIATE_TEST_SUITE_P(Versions, TwoClientsOfALargeFile, testing::Values(4),
                         fixtures::VersionTestName);

}  // namespace
}  // namespace nfswalk
