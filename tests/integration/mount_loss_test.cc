// `nfswalk mount` of a server in memory that loses what was not committed, executes calls late, and
// answers in another order: random programs of system calls against a model. Behind each fsync(2) and
// close(2) the model is on stable storage, and stays there.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "tests/fixtures/disturbed_server.h"
#include "tests/fixtures/fake_nfs3.h"
#include "tests/fixtures/fake_nfs4.h"
#include "tests/fixtures/file_data.h"
#include "tests/fixtures/libnfs_raw.h"
#include "tests/integration/mount_run.h"
#include "tests/integration/twin_program.h"

namespace nfswalk {
namespace {

using fixtures::ContentOf;
using fixtures::Difference;
using protocol::DisturbedServer;
using protocol::FakeClock;

#ifdef NFSWALK_TEST_NIGHTLY
constexpr int kOperations = 100'000;
#else
constexpr int kOperations = 2'500;
#endif

class MountLoss : public MountRun {
 protected:
  void MountFake() {
    const bool is_v3 = GetParam() == 3;
    const uint16_t port = is_v3 ? nfs3_.port() : nfs4_.port();
    const std::string url =
        is_v3 ? fmt::format("nfs://127.0.0.1/export?version=3&port={0}&mountport={0}", port)
              : fmt::format("nfs://127.0.0.1/?version=4&port={}", port);
    MountUrl(url, "hard,wsize=4096,rsize=4096,dirty_bytes=65536");
  }
  DisturbedServer::Operations OperationsOfVersion() const {
    if (GetParam() == 3) return {NFS3_READ, NFS3_WRITE, NFS3_COMMIT, NFS3_SETATTR};
    return {OP_READ, OP_WRITE, OP_COMMIT, OP_SETATTR};
  }
  void RunProgram(FakeClock clock) {
    const auto base = static_cast<uint64_t>(testing::UnitTest::GetInstance()->random_seed());
    const uint64_t seed = 10 * base + static_cast<uint64_t>(clock);
    const std::string name = fmt::format("f{}", static_cast<int>(clock));
    std::mt19937_64 random(seed);
    fake_.set_clock(clock);
    TwinProgram program({.mounted = At(name),
                         .model = models_.At(name),
                         .seed = seed,
                         .window_bytes = 300'000,
                         .large_bytes = 20'000,
                         .renames = GetParam() == 3,
                         .allocates = false,
                         .syncs_mappings = true,
                         .difference =
                             [&] {
                               const auto found = fake_.Find(name);
                               return Difference(found->committed.value_or(found->data),
                                                 ContentOf(models_.At(name)));
                             },
                         .between =
                             [&] {
                               if (random() % 40 == 0) fake_.LoseUncommitted();
                             }});
    program.Run(kOperations);
    program.Close();
  }

  const ModelDirectory models_;
  protocol::FakeNfs3 nfs3_;
  protocol::FakeNfs4 nfs4_;
  protocol::FakeTreeServer& fake_ =
      GetParam() == 3 ? static_cast<protocol::FakeTreeServer&>(nfs3_) : nfs4_;
};

TEST_P(MountLoss, SyncedDataSurvivesServerRestarts) {
  MountFake();
  DisturbedServer late(fake_, OperationsOfVersion(), 4 * kOperations, GetParam());
  for (const FakeClock clock :
       {FakeClock::kFine, FakeClock::kCoarse, FakeClock::kStopped, FakeClock::kBackwards}) {
    SCOPED_TRACE(static_cast<int>(clock));
    RunProgram(clock);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, MountLoss, fixtures::AllVersions(), fixtures::VersionTestName);

}  // namespace
}  // namespace nfswalk
