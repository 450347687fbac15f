// Mixed load through a protocol that delays, reorders, loses, refuses and truncates: results agree
// with the server meanwhile, and the caches afterwards.
#include "tests/fixtures/faulty_protocol.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include "nfsclient/client.h"
#include "tests/faults/presence_worker.h"
#include "tests/faults/tree_check.h"
#include "tests/fixtures/faulty_mount.h"
#include "tests/fixtures/memory_server.h"
#include "tests/fixtures/mounted_export.h"

namespace nfswalk {
namespace {

using faults::Presence;
using faults::PresenceWorker;
using fixtures::Fault;
using fixtures::FaultPlan;
using fixtures::FaultyProtocol;
using fixtures::MemoryServer;

constexpr int kWorkers = 6;

// --- the server's tree, read without a client ---

struct ServerFile {
  Attributes attributes;
  std::string target;
};
using Tree = std::map<std::string, ServerFile>;

void ReadTree(protocol::Protocol& server, const protocol::FileHandle& directory,
              const std::string& prefix, const Credential& me, Tree& tree) {
  constexpr size_t kEntriesMax = 10'000;  // of a listing that ends
  protocol::ReadDirPosition position;
  size_t entries = 0;
  for (bool more = true; more;) {
    const auto listed = server.ReadDir(directory, position, false, me);
    ASSERT_EQ(listed.error, std::errc{}) << prefix;
    ASSERT_LT(entries += listed.entries.size(), kEntriesMax) << prefix;
    for (const auto& entry : listed.entries) {
      position = {entry.cookie, listed.verifier};
      if (entry.name == "." || entry.name == "..") continue;
      const auto found = server.Lookup(directory, entry.name, me);
      ASSERT_EQ(found.error, std::errc{}) << prefix << entry.name;
      ServerFile& file = tree[prefix + entry.name];
      file.attributes = server.GetAttributes(found.handle, me).attributes;
      const auto type = file.attributes.type;
      if (type == protocol::FileType::kSymlink) {
        file.target = server.ReadLink(found.handle, me).target;
      } else if (type == protocol::FileType::kDirectory) {
        ReadTree(server, found.handle, prefix + entry.name + "/", me, tree);
      }
    }
    more = !listed.eof;
  }
}

// --- one client and its load ---

struct LoadedMount {
  std::unique_ptr<Client> client;
  FaultyProtocol* protocol = nullptr;
  std::string base;  // "" or "directory/"
  Credential me{0, 0};

