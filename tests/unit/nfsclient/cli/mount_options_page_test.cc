// docs/mount_options.md, line by line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "nfsclient/cli/command_line.h"
#include "nfsclient/mount/option_list.h"
#include "nfsclient/superblock/mount_options.h"

namespace nfswalk::cli {
namespace {

using testing::HasSubstr;
using testing::IsSupersetOf;

// Options of nfs-utils 2.6, and those of newer kernels.
const std::vector<std::string> kNamesOfNfs5 = {
    "nfsvers",     "vers",       "soft",         "hard",         "softreval",      "nosoftreval",
    "softerr",     "intr",       "nointr",       "timeo",        "retrans",        "rsize",
    "wsize",       "ac",         "noac",         "acregmin",     "acregmax",       "acdirmin",
    "acdirmax",    "actimeo",    "bg",           "fg",           "nconnect",       "max_connect",
    "rdirplus",    "nordirplus", "retry",        "sec",          "sharecache",     "nosharecache",
    "resvport",    "noresvport", "lookupcache",  "fsc",          "nofsc",          "sloppy",
    "proto",       "udp",        "tcp",          "rdma",         "port",           "mountport",
    "mountproto",  "mounthost",  "mountvers",    "namlen",       "lock",           "nolock",
    "cto",         "nocto",      "acl",          "noacl",        "local_lock",     "minorversion",
    "clientaddr",  "migration",  "nomigration",  "write",        "xprtsec",        "trunkdiscovery",
    "mountaddr",   "addr",       "xattr",        "noxattr",      "notrunkdiscovery"};

struct Line {
  std::vector<std::string> options;
  std::string outcome;
};

std::vector<std::string> Parts(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t end; (end = text.find(separator, begin)) != std::string::npos;
       begin = end + separator.size()) {
    parts.push_back(text.substr(begin, end - begin));
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::vector<Line> Lines() {
  std::ifstream page("docs/mount_options.md");
  std::vector<Line> lines;
  for (std::string text; std::getline(page, text);) {
    if (!text.starts_with("| `")) continue;
    const auto cells = Parts(text, " | ");
    Line line{{}, cells.at(1)};
    const auto quoted = Parts(cells.at(0), "`");
    for (size_t i = 1; i < quoted.size(); i += 2) line.options.push_back(quoted[i]);
    lines.push_back(line);
  }
  return lines;
}

std::string NameOf(const std::string& option) { return option.substr(0, option.find('=')); }

// "" if the mount takes it.
std::string ErrorOf(const std::string& options) {
  const char* const line[] = {"nfswalk", "mount", "-o", options.c_str(), "nfs://server/export",
                              "/mnt"};
  const auto invocation = ParseCommandLine(std::size(line), line);
  return invocation ? "" : invocation.error().text;
}

TEST(MountOptionsPage, EachLineIsSo) {
  const auto lines = Lines();
  ASSERT_GT(lines.size(), 50u);
  for (const auto& [listed, outcome] : lines) {
    for (const std::string& options : listed) {
      const std::string error = ErrorOf(options);
      if (outcome != "refused") {
        EXPECT_THAT(outcome, testing::AnyOf("taken", "ignored")) << options;
        EXPECT_EQ(error, "") << options;
        continue;
      }
      const std::string last = options.substr(options.find(',') + 1);
      EXPECT_THAT(error, HasSubstr(last.substr(last.find('=') + 1))) << options;
      EXPECT_THAT(error, testing::Not(HasSubstr("is not known"))) << options;
    }
  }
}

TEST(MountOptionsPage, HasAllOfNfs5AndAllThatIsTaken) {
  std::set<std::string> documented;
  for (const Line& line : Lines()) {
    for (const std::string& options : line.options) {
      for (const std::string& option : Parts(options, ",")) documented.insert(NameOf(option));
    }
  }
  EXPECT_THAT(documented, IsSupersetOf(kNamesOfNfs5));
  for (const std::string& names : {nfs::MountOptionNames(), mount::MountOnlyNames()}) {
    for (const std::string& name : Parts(names, ", ")) {
      const bool is_prefix = name == "x-" || name == "X-";
      EXPECT_TRUE(is_prefix || documented.contains(NameOf(name))) << name;
    }
  }
}

TEST(MountOptionsPage, ALineOfTheKernelsClientIsTaken) {
  for (const char* line :
       {"rw,relatime,vers=3,rsize=1048576,wsize=1048576,namlen=255,hard,nolock,proto=tcp,timeo=600,"
        "retrans=2,sec=sys,mountvers=3,mountport=20048,mountproto=tcp,local_lock=all,addr=10.0.0.1",
        "rw,relatime,vers=4.0,rsize=1048576,wsize=1048576,namlen=255,hard,proto=tcp,timeo=600,"
        "retrans=2,sec=sys,clientaddr=10.0.0.2,local_lock=none,addr=10.0.0.1",
        "nfsvers=4,hard,intr,noatime,bg,retry=5,noresvport,_netdev,nofail,x-systemd.automount"}) {
    EXPECT_EQ(ErrorOf(line), "") << line;
  }
}

TEST(MountOptionsPage, UnknownOptionIsRefusedWithTheAcceptedOnes) {
  const std::string error = ErrorOf("frobnicate=1");
  for (const char* words : {"'frobnicate=1' is not known", " ro,", "noatime", "allow_other",
                            "nofail", "actimeo", "vers", "sec"}) {
    EXPECT_THAT(error, HasSubstr(words));
  }
}

}  // namespace
}  // namespace nfswalk::cli
