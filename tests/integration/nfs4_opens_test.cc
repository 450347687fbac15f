// Open files of NFSv4 against a real server that is killed, restarted and lets leases expire.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "tests/fixtures/protocol_session.h"

namespace nfswalk::protocol {
namespace {

const Credential kUser(1000, 100);
const Credential kOther(2000, 200);

class OpenFilesOnServer : public SessionWithServer {
 protected:
  int version() const override { return 4; }

  void Restart() {
    server().Kill();
    const std::string failure = server().Restart();
    ASSERT_EQ(failure, "");
  }

  std::string Backing(const std::string& name) const {
    return server().backing_directory() + "/" + name;
  }
  void Put(const std::string& name, const std::string& data, mode_t mode = 0666) {
    std::ofstream(Backing(name)) << data;
    ASSERT_EQ(chmod(Backing(name).c_str(), mode), 0);
  }
  FileHandle HandleOf(const std::string& name) { return nfs().Lookup(root(), name, kRoot).handle; }

  struct File {
    std::errc error{};
    FileHandle handle;
    std::unique_ptr<OpenState> state;
  };
  File Open(const std::string& name, const Credential& credential = kUser) {
    File file;
    file.handle = HandleOf(name);
    OpenReply opened = nfs().Open(root(), name, file.handle, true, true, credential);
    file.error = opened.error;
    file.state = std::move(opened.state);
    return file;
  }
  std::errc ErrorOfRead(const File& file) {
    std::byte bytes[64];
    return nfs().Read(file.handle, 0, bytes, file.state.get(), kUser).error;
  }
  std::string Read(const File& file) {
    std::byte bytes[64];
    const ReadReply read = nfs().Read(file.handle, 0, bytes, file.state.get(), kUser);
    EXPECT_EQ(read.error, kOk);
    return std::string(reinterpret_cast<const char*>(bytes), read.count_bytes);
  }
  void Write(const File& file, std::string_view data) {
    const WriteReply written =
        nfs().Write(file.handle, 0, std::as_bytes(std::span(data)), file.state.get(), kUser);
    EXPECT_EQ(written.error, kOk);
    EXPECT_EQ(written.count_bytes, data.size());
  }
};

TEST_F(OpenFilesOnServer, SeveralCredentialsOpenReadWriteAndClose) {
  ASSERT_NO_FATAL_FAILURE(Start({}));
  Put("f", "hello");
  for (const Credential& credential : {kRoot, kUser, kOther, kUser}) {
    const File file = Open("f", credential);
    ASSERT_EQ(file.error, kOk);
    ASSERT_NE(file.state, nullptr);
    EXPECT_EQ(Read(file), "hello");
    Write(file, "HELLO");
    EXPECT_EQ(Read(file), "HELLO");
    Write(file, "hello");
  }
}

TEST_F(OpenFilesOnServer, ADeniedOpenLeavesTheOpenOwnerUsable) {
  ASSERT_NO_FATAL_FAILURE(Start({}));
  Put("secret", "s", 0600);
  Put("f", "hello");
  EXPECT_EQ(Open("secret", kUser).error, std::errc::permission_denied);
  EXPECT_EQ(Open("secret", kRoot).error, kOk);
  EXPECT_EQ(Read(Open("f", kUser)), "hello");
}

// An OPEN and a CLOSE; the first of an open-owner needs OPEN_CONFIRM as well.
TEST_F(OpenFilesOnServer, AConfirmedOwnerNeedsTwoCallsForOpenAndClose) {
  ASSERT_NO_FATAL_FAILURE(Start({}));
  Put("f", "hello");
  const FileHandle handle = HandleOf("f");
  (void)nfs().Open(root(), "f", handle, true, false, kUser);
  const uint64_t before = nfs().rpcs_sent();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(nfs().Open(root(), "f", handle, true, false, kUser).error, kOk);
  }
  EXPECT_EQ(nfs().rpcs_sent() - before, 20u);
}

TEST_F(OpenFilesOnServer, TwoOpensOfAFileAreClosedIndependently) {
  ASSERT_NO_FATAL_FAILURE(Start({}));
  Put("f", "hello");
  const File first = Open("f");
  { const File second = Open("f"); }
  EXPECT_EQ(Read(first), "hello");
  Write(first, "HELLO");
}

class RestartedServer : public OpenFilesOnServer, public testing::WithParamInterface<uint32_t> {};

TEST_P(RestartedServer, ReadsAndWritesOfOpenFilesContinue) {
  ASSERT_NO_FATAL_FAILURE(Start({.grace_seconds = GetParam(), .lease_seconds = 2}));
  Put("f", "hello");
  Put("g", "other");
  File file = Open("f");
  const File second = Open("g", kOther);
  ASSERT_EQ(file.error, kOk);
  for (int restarts = 0; restarts < 2; ++restarts) {
    ASSERT_NO_FATAL_FAILURE(Restart());
    EXPECT_EQ(Read(file), "hello");
    Write(file, "HELLO");
    Write(file, "hello");
    EXPECT_EQ(Read(second), "other");
  }
  file.state.reset();
  EXPECT_EQ(Read(Open("f")), "hello");
}

TEST_P(RestartedServer, AFileRemovedDuringTheRestartIsAnError) {
  ASSERT_NO_FATAL_FAILURE(Start({.grace_seconds = GetParam()}));
  Put("f", "hello");
  const File file = Open("f");
  server().Kill();
  ASSERT_EQ(unlink(Backing("f").c_str()), 0);
  ASSERT_EQ(server().Restart(), "");
  const std::errc error = ErrorOfRead(file);
  EXPECT_TRUE(error == kStale || error == std::errc::io_error) << static_cast<int>(error);
}

INSTANTIATE_TEST_SUITE_P(All, RestartedServer, testing::Values(0u, 2u), [](const auto& test) {
  return test.param == 0 ? std::string("WithoutGrace") : std::string("WithGrace");
});

TEST_F(OpenFilesOnServer, AFileReplacedDuringTheRestartIsAnErrorFromThenOn) {
  ASSERT_NO_FATAL_FAILURE(Start({}));
  Put("f", "hello");
  ASSERT_EQ(link(Backing("f").c_str(), Backing("kept").c_str()), 0);
  const File file = Open("f");
  server().Kill();
  ASSERT_EQ(unlink(Backing("f").c_str()), 0);
  Put("f", "another");
  ASSERT_EQ(server().Restart(), "");
  EXPECT_EQ(ErrorOfRead(file), std::errc::io_error);
  EXPECT_EQ(ErrorOfRead(file), std::errc::io_error);
  EXPECT_EQ(Read(Open("f")), "another");
}

TEST_F(OpenFilesOnServer, AFileRenamedDuringTheRestartIsReclaimed) {
  ASSERT_NO_FATAL_FAILURE(Start({.grace_seconds = 4}));
  Put("f", "hello");
  const File file = Open("f");
  server().Kill();
  ASSERT_EQ(rename(Backing("f").c_str(), Backing("g").c_str()), 0);
  ASSERT_EQ(server().Restart(), "");
  EXPECT_EQ(Read(file), "hello");
}

TEST_F(OpenFilesOnServer, ANewOpenWaitsForTheEndOfTheGracePeriod) {
  ASSERT_NO_FATAL_FAILURE(Start({.grace_seconds = 2, .lease_seconds = 2}));
  Put("f", "hello");
  const File held = Open("f");  // a client that may reclaim, so the server stays in grace
  ASSERT_NO_FATAL_FAILURE(Restart());
  EXPECT_EQ(Read(Open("f", kOther)), "hello");
}

TEST_F(OpenFilesOnServer, ThreadsOpenAndCloseWhileTheServerRestarts) {
  ASSERT_NO_FATAL_FAILURE(Start({}));
  constexpr int kThreads = 8;
  constexpr int kRounds = 60;
  Put("f", "hello");
  const FileHandle handle = HandleOf("f");
  std::atomic<int> rounds{0};
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const Credential credential(1000 + i % 3u, 100);
      for (int n = 0; n < kRounds; ++n) {
        const OpenReply opened = nfs().Open(root(), "f", handle, true, true, credential);
        std::byte bytes[8];
        const ReadReply read = nfs().Read(handle, 0, bytes, opened.state.get(), credential);
        good += opened.error == kOk && read.error == kOk && read.count_bytes == 5;
        ++rounds;
        rounds.notify_all();
      }
    });
  }
  int restarts = 0;
  for (int until = 100; until < kThreads * kRounds; until += 100, ++restarts) {
    for (int now = rounds.load(); now < until; now = rounds.load()) rounds.wait(now);
    ASSERT_NO_FATAL_FAILURE(Restart());
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(restarts, 4);
  EXPECT_EQ(good.load(), kThreads * kRounds);
}

// The server is stopped for longer than the lease, so that no renewal arrives in time; the timeout
// of a call on a soft mount marks the end. nfs-ganesha counts leases in whole seconds: a lease of
// one second could expire at any tick.
TEST_F(OpenFilesOnServer, AfterTheLeaseExpiredTheFileIsReopenedIfTheServerClosedIt) {
  constexpr uint32_t kLeaseSeconds = 2;
  ASSERT_NO_FATAL_FAILURE(Start({.lease_seconds = kLeaseSeconds}));
  const uint32_t lease = std::max(kLeaseSeconds, server().properties().lease_min_seconds);
  const auto patient = MustConnect({.hard = false, .timeo_ds = 10 * (lease + 1), .retrans = 0});
  Put("f", "hello");
  const File file = Open("f");
  const StateId before = OpenFiles::StateOf(file.state.get());
  server().Hang();
  while (patient->GetAttributes(root(), kUser).error != std::errc::timed_out) {
  }
  server().Resume();
  EXPECT_EQ(Read(file), "hello");
  Write(file, "HELLO");
  EXPECT_EQ(OpenFiles::StateOf(file.state.get()) == before, server().properties().courteous);
}

}  // namespace
}  // namespace nfswalk::protocol
