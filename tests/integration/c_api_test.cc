// nfswalk.h against a real server: every call from C99 (c99_client.c), invalid arguments, and
// callbacks while the server does not reply.

#include <poll.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "nfsclient/c_api/nfswalk.h"
#include "tests/fixtures/mounted_export.h"
#include "tests/integration/program_run.h"

namespace nfswalk {
namespace {

struct Answer {
  std::atomic<int> calls{0};
  std::atomic<int> result{1};
};

void Note(void* data, int result, const nfswalk_attributes* attributes) {
  auto& answer = *static_cast<Answer*>(data);
  EXPECT_EQ(result == 0, attributes != nullptr);
  answer.result = result;
  ++answer.calls;
}

class CApi : public fixtures::VersionedExport {
 protected:
  void SetUp() override {
    VersionedExport::SetUp();
    if (IsSkipped()) return;
    MakeFile("file", "hello");
    fixtures::NfsServer::NetworkScope scope(server());
    std::array<char, 300> text;
    ASSERT_EQ(nfswalk_mount(server().Url("actimeo=600&hard", version()).c_str(), &client_,
                            text.data(), text.size()),
              0)
        << text.data();
  }
  void TearDown() override { nfswalk_unmount(client_); }

  static void QueueStat(nfswalk_queue* queue, const std::string& path, uint32_t flags,
                        Answer& answer, const nfswalk_node* node = nullptr) {
    EXPECT_EQ(nfswalk_queue_stat(queue, node, path.c_str(), nullptr, flags, Note, &answer), 0);
  }
  static bool Ready(const nfswalk_queue* queue, int timeout_ms) {
    pollfd event{nfswalk_queue_fd(queue), POLLIN, 0};
    return poll(&event, 1, timeout_ms) == 1;
  }

