// Client::Shutdown() of a hard mount whose server is dead: every waiting call returns ECANCELED.

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/fixtures/mounted_export.h"

namespace nfswalk {
namespace {

constexpr std::errc kShutDown = std::errc::operation_canceled;

template <class T>
std::errc ErrorOf(const Result<T>& result) {
  return result ? std::errc{} : result.error();
}

class ShutDown : public fixtures::VersionedExport {
 protected:
  void SetUp() override {
    VersionedExport::SetUp();
    if (IsSkipped()) return;
    client_ = Mount("actimeo=600&hard");
    ASSERT_NE(client_, nullptr);
    MakeDirectory("dir");
    MakeFile("file", "hello");
    file_ = std::move(*client_->Open(Path("file"), kMayRead | kMayWrite, root_));
    node_ = std::move(*client_->Resolve(Path("dir"), root_));
  }

  // One call of each kind; each needs an RPC.
  std::vector<std::function<std::errc()>> AllCalls() {
    return {
        [&] { return ErrorOf(client_->Stat(Path("a"), root_)); },
        [&] { return client_->Access(Path("b"), kMayRead, root_); },
        [&] {
          char text[8];
          return ErrorOf(client_->ReadLink(Path("c"), text, root_));
        },
        [&] { return client_->ReadDir(Path("dir"), root_, [](auto&) { return true; }); },
        [&] { return ErrorOf(client_->Open(Path("file"), kMayRead, root_)); },
        [&] { return ErrorOf(client_->Create(Path("d"), 0644, true, root_)); },
        [&] { return ErrorOf(client_->MakeDirectory(Path("e"), 0755, root_)); },
        [&] { return client_->Unlink(Path("f"), root_); },
        [&] { return client_->Rename(Path("file"), Path("g"), root_); },
        [&] { return ErrorOf(client_->Resolve(Path("h"), root_)); },
        [&] { return ErrorOf(node_->Stat("i", root_)); },
        [&] {
          std::byte data[8];
          return ErrorOf(file_->PRead(data, 0));
        },
        [&] {
          const std::byte data[8] = {};
          return ErrorOf(file_->PWrite(data, 0));
        },
    };
  }

  std::unique_ptr<Client> client_;
  std::unique_ptr<File> file_;
  std::unique_ptr<Node> node_;
};

INSTANTIATE_TEST_SUITE_P(Versions, ShutDown, fixtures::AllVersions(), fixtures::VersionTestName);

// WIRE-6.
TEST_P(ShutDown, CancelsCallsInFlight) {
  server().Hang();
  const auto calls = AllCalls();
  std::vector<std::errc> answers(calls.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < calls.size(); ++i) {
    const uint64_t sent = client_->stats().rpcs;
    threads.emplace_back([&, i] { answers[i] = calls[i](); });
    // Some wait for a connection, or a client id, that the first one has requested.
    if (i == 0) {
      while (client_->stats().rpcs == sent) std::this_thread::yield();
    }
  }
  std::vector<std::thread> closers;
  for (int i = 0; i < 3; ++i) closers.emplace_back([&] { client_->Shutdown(); });
  for (auto& closer : closers) closer.join();
  for (auto& thread : threads) thread.join();
  for (size_t i = 0; i < calls.size(); ++i) EXPECT_EQ(answers[i], kShutDown) << "call " << i;
  server().Resume();
}

TEST_P(ShutDown, LaterCallsAreCanceledEvenOnCacheHits) {
  ASSERT_TRUE(client_->Stat(Path("file"), root_).has_value());
  client_->Shutdown();
  const Stats before = client_->stats();
  EXPECT_EQ(ErrorOf(client_->Stat(Path("file"), root_)), kShutDown);
  EXPECT_EQ(ErrorOf(client_->Stat(Path("file"), root_, {.cached = true})), kShutDown);
  EXPECT_EQ(ErrorOf(client_->Open(Path("file"), kMayRead, root_, {.cached = true})), kShutDown);
  EXPECT_EQ(ErrorOf(node_->Stat("", root_)), kShutDown);
  for (const auto& call : AllCalls()) EXPECT_EQ(call(), kShutDown);
  client_->Shutdown();
  EXPECT_EQ(client_->stats().rpcs, before.rpcs);
  client_->InvalidateCaches();
  client_->DropCaches();
}

}  // namespace
}  // namespace nfswalk
