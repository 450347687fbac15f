// Cuts the connection to nfs-ganesha under load, at any byte and in every way of TCP.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>

#include "tests/faults/loaded_export.h"
#include "tests/fixtures/cutting_proxy.h"

namespace nfswalk::faults {
namespace {

using fixtures::ConnectionFate;
using fixtures::CuttingProxy;

class ServerCut : public LoadedExport {
 protected:
  // nfs-ganesha leaves a call unanswered now and then (docs/protocols.md).
  static constexpr uint64_t kUnansweredMax = 1;

  using Ending = ConnectionFate::Ending;
  using Place = ConnectionFate::Place;

  std::unique_ptr<CuttingProxy> Proxy(std::function<ConnectionFate()> fate) {
    fixtures::NfsServer::NetworkScope scope(server());
    return std::make_unique<CuttingProxy>(
        server().nfs_port(),
        CuttingProxy::Listeners{.fate = std::move(fate),
                                .on_cut = [this] { faults_.begun = faults_.begun + 1; },
                                .on_connected = [this] { faults_.ended = faults_.begun.load(); }});
  }
  std::unique_ptr<Client> MountThrough(const CuttingProxy& proxy, const std::string& options) {
    return Mount(options + "&actimeo=600&port=" + std::to_string(proxy.port()));
  }

  // Returns a random combination that was not used before. Runs on the proxy's thread.
  ConnectionFate DrawFate(Ending worst) {
    const auto draw = [&](auto last) {
      return static_cast<decltype(last)>(random_() % (static_cast<uint32_t>(last) + 1));
    };
    ConnectionFate fate;
    fate.direction = draw(ConnectionFate::Direction::kToClient);
    // Record 0 would be the first call of the connection: the client reconnects ever more slowly to
    // a server that always closes there.
    fate.records = 2 + static_cast<uint32_t>(random_() % 12);
    fate.place = draw(Place::kBody);
    fate.byte = static_cast<uint32_t>(random_());
    fate.ending = draw(worst);
    fate.delivery = draw(ConnectionFate::Delivery::kCoalesced);
    fate.stray_replies = random_() % 8 == 0;
    ++used_[{fate.direction, fate.place, fate.ending}];
    return fate;
  }
  // Expects every combination of direction, place and ending.
  void ExpectAllFatesUsed(Ending worst) const {
    EXPECT_EQ(used_.size(), 2u * 4u * (static_cast<size_t>(worst) + 1));
  }

  FaultCounts faults_;

 private:
  std::minstd_rand random_{7};
  std::map<std::tuple<ConnectionFate::Direction, Place, Ending>, int> used_;
};

INSTANTIATE_TEST_SUITE_P(Versions, ServerCut, fixtures::AllVersions(), fixtures::VersionTestName);

TEST_P(ServerCut, AHardMountLosesAndRepeatsNothingOverHundredsOfCuts) {
  constexpr uint64_t kCuts = 300;
  const auto proxy = Proxy([this] { return DrawFate(Ending::kHalfClose); });
  const auto client = MountThrough(*proxy, "hard");
  ASSERT_NE(client, nullptr);
  MixedLoad load(*client, LoadPath(), LoadBacking(), faults_, {});
  load.Start();
  while (proxy->cuts() < kCuts) load.AwaitSteps(10);
  load.Stop();
  proxy->StopCutting();
  EXPECT_LE(proxy->undrained(), kUnansweredMax);
  EXPECT_GT(proxy->stray_replies(), 0u);
  ExpectAllFatesUsed(Ending::kHalfClose);
  ExpectAgreementAndNothingHeld(*client, load);
}

// Each connection stalls once, for as long as a call of a soft mount waits.
TEST_P(ServerCut, ASoftMountOnlyTimesOutAndRecovers) {
  constexpr uint64_t kUnknownOutcomes = 8;
  // The first connection, after the one that probes the port, lasts until the load has made what it
  // works on.
  const auto proxy = Proxy([this, connections = 0]() mutable {
    ConnectionFate fate = DrawFate(Ending::kStall);
    if (++connections <= 2) fate.records += 200;
    return fate;
  });
  const auto client = MountThrough(*proxy, "soft&timeo=1&retrans=1");
  ASSERT_NE(client, nullptr);
  MixedLoad load(*client, LoadPath(), LoadBacking(), faults_, {.soft = true});
  load.Start();
  while (load.unknown_outcomes() < kUnknownOutcomes) load.AwaitSteps(10);
  proxy->StopCutting();
  load.AwaitSteps(100);
  load.Stop();
  EXPECT_LE(proxy->undrained(), kUnansweredMax);
  ExpectAgreementAndNothingHeld(*client, load);
}

TEST_P(ServerCut, AHardMountWaitsForAStalledConnection) {
  // Mounting takes seven calls where there are sessions.
  const auto proxy = Proxy([] {
    return ConnectionFate{.records = 8, .place = Place::kHeader, .ending = Ending::kStall};
  });
  const auto client = MountThrough(*proxy, "hard");
  ASSERT_NE(client, nullptr);
  std::atomic<bool> done = false;
  std::jthread caller([&] {
    for (int i = 0; i < 20; ++i) {
      EXPECT_TRUE(client->MakeDirectory(LoadPath() + "/" + std::to_string(i), 0755, root_));
    }
    done = true;
  });
  for (int stalls = 0; stalls < 3; ++stalls) {
    proxy->AwaitStall();
    EXPECT_FALSE(done);
    if (stalls == 2) proxy->StopCutting();
    proxy->Release();
  }
  caller.join();
  ExpectSameTree(*client, LoadPath(), LoadBacking(), "after the stalls");
}

}  // namespace
}  // namespace nfswalk::faults
