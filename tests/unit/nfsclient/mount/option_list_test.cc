#include "nfsclient/mount/option_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace nfswalk::mount {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Strings = std::vector<std::string>;

TEST(OptionListTest, EachOptionGoesToWhoReadsIt) {
  const struct {
    const char* options;
    Strings fuse;
    Strings client;
  } lists[] = {
      {"", {}, {}},
      {",,", {}, {}},
      {"hard,actimeo=3,vers=4", {}, {"hard", "actimeo=3", "vers=4"}},
      {"ro", {"ro"}, {}},
      {"ro,soft,nosuid", {"ro", "nosuid"}, {"soft"}},
      {"fsname=a=b,subtype=c", {"fsname=a=b", "subtype=c"}, {}},
      {"allow_other,auto_unmount", {"allow_other", "auto_unmount"}, {}},
      // Options that only mount(8) and systemd.mount(5) read.
      {"defaults,_netdev,noauto,user,nofail,x-systemd.automount,X-mount.mkdir,comment=why", {}, {}},
      // Times are the server's.
      {"relatime,norelatime,strictatime,lazytime,nodiratime", {}, {}},
      // The kernel's caches would answer those whom libfuse refuses.
      {"allow_root", {}, {"allow_root"}},
      // Names are whole: what only begins like one is another option.
      {"rollback,autofs,x,fsname,comment", {}, {"rollback", "autofs", "x", "fsname", "comment"}},
  };
  for (const auto& [options, fuse, client] : lists) {
    OptionList list;
    AddOptions(list, options);
    EXPECT_EQ(list.fuse, fuse) << options;
    EXPECT_EQ(list.client, client) << options;
    EXPECT_FALSE(list.nonempty) << options;
    EXPECT_EQ(list.others, std::string(options).contains("allow_other")) << options;
  }
}

TEST(OptionListTest, UnsupportedOptionIsRefusedWithAdvice) {
  EXPECT_THAT(RefusedMountOption("allow_root"), HasSubstr("allow_other"));
  EXPECT_THAT(RefusedMountOption("context=system_u:object_r"), HasSubstr("leave it out"));
  for (const char* option : {"allow_other", "context", "vers=3", "remounted", ""}) {
    EXPECT_EQ(RefusedMountOption(option), "") << option;
  }
}

TEST(OptionListTest, ListsAddUp) {
  OptionList list;
  AddOptions(list, "nonempty,ro");
  AddOptions(list, "hard,rw");
  AddOptions(list, "allow_other");
  AddOptions(list, "soft");
  EXPECT_THAT(list.fuse, ElementsAre("ro", "rw", "allow_other"));
  EXPECT_THAT(list.client, ElementsAre("hard", "soft"));
  EXPECT_TRUE(list.nonempty);
  EXPECT_TRUE(list.others);
}

}  // namespace
}  // namespace nfswalk::mount
