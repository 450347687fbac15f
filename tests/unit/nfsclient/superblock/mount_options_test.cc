#include "nfsclient/superblock/mount_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nfswalk::nfs {
namespace {

using protocol::ServerAddress;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

MountOptions Parsed(std::string_view url) {
  auto options = ParseMountUrl(url);
  EXPECT_TRUE(options.has_value()) << url << ": " << options.error();
  return options.value_or(MountOptions());
}

const std::string kOption = "nfs://server/export?";

MountOptions WithOptions(const std::string& options) { return Parsed(kOption + options); }

std::string Refusal(std::string_view url) {
  auto options = ParseMountUrl(url);
  EXPECT_FALSE(options.has_value()) << url << " was accepted";
  return options.has_value() ? "" : options.error();
}

std::string RefusalOf(const std::string& options) { return Refusal(kOption + options); }

TEST(MountUrl, TheShortestOneMeansTheDefaultsOfNfs5) {
  const MountOptions options = Parsed("nfs://server/export");
  EXPECT_EQ(options.server.host, "server");
  EXPECT_EQ(options.server.export_path, "/export");
  EXPECT_EQ(options.server.nfs_port, 0);
  EXPECT_EQ(options.server.mount_port, 0);
  EXPECT_EQ(options.server.version, ServerAddress::kLatest);
  EXPECT_EQ(options.server.minor_version, std::nullopt);
  EXPECT_TRUE(options.transport.hard);
  EXPECT_EQ(options.transport.timeo_ds, 600u);
  EXPECT_EQ(options.acregmin_s, 3u);
  EXPECT_EQ(options.acregmax_s, 60u);
  EXPECT_EQ(options.acdirmin_s, 30u);
  EXPECT_EQ(options.acdirmax_s, 60u);
  EXPECT_EQ(options.lookupcache, LookupCache::kAll);
  EXPECT_EQ(options.walk, WalkMode::kRcuSearch);
  EXPECT_EQ(options.contract, WalkContract::kHandOverHand);
}

TEST(MountUrl, TheServerIsAHostAPortAndAnExport) {
  EXPECT_EQ(Parsed("nfs://server/a/b/c").server.export_path, "/a/b/c");
  EXPECT_EQ(Parsed("nfs://server/").server.export_path, "/");
  EXPECT_EQ(Parsed("nfs://server/a?").server.export_path, "/a");
  EXPECT_EQ(Parsed("nfs://server/a%20b%3fc%25%2Fd").server.export_path, "/a b?c%/d");
  EXPECT_EQ(Parsed("nfs://server/%c3%A4").server.export_path, "/\xc3\xa4");
  EXPECT_EQ(Parsed("nfs://server/" + std::string(1023, 'a')).server.export_path.size(), 1024u);
  const MountOptions ipv6 = Parsed("nfs://[fd00::1]:2050/export");
  EXPECT_EQ(ipv6.server.host, "fd00::1");
  EXPECT_EQ(ipv6.server.nfs_port, 2050);
  EXPECT_EQ(Parsed("nfs://[::1]/export").server.host, "::1");
  EXPECT_EQ(Parsed("nfs://server:2050/export").server.nfs_port, 2050);
  EXPECT_EQ(Parsed("nfs://server:2050/export?port=2051").server.nfs_port, 2051);
}

TEST(MountUrl, RefusedOptionIsNamedWithTheAcceptedOnes) {
  const struct {
    std::string url;
    std::vector<std::string> says;
  } rows[] = {
      {"http://server/export", {"http://server", "nfs://"}},
      {"server:/export", {"nfs://host[:port]/export"}},
      {"", {"nfs://host[:port]/export"}},
      {"nfs:///export", {"no host"}},
      {"nfs://:2049/export", {"no host"}},
      {"nfs://server", {"no export in 'nfs://server'"}},
      {"nfs://server?soft", {"no export"}},
      {"nfs://ser ver/export", {"host 'ser ver'"}},
      {"nfs://user@server/export", {"host 'user@server'"}},
      {std::string("nfs://server/ex\0port", 20), {"NUL"}},
      {"nfs://fd00::1/export", {"fd00::1", "brackets"}},
      {"nfs://[server]/export", {"'[server]'"}},
      {"nfs://[::1/export", {"'[::1'"}},
      {"nfs://[fe80::1%eth0]/export", {"IPv6"}},
      {"nfs://[::1]2049/export", {"port '2049'"}},
      {"nfs://server/a%zz", {"'%zz'"}},
      {"nfs://server/a%4", {"'%4'"}},
      {"nfs://server/a%", {"'%'"}},
      {"nfs://server/a%00b", {"'%00'"}},
      {"nfs://server/" + std::string(1024, 'a'), {"1025", "1024"}},
      {kOption + "timeo=0", {"timeo=0", "tenths of a second"}},
      {kOption + "timeo=6001", {"1 to 6000"}},
      {kOption + "retrans=-1", {"retrans=-1"}},
      {kOption + "acregmin", {"'acregmin'"}},
      {kOption + "acregmin=9&acregmax=8", {"acregmin=9", "acregmax=8"}},
      {kOption + "acdirmin=61", {"acdirmin=61", "acdirmax=60"}},
      {kOption + "acregmax=2", {"acregmin=3", "acregmax=2"}},
      {kOption + "lookupcache=some", {"'some'", "positive"}},
      {kOption + "walk=rcu", {"'rcu'", "rcu-search"}},
      {kOption + "bsize=8192", {"'bsize=8192'", "nconnect"}},
      {kOption + "rsize=0", {"'rsize=0'", "from 1 to"}},
      {kOption + "dirty_bytes=4095", {"'dirty_bytes=4095'", "from 4096 to", "(bytes)"}},
      {kOption + "dirty_bytes=64k", {"'dirty_bytes=64k'", "from 4096 to", "(bytes)"}},
      {kOption + "dirty_bytes", {"'dirty_bytes'", "from 4096 to", "(bytes)"}},
      {kOption + "HARD", {"'HARD'"}},
      {kOption + "soft&&hard", {"''"}},
      {kOption + "sec=krb5", {"'sec=krb5'", "sec=sys"}},
      {kOption + "sec=krb5p:krb5i", {"'sec=krb5p:krb5i'", "sec=sys"}},
      {kOption + "sec", {"'sec'", "sec=sys"}},
      {kOption + "proto=rdma", {"'proto=rdma'", "tcp"}},
      {kOption + "udp", {"'udp'", "tcp"}},
      {kOption + "tcp=1", {"'tcp=1'", "takes no value"}},
      {kOption + "retry=", {"'retry='", "number"}},
      {kOption + "retry=x", {"'retry=x'", "number"}},
      {kOption + "addr", {"'addr'", "value"}},
      {kOption + "version=3&local_lock=none", {"'local_lock=none'", "nolock"}},
      {kOption + "local_lock=flock", {"'flock'", "all (nolock) and none (lock)"}},
  };
  for (const auto& [url, says] : rows) {
    const std::string refusal = Refusal(url);
    for (const std::string& words : says) EXPECT_THAT(refusal, HasSubstr(words)) << url;
  }
}

TEST(MountUrl, TheSchemeIsWrittenInAnyCase) {
  for (const char* scheme : {"nfs", "NFS", "Nfs"}) {
    const std::string url = std::string(scheme) + "://server/export?vers=4";
    EXPECT_TRUE(IsMountUrl(url)) << url;
    EXPECT_EQ(Parsed(url).server.export_path, "/export") << url;
  }
  for (const char* text : {"", "nfs", "nfs:/server", "nfsx://server", " nfs://server"}) {
    EXPECT_FALSE(IsMountUrl(text)) << text;
  }
}

// MOUNT compares it with the names of exports.
TEST(MountUrl, SlashesOfTheExportCountOnceAndNotAtTheEnd) {
  for (const char* path : {"/a/b", "/a/b/", "//a/b", "/a//b///", "///a///b", "/a%2f/b%2F"}) {
    EXPECT_EQ(Parsed("nfs://server" + std::string(path)).server.export_path, "/a/b") << path;
  }
  for (const char* path : {"/", "//", "///", "/%2F"}) {
    EXPECT_EQ(Parsed("nfs://server" + std::string(path)).server.export_path, "/") << path;
  }
}

TEST(MountUrl, OptionsThatRestateTheDefaultAreAccepted) {
  const MountOptions options = WithOptions(
      "sec=sys&proto=tcp&tcp&intr&nointr&bg&"
      "fg&retry=5&acl&resvport&noresvport&namlen=255&sec=krb5:sys&softerr&hard");
  EXPECT_EQ(options.server.version, ServerAddress::kLatest);
  EXPECT_TRUE(options.transport.hard);
  EXPECT_FALSE(WithOptions("softerr").transport.hard);
  EXPECT_TRUE(WithOptions("local_lock=all&version=4").nolock);
  EXPECT_FALSE(WithOptions("nolock&local_lock=none&version=4").nolock);
}

TEST(MountUrl, PortsGoFrom1To65535) {
  EXPECT_EQ(WithOptions("port=1").server.nfs_port, 1);
  EXPECT_EQ(WithOptions("nfsport=65535").server.nfs_port, 65535);
  EXPECT_EQ(WithOptions("mountport=20048").server.mount_port, 20048);
  for (const char* port : {"0", "65536", "-1", "", "nfs", "20 49", "0x801"}) {
    EXPECT_THAT(Refusal("nfs://server:" + std::string(port) + "/export"),
                AllOf(HasSubstr("port '" + std::string(port) + "'"), HasSubstr("1 to 65535")));
    for (const char* name : {"port", "nfsport", "mountport"}) {
      const std::string option = std::string(name) + "=" + port;
      EXPECT_THAT(RefusalOf(option), AllOf(HasSubstr("'" + option + "'"), HasSubstr("1 to 65535")));
    }
  }
}

TEST(MountUrl, Versions3And4Point0To4Point2AreSpoken) {
  const struct {
    std::string value;
    int version;
    std::optional<uint32_t> minor_version;
  } rows[] = {{"3", 3, {}}, {"4", 4, {}}, {"4.0", 4, 0}, {"4.1", 4, 1}, {"4.2", 4, 2}};
  for (const std::string name : {"version=", "vers=", "nfsvers="}) {
    for (const auto& row : rows) {
      const auto server = WithOptions(name + row.value).server;
      EXPECT_EQ(server.version, row.version) << row.value;
      EXPECT_EQ(server.minor_version, row.minor_version) << row.value;
    }
    for (const std::string version : {"2", "4.3", "4.", "4.10", "5", "3.0", "", "three"}) {
      EXPECT_THAT(
          RefusalOf(name + version),
          AllOf(HasSubstr("'" + version + "'"), HasSubstr("accepted are 3, 4, 4.0, 4.1 and 4.2")));
    }
  }
}

TEST(MountUrl, MinorversionIsThatOfVersion4) {
  for (const uint32_t minor : {0u, 1u, 2u}) {
    const std::string option = "minorversion=" + std::to_string(minor);
    for (const std::string& options : {"version=4&" + option, option + "&version=4", option}) {
      EXPECT_EQ(WithOptions(options).server.version, 4) << options;
      EXPECT_EQ(WithOptions(options).server.minor_version, minor) << options;
    }
    const std::string same = "version=4." + std::to_string(minor) + "&" + option;
    EXPECT_EQ(WithOptions(same).server.minor_version, minor);
    const std::string other = "version=4." + std::to_string((minor + 1) % 3) + "&" + option;
    EXPECT_THAT(RefusalOf(other), HasSubstr("'" + option + "'"));
  }
  EXPECT_EQ(WithOptions("version=3&minorversion=0").server.version, 3);
  EXPECT_THAT(RefusalOf("version=3&minorversion=1"), HasSubstr("version 4"));
  for (const std::string value : {"3", "-1", "", "x", "01"}) {
    EXPECT_THAT(RefusalOf("version=4&minorversion=" + value), HasSubstr("0, 1 and 2")) << value;
  }
}

TEST(MountUrl, NconnectGoesFrom1To16) {
  EXPECT_EQ(WithOptions("nconnect=1").transport.nconnect, 1u);
  EXPECT_EQ(WithOptions("nconnect=16").transport.nconnect, 16u);
  EXPECT_THAT(RefusalOf("nconnect=0"), AllOf(HasSubstr("nconnect=0"), HasSubstr("1 to 16")));
  EXPECT_THAT(RefusalOf("nconnect=17"), AllOf(HasSubstr("nconnect=17"), HasSubstr("1 to 16")));
}

TEST(MountUrl, TimeoutsAndRetriesAreTaken) {
  EXPECT_EQ(WithOptions("timeo=1").transport.timeo_ds, 1u);
  EXPECT_EQ(WithOptions("timeo=6000").transport.timeo_ds, 6000u);
  EXPECT_EQ(WithOptions("retrans=0").transport.retrans, 0u);
  EXPECT_EQ(WithOptions("retrans=7").transport.retrans, 7u);
}

TEST(MountUrl, InvalidNumbersAreRefused) {
  for (const char* value : {"", "x", "3s", "+3", " 3", "3.5", "99999999999999999999999"}) {
    const std::string option = "acregmin=" + std::string(value);
    EXPECT_THAT(RefusalOf(option),
                AllOf(HasSubstr("'" + option + "'"), HasSubstr("a number from")));
  }
}

TEST(MountUrl, TheLastOfOppositeFlagsCounts) {
  EXPECT_FALSE(WithOptions("soft").transport.hard);
  EXPECT_TRUE(WithOptions("soft&hard").transport.hard);
  EXPECT_FALSE(WithOptions("hard&soft").transport.hard);
  EXPECT_TRUE(WithOptions("nocto").nocto);
  EXPECT_FALSE(WithOptions("nocto&cto").nocto);
  EXPECT_TRUE(WithOptions("").rdirplus);
  EXPECT_FALSE(WithOptions("nordirplus").rdirplus);
  EXPECT_TRUE(WithOptions("nordirplus&rdirplus").rdirplus);
  EXPECT_TRUE(WithOptions("").compound);
  EXPECT_FALSE(WithOptions("nocompound").compound);
  EXPECT_TRUE(WithOptions("nocompound&compound").compound);
  EXPECT_TRUE(WithOptions("noacl&acl").acl);
  EXPECT_FALSE(WithOptions("noacl").acl);
  EXPECT_TRUE(WithOptions("").protected_symlinks);
  EXPECT_FALSE(WithOptions("noprotected_symlinks").protected_symlinks);
  EXPECT_TRUE(WithOptions("noprotected_symlinks&protected_symlinks").protected_symlinks);
  EXPECT_TRUE(WithOptions("").protected_regular);
  EXPECT_FALSE(WithOptions("noprotected_regular").protected_regular);
  EXPECT_TRUE(WithOptions("noprotected_regular&protected_regular").protected_regular);
  EXPECT_EQ(WithOptions("strict").contract, WalkContract::kStrict);
}

TEST(MountUrl, AFlagWithAValueIsRefused) {
  for (const char* name : {"hard", "soft", "ac", "noac", "cto", "nocto", "compound", "nocompound",
                           "rdirplus", "nordirplus", "strict", "lock", "nolock"}) {
    EXPECT_THAT(RefusalOf(std::string(name) + "=1"), HasSubstr("takes no value"));
  }
}

TEST(MountUrl, OptionsOfMountMeanVersion3) {
  for (const std::string option : {"mountport=20048", "mountproto=tcp", "mountvers=3"}) {
    EXPECT_EQ(WithOptions(option).server.version, 3) << option;
    EXPECT_EQ(WithOptions(option + "&version=4").server.version, 4) << option;
    EXPECT_EQ(WithOptions("minorversion=1&" + option).server.version, 4) << option;
    EXPECT_EQ(WithOptions("lock&" + option).server.version, 4) << option;
  }
}

TEST(MountUrl, LocksOfVersion3AreLocal) {
  EXPECT_EQ(WithOptions("nolock").server.version, ServerAddress::kLatest);
  EXPECT_EQ(WithOptions("lock&nolock").server.version, ServerAddress::kLatest);
  EXPECT_EQ(WithOptions("lock").server.version, 4);
  EXPECT_EQ(WithOptions("nolock&lock").server.version, 4);
  EXPECT_EQ(WithOptions("lock&version=4").server.version, 4);
  EXPECT_EQ(WithOptions("nolock&version=4").server.version, 4);
  EXPECT_TRUE(WithOptions("nolock&version=4").nolock);
  EXPECT_FALSE(WithOptions("nolock&lock&version=4").nolock);
  EXPECT_FALSE(WithOptions("version=4").nolock);
  for (const char* options : {"version=3&lock", "lock&version=3", "version=4&lock&version=3"}) {
    EXPECT_THAT(RefusalOf(options),
                AllOf(HasSubstr("'lock' with version 3"), HasSubstr("accepted is nolock")));
  }
}

// In the order acregmin, acregmax, acdirmin, acdirmax. ATTR-4.
TEST(MountUrl, ALaterLifetimeCountsAndNoacOutweighsAllUnlessAcFollows) {
  const struct {
    const char* options;
    uint32_t lifetimes_s[4];
  } rows[] = {{"acregmin=1&acregmax=2&acdirmin=3&acdirmax=4", {1, 2, 3, 4}},
              {"acregmin=9&acregmax=9", {9, 9, 30, 60}},
              {"acregmin=1&actimeo=600&acdirmin=7", {600, 600, 7, 600}},
              {"noac", {0, 0, 0, 0}},
              {"noac&actimeo=60", {0, 0, 0, 0}},
              {"actimeo=60&noac", {0, 0, 0, 0}},
              {"ac&noac", {0, 0, 0, 0}},
              {"noac&ac", {3, 60, 30, 60}},
              {"noac&actimeo=9&ac", {9, 9, 9, 9}}};
  for (const auto& [text, lifetimes_s] : rows) {
    const MountOptions options = WithOptions(text);
    EXPECT_THAT(lifetimes_s, ElementsAre(options.acregmin_s, options.acregmax_s, options.acdirmin_s,
                                         options.acdirmax_s))
        << text;
  }
}

TEST(MountUrl, LookupcacheHasThreeMeanings) {
  EXPECT_EQ(WithOptions("lookupcache=all").lookupcache, LookupCache::kAll);
  EXPECT_EQ(WithOptions("lookupcache=pos").lookupcache, LookupCache::kPositive);
  EXPECT_EQ(WithOptions("lookupcache=positive").lookupcache, LookupCache::kPositive);
  EXPECT_EQ(WithOptions("lookupcache=none").lookupcache, LookupCache::kNone);
}

TEST(MountUrl, CacheLimitsAreAtLeastOne) {
  EXPECT_EQ(WithOptions("dentries=5").dentries_max, 5u);
  EXPECT_EQ(WithOptions("inodes=6").inodes_max, 6u);
  EXPECT_EQ(WithOptions("access_entries=7").access_entries_max, 7u);
  EXPECT_EQ(WithOptions("credentials=8").credentials_max, 8u);
  for (const char* name : {"dentries", "inodes", "access_entries", "credentials"}) {
    const std::string option = std::string(name) + "=0";
    EXPECT_THAT(RefusalOf(option), AllOf(HasSubstr(option), HasSubstr("from 1")));
  }
}

TEST(MountUrl, DirtyBytesAreAtLeastAPage) {
  EXPECT_EQ(WithOptions("").dirty_bytes_max, std::nullopt);
  EXPECT_EQ(WithOptions("dirty_bytes=4096").dirty_bytes_max, 4096u);
  EXPECT_EQ(WithOptions("dirty_bytes=8192&dirty_bytes=99999").dirty_bytes_max, 99999u);
  EXPECT_EQ(WithOptions("dirty_bytes=8589934592").dirty_bytes_max, uint64_t{8} << 30);
  for (const char* bytes : {"0", "1", "4095", "-4096", "1099511627777", "256K", ""}) {
    const std::string option = "dirty_bytes=" + std::string(bytes);
    EXPECT_THAT(RefusalOf(option),
                AllOf(HasSubstr("'" + option + "'"), HasSubstr("from 4096 to 1099511627776")));
  }
}

TEST(WalkModes, NamesGoBothWays) {
  for (const auto& [mode, name] :
       {std::pair{WalkMode::kRef, "ref"}, std::pair{WalkMode::kRcuLocked, "rcu-locked"},
        std::pair{WalkMode::kRcuPeek, "rcu-peek"}, std::pair{WalkMode::kRcuSearch, "rcu-search"}}) {
    EXPECT_EQ(WalkModeName(mode), name);
    EXPECT_EQ(ParseWalkMode(name), mode);
    EXPECT_EQ(WithOptions(std::string("walk=") + name).walk, mode);
  }
  EXPECT_FALSE(ParseWalkMode("REF").has_value());
  EXPECT_FALSE(ParseWalkMode("").has_value());
}

}  // namespace
}  // namespace nfswalk::nfs
