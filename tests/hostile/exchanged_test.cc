// A server that exchanges a directory when its parent has been listed: for a link to another one of
// which it says the same fileid, or for another one itself. The commands that walk trees change,
// remove and copy nothing there.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "tests/fixtures/libnfs_raw.h"
#include "tests/hostile/hostile_server.h"
#include "tests/hostile/victim.h"

namespace nfswalk::hostile {
namespace {

namespace fs = std::filesystem;
using protocol::FakeNode;
using protocol::FakeTreeServer;
using protocol::ToldAttributes;
using Strings = std::vector<std::string>;

enum class By { kLink, kDirectory };
void PrintTo(By by, std::ostream* out) { *out << (by == By::kLink ? "link" : "directory"); }

constexpr uint32_t kMode = 0400;

class ExchangedDirectory : public testing::TestWithParam<std::tuple<int, By>> {
 protected:
  ExchangedDirectory() : copy_(std::string(getenv("TEST_TMPDIR")) + "/copy") {
    const auto [version, by] = GetParam();
    attack_.version = version;
    attack_.options = "actimeo=0";
    attack_.plant = [by = by](FakeTreeServer& server) { Plant(server, by); };
    const auto exchange = [this, by = by] {
      if (++listings_ == 1) Exchange(server_->tree(), by);
    };
    if (version == 3) {
      attack_.operations = {NFS3_READDIR, NFS3_READDIRPLUS};
      attack_.tamper = [exchange](const hostile::Exchange& listing) {
        exchange();
        return listing.good;
      };
    } else {
      attack_.operations = {OP_READDIR};
      attack_.forge = [exchange](const std::string& good) {
        exchange();
        return good;
      };
    }
  }
  ~ExchangedDirectory() override { fs::remove_all(copy_); }

  static void Plant(FakeTreeServer& server, By by) {
    const FakeNode directory{.type = FakeNode::Type::kDirectory, .mode = 0755};
    server.Put("t", directory);
    server.Put("t/d", directory);
    server.Put("t/d/f", {.data = "data"});
    FakeNode outside = directory;
    if (by == By::kLink) {
      const uint64_t fileid = server.Find("t/d")->fileid;
      outside.lie = [fileid](ToldAttributes& told) { told.fileid = fileid; };
    }
    server.Put("outside", outside);
    server.Put("outside/f", {.mode = kMode, .data = "secret"});
  }
  static void Exchange(FakeTreeServer& server, By by) {
    server.Erase("t/d");
    if (by == By::kDirectory) return server.Link("outside", "t/d");
    server.Put("t/d", {.type = FakeNode::Type::kSymlink, .mode = 0777, .data = "/outside"});
  }

  // The file outside after `command`, which fails.
  FakeNode After(const Strings& command) {
    listings_ = 0;
    HostileServer server(attack_, INADDR_LOOPBACK);
    server_ = &server;
    Strings argv = {"nfsclient/cli/nfswalk"};
    for (const std::string& word : command) argv.push_back(word == "URL" ? server.Url() : word);
    const VictimEnd end = RunVictim(argv, {});
    EXPECT_GE(listings_, 1) << end.err;
    EXPECT_EQ(end.exit_code, 1) << end.out << end.err;
    return server.tree().Find("outside/f").value_or(FakeNode{});
  }

  const std::string copy_;
  Attack attack_;
  HostileServer* server_ = nullptr;
  int listings_ = 0;
};

TEST_P(ExchangedDirectory, IsNotEmptied) {
  EXPECT_EQ(After({"rm", "-r", "URL", "t"}).data, "secret");
}

TEST_P(ExchangedDirectory, KeepsItsModes) {
  EXPECT_EQ(After({"chmod", "-R", "-m", "a+rwX", "URL", "t"}).mode, kMode);
}

TEST_P(ExchangedDirectory, IsNotCopied) {
  EXPECT_EQ(After({"cp", "-r", "URL", "t", copy_}).data, "secret");
  EXPECT_FALSE(fs::exists(copy_ + "/d/f"));
}


INSTANTIATE_TEST_SUITE_P(Versions, ExchangedDirectory,
                         testing::Combine(testing::Values(3, 4),
                                          testing::Values(By::kLink, By::kDirectory)),
                         [](const auto& info) {
                           const bool by_link = std::get<1>(info.param) == By::kLink;
                           return "V" + std::to_string(std::get<0>(info.param)) +
                                  (by_link ? "ByLink" : "ByDirectory");
                         });

}  // namespace
}  // namespace nfswalk::hostile
