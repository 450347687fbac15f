// Threads of the library that cannot be started: an error of the call that needs them.
#include "tests/fixtures/thread_shortage.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <system_error>

#include "nfsclient/c_api/nfswalk.h"
#include "rcu/defer.h"
#include "tests/fixtures/fake_nfs3_mount.h"
#include "tests/fixtures/fake_nfs4.h"

namespace nfswalk {
namespace {

using fixtures::ThreadShortage;

// Calls `call` with room for no thread, for one, ... until it succeeds; returns how many that was.
template <class Call>
int ThreadsOf(Call&& call) {
  for (int started = 0; started < 100; ++started) {
    const ThreadShortage shortage(started);
    const int result = call();
    if (result == 0) return started;
    EXPECT_EQ(result, -EAGAIN) << started;
    EXPECT_TRUE(shortage.occurred()) << started;
  }
  ADD_FAILURE();
  return 0;
}

TEST(ThreadShortage, IsAnErrorOfTheCallThatNeedsTheThread) {
  protocol::FakeNfs4 server;
  server.Put("f", {.data = "text"});
  const std::string url =
      "nfs://127.0.0.1:" + std::to_string(server.port()) + "/?version=4.0&nconnect=2";
  nfswalk_client* client = nullptr;
  char text[512] = "";
  // Starts the thread of RCU callbacks, which the process has only once.
  ASSERT_EQ(nfswalk_mount(url.c_str(), &client, text, sizeof text), 0) << text;
  nfswalk_unmount(client);
  EXPECT_EQ(ThreadsOf([&] {
              const int result = nfswalk_mount(url.c_str(), &client, text, sizeof text);
              EXPECT_TRUE(result == 0 || std::string(text).contains("cannot start")) << text;
              return result;
            }),
            1);  // a resolver
  nfswalk_file* file = nullptr;
  EXPECT_EQ(ThreadsOf([&] { return nfswalk_open(client, "f", NFSWALK_READ, nullptr, 0, &file); }),
            1);  // renewals
  nfswalk_close(file);
  nfswalk_queue* queue = nullptr;
  EXPECT_EQ(ThreadsOf([&] { return nfswalk_queue_create(client, 3, &queue); }), 3);
  nfswalk_queue_destroy(queue);
  nfswalk_unmount(client);
}

TEST(ThreadShortage, IsAnErrorOfAMountWithASession) {
  protocol::FakeNfs4 server;
  const std::string url = "nfs://127.0.0.1:" + std::to_string(server.port()) + "/?version=4.1";
  nfswalk_client* client = nullptr;
  // As above.
  ASSERT_EQ(nfswalk_mount(url.c_str(), &client, nullptr, 0), 0);
  nfswalk_unmount(client);
  EXPECT_EQ(ThreadsOf([&] { return nfswalk_mount(url.c_str(), &client, nullptr, 0); }),
            2);  // a resolver, renewals
  nfswalk_unmount(client);
}

TEST(ThreadShortage, IsAnErrorOfAMountOfVersion3) {
  protocol::FakeNfs3 server;
  const uint16_t port = server.port();
  EXPECT_EQ(ThreadsOf([&] {
              const auto mounted = protocol::Connect3(port, port);
              return mounted ? 0 : -static_cast<int>(mounted.error().error);
            }),
            1);  // a resolver
}

// liburcu itself would end the process. In a process of its own, where no mount was made yet.
TEST(ThreadShortage, MissingCallbackThreadIsAnErrorUntilItStarts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        {
          const ThreadShortage shortage(0);
          EXPECT_EQ(rcu::StartCallbackThread(), std::errc::resource_unavailable_try_again);
        }
        EXPECT_EQ(rcu::StartCallbackThread(), std::errc{});
        const ThreadShortage shortage(0);
        EXPECT_EQ(rcu::StartCallbackThread(), std::errc{});
        rcu::Barrier();
        std::exit(testing::Test::HasFailure() ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace nfswalk
