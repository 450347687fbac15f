#include "nfsclient/rpc/server_locator.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <expected>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "nfsclient/nfs3/nfs3.h"
#include "nfsclient/nfs4/nfs4.h"
#include "tests/fixtures/fake_nfs3.h"
#include "tests/fixtures/fake_nfs4.h"
#include "tests/unit/nfsclient/rpc/tagged_call.h"

namespace nfswalk::rpc {
namespace {

constexpr char kMovingHost[] = "moving.example";
// Address of kMovingHost.
std::atomic<const char*> moving_address = "127.0.0.1";

}  // namespace
}  // namespace nfswalk::rpc

// The C library's, for all hosts but one.
extern "C" int getaddrinfo(const char* host, const char* service, const addrinfo* hints,
                           addrinfo** found) {
  using nfswalk::rpc::kMovingHost;
  static const auto next =
      reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  const bool moves = host != nullptr && std::strcmp(host, kMovingHost) == 0;
  return next(moves ? nfswalk::rpc::moving_address.load() : host, service, hints, found);
}

namespace nfswalk::rpc {
namespace {

using protocol::ConnectError;
using protocol::Protocol;

using Found = std::expected<ServerLocation, ConnectError>;

std::unique_ptr<Connection> OpenWith(uint16_t port, ServerLocator::Ask ask) {
  const ServerLocation known{"127.0.0.1", port};
  return std::move(
      Connection::Open({known.address, port, NFS_PROGRAM, NFS_V3},
                       {.connect = std::chrono::seconds{10}, .silence = std::chrono::seconds{10}},
                       std::make_shared<ServerLocator>(known, std::move(ask)))
          .value());
}

// WIRE-19.
TEST(ServerLocator, AConnectionFollowsItsServerToAnotherPort) {
  auto server = std::make_unique<FakeServer>(OnNfsCall([](const FakeCall&) { return kNoEntry; }));
  FakeServer later(OnNfsCall([](const FakeCall&) { return kNoEntry; }));
  std::atomic<int> asked = 0;
  const auto connection = OpenWith(server->port(), [&](const ServerLocation& known) -> Found {
    if (++asked == 1) return std::unexpected(ConnectError{});
    return ServerLocation{known.address, later.port()};
  });
  TaggedCall call(1);
  EXPECT_EQ(connection->Execute(call), Outcome::kReplied);
  connection->Abort(call);
  EXPECT_EQ(connection->Execute(call), Outcome::kReplied);
  EXPECT_EQ(asked, 0) << "it was reached";
  server.reset();
  while (connection->Execute(call) == Outcome::kLost) {
  }
  EXPECT_EQ(call.status(), NFS3ERR_NOENT);
  EXPECT_EQ(asked, 2) << "once more after it was not found";
}

// WIRE-33: without that limit so many attempts take minutes.
TEST(ServerLocator, AServerOfALeaseIsConnectedToOften) {
  constexpr int kAttempts = 14;
  const auto asked = std::make_shared<std::counting_semaphore<>>(0);
  const auto connection = OpenWith(UnusedPort(), [asked](const ServerLocation& known) {
    asked->release();
    return Found(known);
  });
  connection->FitLease(std::chrono::milliseconds{20});
  std::jthread caller([&] {
    TaggedCall call(1);
    EXPECT_EQ(connection->Execute(call), Outcome::kCanceled);
  });
  for (int i = 0; i < kAttempts; ++i) asked->acquire();
  connection->Shutdown();
}

// No call waits for the resolver, and one asks at a time.
TEST(ServerLocator, AnAnswerThatDoesNotComeHoldsNoCallUp) {
  struct Shared {
    std::counting_semaphore<> release{0};
    std::atomic<int> asked = 0;
  };
  const auto shared = std::make_shared<Shared>();
  const auto connection = OpenWith(UnusedPort(), [shared](const ServerLocation& known) -> Found {
    ++shared->asked;
    shared->release.acquire();
    return known;
  });
  while (shared->asked == 0) {
    TaggedCall call(1);
    call.fail_if_unreachable = true;
    EXPECT_EQ(connection->Execute(call), Outcome::kUnreachable);
  }
  TaggedCall call(2);
  call.deadline = Call::Clock::now() + std::chrono::milliseconds{50};
  EXPECT_EQ(connection->Execute(call), Outcome::kTimedOut);
  EXPECT_EQ(shared->asked, 1);
  shared->release.release();
}

const protocol::TransportOptions kSoft{.hard = false, .timeo_ds = 50, .retrans = 1};

// WIRE-19.
template <typename Fake, typename Mount>
void ExpectFollowsTheName(Mount mount) {
  Fake fake;
  const auto answer = [&](const FakeCall& call) { return fake.Answer(call); };
  moving_address = "127.0.0.1";
  auto server = std::make_unique<FakeServer>(answer);
  const uint16_t port = server->port();
  const std::expected<std::unique_ptr<Protocol>, ConnectError> mounted =
      mount(protocol::ServerAddress{kMovingHost, "/", port, port});
  ASSERT_TRUE(mounted.has_value()) << mounted.error().message;
  const protocol::Credential user(1000, 100);
  const protocol::FileHandle root = (*mounted)->GetRoot(user).handle;
  server.reset();
  moving_address = "127.0.0.2";
  const FakeServer later(answer, INADDR_LOOPBACK + 1, port);
  EXPECT_EQ((*mounted)->GetAttributes(root, user).error, std::errc{});
}

TEST(ServerLocator, AMountOfVersion3FollowsTheNameOfItsServer) {
  ExpectFollowsTheName<protocol::FakeNfs3>(
      [](const auto& server) { return protocol::Nfs3::ConnectNfs3(server, kSoft); });
}

TEST(ServerLocator, AMountOfVersion4FollowsTheNameOfItsServer) {
  ExpectFollowsTheName<protocol::FakeNfs4>(
      [](const auto& server) { return protocol::Nfs4::ConnectNfs4(server, kSoft); });
}

}  // namespace
}  // namespace nfswalk::rpc