  void MakeDirectories() const;
  Tree ServersTree() const;
  void ExpectTree(const Tree& tree, const std::vector<PresenceWorker>& workers) const;
  void RunLoad(int steps);
};

void LoadedMount::MakeDirectories() const {
  for (int i = 0; i < PresenceWorker::kDirectories; ++i) {
    ASSERT_TRUE(client->MakeDirectory(PresenceWorker::DirectoryIn(base, i), 0755, me).has_value());
  }
}

Tree LoadedMount::ServersTree() const {
  Tree tree;
  protocol::Protocol& server = protocol->inner();
  protocol::FileHandle top = server.GetRoot(me).handle;
  if (!base.empty()) {
    top = server.Lookup(top, std::string_view(base).substr(0, base.size() - 1), me).handle;
  }
  ReadTree(server, top, base, me, tree);
  return tree;
}

void LoadedMount::ExpectTree(const Tree& tree, const std::vector<PresenceWorker>& workers) const {
  for (const auto& [path, file] : tree) {
    const auto found = client->Stat(path, me, {.no_follow = true});
    ASSERT_TRUE(found.has_value()) << path << std::make_error_code(found.error()).message();
    EXPECT_EQ(faults::Describe(*found), faults::Describe(file.attributes)) << path;
    if (file.attributes.type != protocol::FileType::kSymlink) continue;
    std::array<char, 4096> text;
    const auto size = client->ReadLink(path, text, me);
    ASSERT_TRUE(size.has_value()) << path;
    EXPECT_EQ(std::string_view(text.data(), *size), file.target) << path;
  }
  for (const PresenceWorker& worker : workers) {
    for (const auto& name : worker.names()) {
      const bool there = tree.contains(name.path);
      if (name.presence != Presence::kUnknown) {
        EXPECT_EQ(there, name.presence == Presence::kPresent) << name.path << " on the server";
      }
      if (!there) {
        const auto found = client->Stat(name.path, me, {.no_follow = true});
        ASSERT_FALSE(found.has_value()) << name.path;
        EXPECT_EQ(found.error(), std::errc::no_such_file_or_directory) << name.path;
      }
    }
  }
  Tree listed;
  for (int i = 0; i < PresenceWorker::kDirectories; ++i) {
    const std::string directory = PresenceWorker::DirectoryIn(base, i);
    listed[directory];
    EXPECT_EQ(client->ReadDir(directory, me,
                              [&](const DirectoryEntry& entry) {
                                listed[directory + "/" + entry.name];
                                return true;
                              }),
              std::errc{});
  }
  EXPECT_EQ(listed.size(), tree.size());
  for (const auto& [path, nothing] : listed) EXPECT_TRUE(tree.contains(path)) << path;
}

void LoadedMount::RunLoad(int steps) {
  protocol->SetOn(false);
  MakeDirectories();
  std::vector<PresenceWorker> workers;
  for (int i = 0; i < kWorkers; ++i) {
    workers.emplace_back(*client, base, i, Credential(0, 0, {static_cast<uint32_t>(i % 3)}));
    workers.back().Begin();
  }
  protocol->SetOn(true);
  std::vector<std::thread> threads;
  for (PresenceWorker& worker : workers) {
    threads.emplace_back([&worker, steps] {
      for (int i = 0; i < steps; ++i) worker.Step();
    });
  }
  for (std::thread& thread : threads) thread.join();
  protocol->SetOn(false);

  int done = 0, unknown_outcomes = 0;
  for (const PresenceWorker& worker : workers) {
    for (const std::string& sentence : worker.contradictions()) ADD_FAILURE() << sentence;
    done += worker.done();
    unknown_outcomes += worker.unknown_outcomes();
  }
  EXPECT_GT(done, kWorkers * steps / 5);
  EXPECT_GT(unknown_outcomes, kWorkers * steps / 200);
  faults::WriteBackAll(*client);  // an unlinked file is open, under its hidden name, until then
  const Tree tree = ServersTree();
  {
    SCOPED_TRACE("from the caches");
    ExpectTree(tree, workers);
  }
  {
    SCOPED_TRACE("after InvalidateCaches()");
    client->InvalidateCaches();
    ExpectTree(tree, workers);
  }
  faults::ExpectAllEvictable(*client);
}

void ExpectEveryFault(const FaultyProtocol& protocol, uint64_t times) {
  for (size_t i = 0; i < fixtures::kFaults; ++i) {
    EXPECT_GE(protocol.count(static_cast<Fault>(i)), times) << "fault " << i;
  }
  EXPECT_GE(protocol.overtaken(), times);
}

constexpr uint32_t kPerMille = 12;  // for each of eight faults

MountOptions WithLongAttributeTimeout(MountOptions options) {
  options.acregmin_s = options.acregmax_s = options.acdirmin_s = options.acdirmax_s = 600;
  return options;
}

// Whole-path replies or not; change_info4 that is atomic or not, or wcc_data.
enum class ReplyForm { kWccData, kAtomicChangeInfo, kNonAtomicChangeInfo };
class FaultyMemory : public testing::TestWithParam<std::tuple<bool, ReplyForm, int>> {};

INSTANTIATE_TEST_SUITE_P(Servers, FaultyMemory,
                         testing::Combine(testing::Bool(),
                                          testing::Values(ReplyForm::kWccData,
                                                          ReplyForm::kAtomicChangeInfo,
                                                          ReplyForm::kNonAtomicChangeInfo),
                                          testing::Range(1, 4)));

// ATTR-13.
TEST_P(FaultyMemory, CachesAgreeWithTheServerAfterwards) {
  const auto [whole_paths, form, seed] = GetParam();
  auto server = std::make_unique<MemoryServer>();
  if (whole_paths) server->AnswerWholePaths();
  if (form != ReplyForm::kWccData) server->AnswerChangeInfo(form == ReplyForm::kAtomicChangeInfo);
  auto protocol =
      std::make_unique<FaultyProtocol>(std::move(server), FaultPlan::Everything(seed, kPerMille));
  LoadedMount mount;
  mount.protocol = protocol.get();
  mount.client = std::move(*Client::MountOver(std::move(protocol), WithLongAttributeTimeout({})));
  mount.RunLoad(1000);
  ExpectEveryFault(*mount.protocol, 10);
}

// nfs-ganesha 4.3 may give a name of tmpfs twice, or without an end, from a listing that it has
// kept while names changed.
class FaultyExport : public fixtures::VersionedExport {
 protected:
  static void SetUpTestSuite() { StartServer({.caches_names = false}); }
};

INSTANTIATE_TEST_SUITE_P(Versions, FaultyExport, fixtures::AllVersions(),
                         fixtures::VersionTestName);

TEST_P(FaultyExport, CachesAgreeWithTheServerAfterwards) {
  const fixtures::NfsServer::NetworkScope scope(server());
  LoadedMount mount;
  auto client = fixtures::MountWithFaults(
      WithLongAttributeTimeout(*ParseMountUrl(server().Url("", version()))),
      FaultPlan::Everything(version(), kPerMille), &mount.protocol);
  ASSERT_TRUE(client.has_value()) << client.error().message;
  mount.client = std::move(*client);
  mount.base = Path("");
  mount.RunLoad(250);
  ExpectEveryFault(*mount.protocol, 5);
}

}  // namespace
}  // namespace nfswalk
