// Unmounts a real server's export under load: while the server replies, while it is silent, and
// while its process is stopped.

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "nfsclient/client.h"
#include "nfsclient/protocol/nfs3.h"
#include "nfsclient/protocol/nfs4.h"
#include "tests/fixtures/faulty_protocol.h"
#include "tests/fixtures/mounted_export.h"
#include "tests/stress/hang_watchdog.h"
#include "tests/stress/mount_load.h"

namespace nfswalk {
namespace {

using fixtures::FaultyProtocol;

constexpr uint64_t kUnmounts = 20;

class ServerShutdown : public fixtures::VersionedExport {
 protected:
  struct Mounted {
    std::shared_ptr<Client> client;
    FaultyProtocol* protocol = nullptr;  // the client's
  };

  void SetUp() override {
    VersionedExport::SetUp();
    if (IsSkipped()) return;
    MakeDirectory(MountLoad::kStable);
    for (int i = 0; i < MountLoad::kStableFiles; ++i) {
      MakeFile(std::string(MountLoad::kStable) + "/f" + std::to_string(i));
    }
    MakeDirectory(MountLoad::kWork);
    MakeLink(MountLoad::kStable, MountLoad::kLink);
  }

  Mounted MountGated() const {
    fixtures::GaneshaServer::NetworkScope scope(server());
    auto options = ParseMountUrl(
        server().Url("nconnect=2&dentries=16&inodes=16&access_entries=16", version()));
    if (!options) return {};
    auto connected = version() == 4
                         ? protocol::Nfs4::ConnectNfs4(options->server, options->transport)
                         : protocol::Nfs3::ConnectNfs3(options->server, options->transport);
    if (!connected) return {};
    auto gate = std::make_unique<FaultyProtocol>(std::move(*connected));
    FaultyProtocol* const protocol = gate.get();
    auto client = Client::MountOver(std::move(gate), *options);
    if (!client) return {};
    return {std::move(*client), protocol};
  }

  // Mounts, and unmounts under load after `trouble(mounted)` has run.
  template <class Trouble>
  void Unmount(uint64_t i, Trouble trouble) {
    Mounted mounted = MountGated();
    ASSERT_NE(mounted.client, nullptr);
    MountLoad load(mounted.client, Path(""), i, tally_);
    load.AwaitWork();
    trouble(mounted);
    HangWatchdog watchdog("unmount " + std::to_string(i));
    load.Stop();
    mounted.protocol->Shutdown();
    mounted.client.reset();
    load.AwaitLastCalls();
  }

  LoadTally tally_;
};
INSTANTIATE_TEST_SUITE_P(Versions, ServerShutdown, fixtures::AllVersions(),
                         fixtures::VersionTestName);

TEST_P(ServerShutdown, TheLastOwnerUnmountsUnderLoad) {
  for (uint64_t i = 0; i < kUnmounts; ++i) {
    Unmount(i, [i](Mounted& mounted) {
      if (i % 2 == 0) return;
      mounted.protocol->GoSilent();
      mounted.protocol->AwaitPending(1);
    });
  }
  EXPECT_EQ(tally_.wrong, 0u);
  EXPECT_GE(tally_.canceled, kUnmounts / 2);
  EXPECT_GE(tally_.files_left_open, 1u);
}

TEST_P(ServerShutdown, OfAStoppedServerCancelsCallsInFlight) {
  for (uint64_t i = 0; i < 3; ++i) {
    std::thread asking;
    std::errc answer{};
    Unmount(i, [&](Mounted& mounted) {
      server().Hang();
      asking = std::thread([&answer, client = mounted.client, path = Path("never_asked")] {
        const auto found = client->Stat(path, Credential(0, 0));
        if (!found) answer = found.error();
      });
      mounted.protocol->AwaitPending(1);
    });
    asking.join();
    EXPECT_EQ(answer, std::errc::operation_canceled);
    server().Resume();
  }
  EXPECT_EQ(tally_.wrong, 0u);
}

}  // namespace
}  // namespace nfswalk