  nfswalk_client* client_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Versions, CApi, fixtures::AllVersions(), fixtures::VersionTestName);

TEST_P(CApi, EveryCallWorksFromC99) {
  MakeDirectory("own");
  std::filesystem::permissions(Backing("own"), std::filesystem::perms::all);
  fixtures::NfsServer::NetworkScope scope(server());
  const ProgramRun run = RunProgram(
      {"tests/integration/c99_client", server().Url("actimeo=600", version()), Path("own")});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, "every call of nfswalk.h did what it says\n");
}

TEST_P(CApi, InvalidArgumentsAreRefusedWithoutEffect) {
  nfswalk_attributes attributes;
  nfswalk_node* node = nullptr;
  nfswalk_file* file = nullptr;
  nfswalk_queue* queue = nullptr;
  nfswalk_credential* credential = nullptr;
  std::array<char, 100> text = {};
  EXPECT_EQ(nfswalk_mount(nullptr, &client_, text.data(), text.size()), -EFAULT);
  EXPECT_NE(std::string(text.data()).find("nfs://server/export"), std::string::npos);
  EXPECT_EQ(nfswalk_shutdown(nullptr), -EFAULT);
  EXPECT_EQ(nfswalk_stat(nullptr, "x", nullptr, 0, &attributes), -EFAULT);
  EXPECT_EQ(nfswalk_stat(client_, nullptr, nullptr, 0, &attributes), -EFAULT);
  EXPECT_EQ(nfswalk_stat(client_, "x", nullptr, 0, nullptr), -EFAULT);
  EXPECT_EQ(nfswalk_stat(client_, "x", nullptr, 0x80, &attributes), -EINVAL);
  EXPECT_EQ(nfswalk_stat(client_, "x", nullptr, NFSWALK_BENEATH | NFSWALK_IN_ROOT, &attributes),
            -EINVAL);
  EXPECT_EQ(nfswalk_stat(client_, "", nullptr, 0, &attributes), -ENOENT);
  EXPECT_EQ(nfswalk_readdir(client_, "/", nullptr, nullptr, nullptr, 0), -EFAULT);
  EXPECT_EQ(nfswalk_readlink(client_, "/", nullptr, 1, nullptr, 0), -EFAULT);
  EXPECT_EQ(nfswalk_open(client_, Path("file").c_str(), 0, nullptr, 0, &file), -EINVAL);
  EXPECT_EQ(nfswalk_open(client_, Path("file").c_str(), 8, nullptr, 0, &file), -EINVAL);
  EXPECT_EQ(nfswalk_create(client_, Path("new").c_str(), 010000, 0, nullptr, nullptr), -EINVAL);
  EXPECT_EQ(nfswalk_resolve(client_, "/", nullptr, 0, nullptr), -EFAULT);
  EXPECT_EQ(nfswalk_stat_at(nullptr, "x", nullptr, 0, &attributes), -EFAULT);
  EXPECT_EQ(nfswalk_credential_create(0, 0, nullptr, 1, &credential), -EFAULT);
  const uint32_t group = 0;
  EXPECT_EQ(nfswalk_credential_create(0, 0, &group, 65537, &credential), -EINVAL);
  EXPECT_EQ(nfswalk_queue_create(client_, 257, &queue), -EINVAL);
  EXPECT_EQ(nfswalk_queue_stat(nullptr, nullptr, "x", nullptr, 0, Note, nullptr), -EFAULT);
  EXPECT_EQ(nfswalk_queue_fd(nullptr), -EFAULT);

  nfswalk_changes changes = {};
  const std::string path = Path("file");
  const auto change = [&] {
    return nfswalk_setattr(client_, path.c_str(), &changes, nullptr, 0, nullptr);
  };
  changes.set = 0x100;
  EXPECT_EQ(change(), -EINVAL);
  changes.set = NFSWALK_SET_ATIME | NFSWALK_SET_ATIME_NOW;
  EXPECT_EQ(change(), -EINVAL);
  changes.set = NFSWALK_SET_MTIME;
  changes.mtime.nanoseconds = 1'000'000'000;
  EXPECT_EQ(change(), -EINVAL);
  changes.set = NFSWALK_SET_MODE;
  changes.mode = 010000;
  EXPECT_EQ(change(), -EINVAL);

  EXPECT_EQ(node, nullptr);
  EXPECT_EQ(file, nullptr);
  EXPECT_EQ(queue, nullptr);
  EXPECT_EQ(credential, nullptr);
  EXPECT_FALSE(std::filesystem::exists(Backing("new")));
  nfswalk_unmount(nullptr);
  nfswalk_close(nullptr);
  nfswalk_node_release(nullptr);
  nfswalk_credential_destroy(nullptr);
  nfswalk_queue_destroy(nullptr);
}

// More than are taken to the library at once.
TEST_P(CApi, ALongBatchKeepsTheOrderOfItsPaths) {
  constexpr size_t kCount = 5000;
  std::vector<std::string> names;
  for (size_t i = 0; i < kCount; ++i) {
    names.push_back(Path(i % 3 == 0 ? "missing" + std::to_string(i) : i % 3 == 1 ? "file" : ""));
  }
  std::vector<const char*> paths;
  for (const std::string& name : names) paths.push_back(name.c_str());
  std::vector<nfswalk_attributes> attributes(kCount);
  std::vector<int> results(kCount, 1);
  EXPECT_EQ(nfswalk_stat_each(client_, paths.data(), kCount, nullptr, 0, attributes.data(),
                              results.data()),
            static_cast<ssize_t>(kCount - (kCount + 2) / 3));
  for (size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(results[i], i % 3 == 0 ? -ENOENT : 0) << i;
    if (i % 3 != 0) {
      ASSERT_EQ(S_ISDIR(attributes[i].mode), i % 3 == 2) << i;
    }
  }
}

TEST_P(CApi, InvalidArgumentsOfNodesAndDirectoriesAreRefusedWithoutEffect) {
  nfswalk_space space;
  nfswalk_directory* directory = nullptr;
  EXPECT_EQ(nfswalk_statfs(client_, "/", nullptr, 0, nullptr), -EFAULT);
  EXPECT_EQ(nfswalk_statfs_at(nullptr, "x", nullptr, 0, &space), -EFAULT);
  EXPECT_EQ(nfswalk_statfs(client_, "/", nullptr, 0x80, &space), -EINVAL);
  EXPECT_EQ(nfswalk_statfs(client_, "/", nullptr, NFSWALK_CACHED, &space), -EAGAIN);
  EXPECT_EQ(nfswalk_opendir(client_, "/", nullptr, 0, nullptr), -EFAULT);
  EXPECT_EQ(nfswalk_opendir(client_, "/", nullptr, 0x80, &directory), -EINVAL);
  EXPECT_EQ(nfswalk_opendir(client_, "/", nullptr, NFSWALK_CACHED, &directory), -EAGAIN);
  EXPECT_EQ(nfswalk_directory_read(nullptr, 0, nullptr, nullptr), -EFAULT);
  EXPECT_EQ(directory, nullptr);
  const std::string fresh = Path("new");
  const auto make = [&](unsigned mode) {
    return nfswalk_mknod(client_, fresh.c_str(), mode, 0, 0, nullptr, nullptr);
  };
  EXPECT_EQ(make(0600), -EINVAL);
  EXPECT_EQ(make(S_IFDIR | 0700), -EINVAL);
  EXPECT_EQ(make(S_IFIFO | 0200000), -EINVAL);
  EXPECT_EQ(nfswalk_create_at(nullptr, "x", 0600, 0, nullptr, nullptr), -EFAULT);
  EXPECT_EQ(nfswalk_link_at(nullptr, "x", nullptr, "y", nullptr), -EFAULT);
  EXPECT_EQ(nfswalk_rename_at(nullptr, "x", nullptr, "y", nullptr), -EFAULT);
  EXPECT_EQ(nfswalk_unlink_at(nullptr, "x", nullptr), -EFAULT);
  EXPECT_EQ(nfswalk_setattr_at(nullptr, "x", nullptr, nullptr, 0, nullptr), -EFAULT);
  EXPECT_FALSE(std::filesystem::exists(Backing("new")));
  nfswalk_closedir(nullptr);
}

// The only thread of the queue waits for the server; cache hits complete on the calling thread.
TEST_P(CApi, CacheHitsCompleteWhileAllThreadsOfTheQueueWait) {
  nfswalk_queue* queue = nullptr;
  ASSERT_EQ(nfswalk_queue_create(client_, 1, &queue), 0);
  nfswalk_attributes attributes;
  ASSERT_EQ(nfswalk_stat(client_, Path("file").c_str(), nullptr, 0, &attributes), 0);
  Answer cached, hanging, behind, only_cached;
  server().Hang();
  QueueStat(queue, Path("x"), 0, hanging);
  QueueStat(queue, Path("y"), 0, behind);
  EXPECT_FALSE(Ready(queue, 0));
  QueueStat(queue, Path("file"), 0, cached);
  QueueStat(queue, Path("z"), NFSWALK_CACHED, only_cached);
  EXPECT_TRUE(Ready(queue, 0));
  EXPECT_EQ(cached.calls, 0);  // callbacks run in dispatch
  EXPECT_EQ(nfswalk_queue_dispatch(queue, 0), 2);
  EXPECT_EQ(cached.result, 0);
  EXPECT_EQ(only_cached.result, -EAGAIN);
  EXPECT_FALSE(Ready(queue, 0));

  server().Resume();
  while (hanging.calls + behind.calls < 2) {
    EXPECT_TRUE(Ready(queue, -1));
    nfswalk_queue_dispatch(queue, 0);
  }
  EXPECT_EQ(hanging.result, -ENOENT);
  EXPECT_EQ(behind.result, -ENOENT);
  nfswalk_queue_destroy(queue);
}

TEST_P(CApi, ShutdownCancelsTheCallsOfAQueue) {
  nfswalk_queue* queue = nullptr;
  ASSERT_EQ(nfswalk_queue_create(client_, 2, &queue), 0);
  std::vector<Answer> answers(10);
  server().Hang();
  for (size_t i = 0; i < answers.size(); ++i) {
    QueueStat(queue, Path("x" + std::to_string(i)), 0, answers[i]);
  }
  std::thread destroyer([&] { nfswalk_queue_destroy(queue); });
  EXPECT_EQ(nfswalk_shutdown(client_), 0);
  destroyer.join();
  for (const Answer& answer : answers) {
    EXPECT_EQ(answer.calls, 1);
    EXPECT_EQ(answer.result, -ECANCELED);
  }
  server().Resume();
}

TEST_P(CApi, AQueuedCallBeginsAtItsNode) {
  MakeDirectory("dir");
  MakeFile("dir/inner");
  nfswalk_queue* queue = nullptr;
  nfswalk_node* node = nullptr;
  ASSERT_EQ(nfswalk_queue_create(client_, 1, &queue), 0);
  ASSERT_EQ(nfswalk_resolve(client_, Path("dir").c_str(), nullptr, 0, &node), 0);
  Answer inner, outside;
  QueueStat(queue, "inner", 0, inner, node);
  QueueStat(queue, "..", NFSWALK_BENEATH, outside, node);
  while (inner.calls + outside.calls < 2) {
    EXPECT_TRUE(Ready(queue, -1));
    EXPECT_EQ(nfswalk_queue_dispatch(queue, 1), 1);
  }
  EXPECT_EQ(inner.result, 0);
  EXPECT_EQ(outside.result, -EXDEV);
  nfswalk_node_release(node);
  nfswalk_queue_destroy(queue);
}

}  // namespace
}  // namespace nfswalk
