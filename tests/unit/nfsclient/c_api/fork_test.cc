// The child of a fork(2): it has the parent's objects, and not the threads that serve them.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "nfsclient/c_api/nfswalk.h"
#include "rcu/fork.h"
#include "tests/fixtures/fake_nfs4.h"
#include "tests/fixtures/libnfs_raw.h"

// Turns LeakSanitizer off in a child: memory that it leaves to its exit is no leak.
extern "C" int __lsan_is_turned_off() { return nfswalk::rcu::InForkedChild() ? 1 : 0; }

namespace nfswalk {
namespace {

using protocol::FakeNode;

constexpr unsigned kSecondsMax = 60;  // a child that waits for a thread it does not have

// Forks; the child runs `in_child`, whose failures are the test's, and ends.
void InChild(const std::function<void()>& in_child) {
  const pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    alarm(kSecondsMax);
    in_child();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

// A mount with one of each of its objects.
class Fork : public testing::Test {
 protected:
  Fork() {
    server_.Put("d", {.type = FakeNode::Type::kDirectory, .mode = 0755, .nlink = 2});
    for (const char* name : {"d/f", "d/other", "d/slow"}) server_.Put(name, {.data = "text"});
    server_.Put("l", {.type = FakeNode::Type::kSymlink, .data = "d"});
    url_ = "nfs://127.0.0.1:" + std::to_string(server_.port()) + "/?actimeo=600&version=4";
    char text[512] = "";
    EXPECT_EQ(nfswalk_mount(url_.c_str(), &client_, text, sizeof text), 0) << text;
    EXPECT_EQ(nfswalk_resolve(client_, "d", nullptr, 0, &node_), 0);
    EXPECT_EQ(nfswalk_open(client_, "d/f", NFSWALK_READ | NFSWALK_WRITE, nullptr, 0, &file_), 0);
    EXPECT_EQ(nfswalk_opendir(client_, "d", nullptr, 0, &directory_), 0);
    EXPECT_EQ(nfswalk_queue_create(client_, 2, &queue_), 0);
    nfswalk_credential_of_process(&me_);
  }
  ~Fork() override {
    GiveBack();
    nfswalk_credential_destroy(me_);
  }

  void GiveBack() {
    nfswalk_queue_destroy(std::exchange(queue_, nullptr));
    nfswalk_close(std::exchange(file_, nullptr));
    nfswalk_closedir(std::exchange(directory_, nullptr));
    nfswalk_node_release(std::exchange(node_, nullptr));
    nfswalk_unmount(std::exchange(client_, nullptr));
  }
  // Calls nfswalk_stat(), by default with a cached path.
  int Stat(const char* path = "d/f") {
    nfswalk_attributes found;
    return nfswalk_stat(client_, path, me_, 0, &found);
  }
  void ExpectEveryCallCanceled();

  protocol::FakeNfs4 server_;
  std::string url_;
  nfswalk_client* client_ = nullptr;
  nfswalk_node* node_ = nullptr;
  nfswalk_file* file_ = nullptr;
  nfswalk_directory* directory_ = nullptr;
  nfswalk_queue* queue_ = nullptr;
  nfswalk_credential* me_ = nullptr;
};

void Fork::ExpectEveryCallCanceled() {
  nfswalk_attributes a;
  nfswalk_client* other_client;
  nfswalk_node* node;
  nfswalk_file* file;
  nfswalk_queue* queue;
  nfswalk_directory* directory;
  nfswalk_space space;
  nfswalk_lookup_result looked_up;
  nfswalk_node_id id;
  char text[512];
  const auto visit = [](void*, const nfswalk_entry*) { return 0; };
  const auto answered = [](void*, int) { ADD_FAILURE(); };
  const nfswalk_changes mode{.set = NFSWALK_SET_MODE,
                             .mode = 0600,
                             .uid = 0,
                             .gid = 0,
                             .size_bytes = 0,
                             .atime = {},
                             .mtime = {}};
  const std::vector<std::pair<const char*, std::function<ssize_t()>>> calls = {
      {"mount", [&] { return nfswalk_mount(url_.c_str(), &other_client, text, sizeof text); }},
      {"stat", [&] { return Stat(); }},
      {"stat of what is not cached", [&] { return Stat("d/other"); }},
      {"stat, cached", [&] { return nfswalk_stat(client_, "d/f", me_, NFSWALK_CACHED, &a); }},
      {"stat, strict", [&] { return nfswalk_stat(client_, "d/f", me_, NFSWALK_STRICT, &a); }},
      {"stat_at", [&] { return nfswalk_stat_at(node_, "f", me_, 0, &a); }},
      {"access", [&] { return nfswalk_access(client_, "d/f", NFSWALK_READ, me_, 0); }},
      {"readlink", [&] { return nfswalk_readlink(client_, "l", text, sizeof text, me_, 0); }},
      {"readdir", [&] { return nfswalk_readdir(client_, "d", visit, nullptr, me_, 0); }},
      {"opendir", [&] { return nfswalk_opendir(client_, "d", me_, 0, &directory); }},
      {"directory_read", [&] { return nfswalk_directory_read(directory_, 0, visit, nullptr); }},
      {"statfs", [&] { return nfswalk_statfs(client_, "d", me_, 0, &space); }},
      {"open", [&] { return nfswalk_open(client_, "d/f", NFSWALK_READ, me_, 0, &file); }},
      {"pread", [&] { return nfswalk_pread(file_, text, 4, 0); }},
      {"pwrite", [&] { return nfswalk_pwrite(file_, text, 4, 0); }},
      {"append", [&] { return nfswalk_append(file_, text, 4); }},
      {"lock", [&] { return nfswalk_lock(file_, 1, NFSWALK_READ_LOCK, 0, 0); }},
      {"unlock", [&] { return nfswalk_unlock(file_, 1, 0, 0); }},
      {"fsetattr", [&] { return nfswalk_fsetattr(file_, &mode, &a); }},
      {"fstat", [&] { return nfswalk_fstat(file_, &a); }},
      {"create", [&] { return nfswalk_create(client_, "new", 0600, 1, me_, &a); }},
      {"mkdir", [&] { return nfswalk_mkdir(client_, "new", 0700, me_, &a); }},
      {"symlink", [&] { return nfswalk_symlink(client_, "d", "new", me_, &a); }},
      {"mknod", [&] { return nfswalk_mknod(client_, "new", S_IFIFO, 0, 0, me_, &a); }},
      {"create_at", [&] { return nfswalk_create_at(node_, "new", 0600, 1, me_, &a); }},
      {"rename_at", [&] { return nfswalk_rename_at(node_, "f", node_, "new", me_); }},
      {"link", [&] { return nfswalk_link(client_, "d/f", "new", me_); }},
      {"rename", [&] { return nfswalk_rename(client_, "d/f", "new", me_); }},
      {"unlink", [&] { return nfswalk_unlink(client_, "d/f", me_); }},
      {"rmdir", [&] { return nfswalk_rmdir(client_, "d", me_); }},
      {"setattr", [&] { return nfswalk_setattr(client_, "d/f", &mode, me_, 0, &a); }},
      {"resolve", [&] { return nfswalk_resolve(client_, "d", me_, 0, &node); }},
      {"lookup", [&] { return nfswalk_lookup(client_, "d/f", me_, 0, &looked_up); }},
      {"directory_lookup",
       [&] { return nfswalk_directory_lookup(directory_, "f", 0, &looked_up); }},
      {"node_get_id", [&] { return nfswalk_node_get_id(node_, &id); }},
      {"on_invalidation", [&] { return nfswalk_on_invalidation(client_, nullptr, nullptr, 1); }},
      {"drop_caches", [&] { return nfswalk_drop_caches(client_); }},
      {"invalidate_caches", [&] { return nfswalk_invalidate_caches(client_); }},
      {"queue_create", [&] { return nfswalk_queue_create(client_, 1, &queue); }},
      {"queue_access",
       [&] { return nfswalk_queue_access(queue_, nullptr, "d/f", 0, me_, 0, answered, nullptr); }},
      {"queue_dispatch", [&] { return nfswalk_queue_dispatch(queue_, 0); }},
  };
  for (const auto& [name, call] : calls) EXPECT_EQ(call(), -ECANCELED) << name;
  struct nfswalk_stats stats;
  EXPECT_EQ(nfswalk_stats(client_, &stats), 0);
  EXPECT_EQ(nfswalk_shutdown(client_), 0);
}

TEST_F(Fork, EveryCallOfTheChildIsCanceledAndGivingBackReturns) {
  ASSERT_EQ(Stat(), 0);
  InChild([this] {
    ExpectEveryCallCanceled();
    GiveBack();
  });
  // The parent, its connection and its files are as they were.
  char text[4];
  EXPECT_EQ(Stat(), 0);
  EXPECT_EQ(Stat("d/other"), 0);
  EXPECT_EQ(nfswalk_fstat(file_, std::make_unique<nfswalk_attributes>().get()), 0);
  EXPECT_EQ(nfswalk_pread(file_, text, sizeof text, 0), 4);
}

// A thread of the parent holds what it holds while it waits for the server.
TEST_F(Fork, ChildDoesNotWaitForLocksOfOtherThreads) {
  std::latch asked(1), answer(1);
  ASSERT_EQ(nfswalk_drop_caches(client_), 0);  // of what the open of the directory has listed
  server_.Before(OP_LOOKUP, [&] {
    asked.count_down();
    answer.wait();
  });
  std::jthread other([&] { EXPECT_EQ(Stat("d/slow"), 0); });
  asked.wait();
  InChild([this] {
    EXPECT_EQ(Stat("d/slow"), -ECANCELED);
    ExpectEveryCallCanceled();
    GiveBack();
  });
  answer.count_down();
}

TEST_F(Fork, AChildThatGivesNothingBackExits) {
  InChild([this] {
    EXPECT_EQ(Stat(), -ECANCELED);
    std::exit(HasFailure() ? 1 : 0);
  });
}

// Inside a call: what the thread that forks holds is the child's.
TEST_F(Fork, ACallThatIsForkedInACallbackReturns) {
  pid_t pid = -1;
  const std::function<void()> in_visit = [&] {
    if (pid >= 0) return;
    pid = fork();
    if (pid == 0) {
      alarm(kSecondsMax);
      EXPECT_EQ(Stat("d/other"), -ECANCELED);
    }
  };
  const int result = nfswalk_readdir(
      client_, "d",
      [](void* data, const nfswalk_entry*) {
        (*static_cast<const std::function<void()>*>(data))();
        return 0;
      },
      const_cast<std::function<void()>*>(&in_visit), me_, 0);
  if (pid == 0) {
    GiveBack();
    _exit(HasFailure() ? 1 : 0);
  }
  EXPECT_EQ(result, 0);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

// ThreadSanitizer starts no threads in such a child; AddressSanitizer's allocator, in use by another
// thread at the fork, may stay locked in it.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
TEST_F(Fork, ThreadsOfTheChildAreAnsweredAndEnd) {
  InChild([this] {
    std::thread([this] { EXPECT_EQ(Stat(), -ECANCELED); }).join();
    GiveBack();
  });
  // The thread that forks ends: it had entered read sections.
  std::thread([this] {
    EXPECT_EQ(Stat(), 0);
    InChild([] { pthread_exit(nullptr); });
  }).join();
}
#endif

}  // namespace
}  // namespace nfswalk
