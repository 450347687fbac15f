#include "nfsclient/nfs/mount_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace nfswalk::nfs {
namespace {

using testing::AllOf;
using testing::HasSubstr;

MountOptions Parsed(std::string_view url) {
  auto options = ParseMountUrl(url);
  EXPECT_TRUE(options.has_value()) << url << ": " << options.error();
  return options.value_or(MountOptions());
}

MountOptions WithOptions(const std::string& options) {
  return Parsed("nfs://server/export?" + options);
}

std::string Refusal(std::string_view url) {
  auto options = ParseMountUrl(url);
  EXPECT_FALSE(options.has_value()) << url << " was accepted";
  return options.has_value() ? "" : options.error();
}

std::string RefusalOf(const std::string& options) {
  return Refusal("nfs://server/export?" + options);
}

TEST(MountUrl, TheShortestOneMeansTheDefaultsOfNfs5) {
  const MountOptions options = Parsed("nfs://server/export");
  EXPECT_EQ(options.server.host, "server");
  EXPECT_EQ(options.server.export_path, "/export");
  EXPECT_EQ(options.server.nfs_port, 0);
  EXPECT_EQ(options.server.mount_port, 0);
  EXPECT_EQ(options.server.version, 3);
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

TEST(MountUrl, AnExportKeepsItsDepthAndTheRootIsAnExport) {
  EXPECT_EQ(Parsed("nfs://server/a/b/c").server.export_path, "/a/b/c");
  EXPECT_EQ(Parsed("nfs://server/").server.export_path, "/");
  EXPECT_EQ(Parsed("nfs://server/a?").server.export_path, "/a");
}

TEST(MountUrl, AForeignSchemeIsRefusedByName) {
  EXPECT_THAT(Refusal("http://server/export"),
              AllOf(HasSubstr("http://server"), HasSubstr("nfs://")));
  EXPECT_THAT(Refusal("server:/export"), HasSubstr("nfs://host[:port]/export"));
  EXPECT_THAT(Refusal(""), HasSubstr("nfs://host[:port]/export"));
}

TEST(MountUrl, AMissingHostOrExportIsRefused) {
  EXPECT_THAT(Refusal("nfs:///export"), HasSubstr("no host"));
  EXPECT_THAT(Refusal("nfs://:2049/export"), HasSubstr("no host"));
  EXPECT_THAT(Refusal("nfs://server"), HasSubstr("no export in 'nfs://server'"));
  EXPECT_THAT(Refusal("nfs://server?soft"), HasSubstr("no export"));
}

TEST(MountUrl, AHostWithStrangeBytesIsRefused) {
  EXPECT_THAT(Refusal("nfs://ser ver/export"), HasSubstr("host 'ser ver'"));
  EXPECT_THAT(Refusal("nfs://user@server/export"), HasSubstr("host 'user@server'"));
  EXPECT_THAT(Refusal(std::string_view("nfs://server/ex\0port", 20)), HasSubstr("NUL"));
}

TEST(MountUrl, AnIpv6AddressStandsInBrackets) {
  const MountOptions options = Parsed("nfs://[fd00::1]:2050/export");
  EXPECT_EQ(options.server.host, "fd00::1");
  EXPECT_EQ(options.server.nfs_port, 2050);
  EXPECT_EQ(Parsed("nfs://[::1]/export").server.host, "::1");
}

TEST(MountUrl, AnIpv6AddressWithoutBracketsOrThatIsNoneIsRefused) {
  EXPECT_THAT(Refusal("nfs://fd00::1/export"), AllOf(HasSubstr("fd00::1"), HasSubstr("brackets")));
  EXPECT_THAT(Refusal("nfs://[server]/export"), HasSubstr("'[server]'"));
  EXPECT_THAT(Refusal("nfs://[::1/export"), HasSubstr("'[::1'"));
  EXPECT_THAT(Refusal("nfs://[fe80::1%eth0]/export"), HasSubstr("IPv6"));
  EXPECT_THAT(Refusal("nfs://[::1]2049/export"), HasSubstr("port '2049'"));
}

TEST(MountUrl, PortsAreTakenWhereverTheyStand) {
  EXPECT_EQ(Parsed("nfs://server:2050/export").server.nfs_port, 2050);
  EXPECT_EQ(WithOptions("port=1").server.nfs_port, 1);
  EXPECT_EQ(WithOptions("nfsport=65535").server.nfs_port, 65535);
  EXPECT_EQ(WithOptions("mountport=20048").server.mount_port, 20048);
  EXPECT_EQ(Parsed("nfs://server:2050/export?port=2051").server.nfs_port, 2051);
}

TEST(MountUrl, APortOutOfRangeIsRefused) {
  for (const char* port : {"0", "65536", "-1", "", "nfs", "20 49", "0x801"}) {
    EXPECT_THAT(Refusal("nfs://server:" + std::string(port) + "/export"),
                AllOf(HasSubstr("port '" + std::string(port) + "'"), HasSubstr("1 to 65535")));
    for (const char* name : {"port", "nfsport", "mountport"}) {
      const std::string option = std::string(name) + "=" + port;
      EXPECT_THAT(RefusalOf(option), AllOf(HasSubstr("'" + option + "'"), HasSubstr("1 to 65535")));
    }
  }
}

TEST(MountUrl, EscapesInTheExportAreDecoded) {
  EXPECT_EQ(Parsed("nfs://server/a%20b%3fc%25%2F").server.export_path, "/a b?c%/");
  EXPECT_EQ(Parsed("nfs://server/%c3%A4").server.export_path, "/\xc3\xa4");
}

TEST(MountUrl, ABrokenEscapeIsRefusedAndShown) {
  EXPECT_THAT(Refusal("nfs://server/a%zz"), HasSubstr("'%zz'"));
  EXPECT_THAT(Refusal("nfs://server/a%4"), HasSubstr("'%4'"));
  EXPECT_THAT(Refusal("nfs://server/a%"), HasSubstr("'%'"));
  EXPECT_THAT(Refusal("nfs://server/a%00b"), HasSubstr("'%00'"));
}

TEST(MountUrl, AnExportLongerThanTheProtocolAllowsIsRefused) {
  EXPECT_EQ(Parsed("nfs://server/" + std::string(1023, 'a')).server.export_path.size(), 1024u);
  EXPECT_THAT(Refusal("nfs://server/" + std::string(1024, 'a')),
              AllOf(HasSubstr("1025"), HasSubstr("1024")));
}

TEST(MountUrl, Versions3And4Point0AreSpoken) {
  for (const char* name : {"version", "vers", "nfsvers"}) {
    EXPECT_EQ(WithOptions(std::string(name) + "=3").server.version, 3);
    EXPECT_EQ(WithOptions(std::string(name) + "=4").server.version, 4);
    EXPECT_EQ(WithOptions(std::string(name) + "=4.0").server.version, 4);
    for (const char* version : {"2", "4.1", "", "three"}) {
      EXPECT_THAT(RefusalOf(std::string(name) + "=" + version),
                  AllOf(HasSubstr("'" + std::string(version) + "'"),
                        HasSubstr("accepted are 3, 4 and 4.0")));
    }
  }
}

TEST(MountUrl, NconnectGoesFrom1To16) {
  EXPECT_EQ(WithOptions("nconnect=1").transport.nconnect, 1u);
  EXPECT_EQ(WithOptions("nconnect=16").transport.nconnect, 16u);
  EXPECT_THAT(RefusalOf("nconnect=0"), AllOf(HasSubstr("nconnect=0"), HasSubstr("1 to 16")));
  EXPECT_THAT(RefusalOf("nconnect=17"), AllOf(HasSubstr("nconnect=17"), HasSubstr("1 to 16")));
}

TEST(MountUrl, TimeoIsInTenthsOfASecondAndNeverZero) {
  EXPECT_EQ(WithOptions("timeo=1").transport.timeo_ds, 1u);
  EXPECT_EQ(WithOptions("timeo=6000").transport.timeo_ds, 6000u);
  EXPECT_THAT(RefusalOf("timeo=0"), AllOf(HasSubstr("timeo=0"), HasSubstr("tenths of a second")));
  EXPECT_THAT(RefusalOf("timeo=6001"), HasSubstr("1 to 6000"));
}

TEST(MountUrl, RetransMayBeZero) {
  EXPECT_EQ(WithOptions("retrans=0").transport.retrans, 0u);
  EXPECT_EQ(WithOptions("retrans=7").transport.retrans, 7u);
  EXPECT_THAT(RefusalOf("retrans=-1"), HasSubstr("retrans=-1"));
}

TEST(MountUrl, WhatIsNoNumberIsRefused) {
  for (const char* value : {"", "x", "3s", "+3", " 3", "3.5", "99999999999999999999999"}) {
    const std::string option = "acregmin=" + std::string(value);
    EXPECT_THAT(RefusalOf(option),
                AllOf(HasSubstr("'" + option + "'"), HasSubstr("a number from")));
  }
  EXPECT_THAT(RefusalOf("acregmin"), HasSubstr("'acregmin'"));
}

TEST(MountUrl, OfHardAndSoftTheLastOneCounts) {
  EXPECT_FALSE(WithOptions("soft").transport.hard);
  EXPECT_TRUE(WithOptions("soft&hard").transport.hard);
  EXPECT_FALSE(WithOptions("hard&soft").transport.hard);
}

TEST(MountUrl, EachLifetimeIsItsOwn) {
  const MountOptions options = WithOptions("acregmin=1&acregmax=2&acdirmin=3&acdirmax=4");
  EXPECT_EQ(options.acregmin_s, 1u);
  EXPECT_EQ(options.acregmax_s, 2u);
  EXPECT_EQ(options.acdirmin_s, 3u);
  EXPECT_EQ(options.acdirmax_s, 4u);
}

TEST(MountUrl, ActimeoSetsAllFourLifetimesAndLaterOnesChangeTheirs) {
  const MountOptions options = WithOptions("acregmin=1&actimeo=600&acdirmin=7");
  EXPECT_EQ(options.acregmin_s, 600u);
  EXPECT_EQ(options.acregmax_s, 600u);
  EXPECT_EQ(options.acdirmin_s, 7u);
  EXPECT_EQ(options.acdirmax_s, 600u);
}

// ATTR-4.
TEST(MountUrl, NoacOutweighsLifetimesUnlessAcFollows) {
  for (const char* text : {"noac", "noac&actimeo=60", "actimeo=60&noac", "ac&noac"}) {
    const MountOptions options = WithOptions(text);
    EXPECT_EQ(options.acregmin_s, 0u) << text;
    EXPECT_EQ(options.acregmax_s, 0u) << text;
    EXPECT_EQ(options.acdirmin_s, 0u) << text;
    EXPECT_EQ(options.acdirmax_s, 0u) << text;
  }
  EXPECT_EQ(WithOptions("noac&ac").acregmin_s, 3u);
  EXPECT_EQ(WithOptions("noac&actimeo=9&ac").acdirmax_s, 9u);
}

TEST(MountUrl, AMinimumAboveItsMaximumIsRefusedNamingBoth) {
  EXPECT_THAT(RefusalOf("acregmin=9&acregmax=8"),
              AllOf(HasSubstr("acregmin=9"), HasSubstr("acregmax=8")));
  EXPECT_THAT(RefusalOf("acdirmin=61"), AllOf(HasSubstr("acdirmin=61"), HasSubstr("acdirmax=60")));
  EXPECT_THAT(RefusalOf("acregmax=2"), AllOf(HasSubstr("acregmin=3"), HasSubstr("acregmax=2")));
  EXPECT_EQ(WithOptions("acregmin=9&acregmax=9").acregmax_s, 9u);
}

TEST(MountUrl, LookupcacheHasThreeMeanings) {
  EXPECT_EQ(WithOptions("lookupcache=all").lookupcache, LookupCache::kAll);
  EXPECT_EQ(WithOptions("lookupcache=pos").lookupcache, LookupCache::kPositive);
  EXPECT_EQ(WithOptions("lookupcache=positive").lookupcache, LookupCache::kPositive);
  EXPECT_EQ(WithOptions("lookupcache=none").lookupcache, LookupCache::kNone);
  EXPECT_THAT(RefusalOf("lookupcache=some"), AllOf(HasSubstr("'some'"), HasSubstr("positive")));
}

TEST(MountUrl, CloseToOpenAndStrictAreFlags) {
  EXPECT_TRUE(WithOptions("nocto").nocto);
  EXPECT_FALSE(WithOptions("nocto&cto").nocto);
  EXPECT_TRUE(WithOptions("").rdirplus);
  EXPECT_FALSE(WithOptions("nordirplus").rdirplus);
  EXPECT_TRUE(WithOptions("nordirplus&rdirplus").rdirplus);
  EXPECT_TRUE(WithOptions("").compound);
  EXPECT_FALSE(WithOptions("nocompound").compound);
  EXPECT_TRUE(WithOptions("nocompound&compound").compound);
  EXPECT_EQ(WithOptions("strict").contract, WalkContract::kStrict);
}

TEST(MountUrl, AFlagWithAValueIsRefused) {
  for (const char* name : {"hard", "soft", "ac", "noac", "cto", "nocto", "compound", "nocompound",
                           "rdirplus", "nordirplus", "strict"}) {
    EXPECT_THAT(RefusalOf(std::string(name) + "=1"), HasSubstr("takes no value"));
  }
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

TEST(MountUrl, AnUnknownOptionIsRefusedWithTheKnownOnes) {
  EXPECT_THAT(RefusalOf("rsize=8192"), AllOf(HasSubstr("'rsize=8192'"), HasSubstr("nconnect")));
  EXPECT_THAT(RefusalOf("HARD"), HasSubstr("'HARD'"));
  EXPECT_THAT(RefusalOf("soft&&hard"), HasSubstr("''"));
}

TEST(WalkModes, NamesGoBothWays) {
  for (const auto& [mode, name] :
       {std::pair{WalkMode::kRef, "ref"}, std::pair{WalkMode::kRcuLocked, "rcu-locked"},
        std::pair{WalkMode::kRcuPeek, "rcu-peek"}, std::pair{WalkMode::kRcuSearch, "rcu-search"}}) {
    EXPECT_EQ(WalkModeName(mode), name);
    EXPECT_EQ(ParseWalkMode(name), mode);
    EXPECT_EQ(WithOptions(std::string("walk=") + name).walk, mode);
  }
}

TEST(WalkModes, AnUnknownNameIsRefusedWithTheKnownOnes) {
  EXPECT_THAT(RefusalOf("walk=rcu"), AllOf(HasSubstr("'rcu'"), HasSubstr("rcu-search")));
  EXPECT_FALSE(ParseWalkMode("REF").has_value());
  EXPECT_FALSE(ParseWalkMode("").has_value());
}

}  // namespace
}  // namespace nfswalk::nfs
