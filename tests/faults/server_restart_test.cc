// nfs-ganesha is killed and restarted under load, repeatedly.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/faults/loaded_export.h"

namespace nfswalk::faults {
namespace {

using ServerRestart = LoadedExport;

INSTANTIATE_TEST_SUITE_P(Versions, ServerRestart, fixtures::AllVersions(),
                         fixtures::VersionTestName);

TEST_P(ServerRestart, TwentyRestartsUnderLoadLoseAndRepeatNothing) {
  constexpr int kDeaths = 20;
  constexpr uint64_t kStepsBetween = 40;
  const auto client = Mount("hard&nconnect=2&actimeo=600");
  ASSERT_NE(client, nullptr);
  FaultCounts faults;
  MixedLoad load(*client, LoadPath(), LoadBacking(), faults, {.server_dies = true});
  load.Start();
  for (int death = 0; death < kDeaths; ++death) {
    load.AwaitSteps(kStepsBetween);
    ++faults.begun;
    server().Kill();
    ASSERT_EQ(server().Restart(), "");
    ++faults.ended;
  }
  load.AwaitSteps(kStepsBetween);
  load.Stop();
  EXPECT_LE(load.unrecognized_creates(), uint64_t{kDeaths} * MixedLoad::kWorkers)
      << "EEXIST for names of our own";
  ExpectAgreementAndNothingHeld(*client, load);
}

}  // namespace
}  // namespace nfswalk::faults
