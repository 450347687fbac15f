#include "nfsclient/mount/mount_table.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace nfswalk::mount {
namespace {

TEST(MountTable, AMountIsFoundByItsDevice) {
  std::istringstream table(
      "22 1 0:4 / /proc rw,relatime - proc proc rw\n"
      "40 1 0:42 / /tmp/a\\040b rw,nosuid shared:7 - fuse.nfswalk nfs://h/0:4\\0401 rw,user_id=0\n"
      "41 1 0:4 / /again ro - proc proc ro\n");
  EXPECT_EQ(FindMount(table, 0, 42).substr(0, 9), "40 1 0:42");
  table.clear();
  table.seekg(0);
  EXPECT_EQ(FindMount(table, 0, 2), "");
}

TEST(MountTable, TopmostOfSeveralMountsCounts) {
  const std::string lines =
      "22 1 0:4 / /proc rw,relatime - proc proc rw\n"
      "40 1 0:42 / /tmp/a\\040b rw,nosuid shared:7 - fuse.nfswalk nfs://h/0:4\\0401 rw,user_id=0\n"
      "41 1 0:43 / /tmp/c rw shared:7 master:1 - fuse.nfswalk nfs://h/below rw\n"
      "42 1 0:44 / /tmp/c rw - fuse.nfswalk nfs://h/top rw\n";
  const struct {
    const char* directory;
    const char* source;
  } mounts[] = {{"/tmp/a b", "nfs://h/0:4 1"}, {"/tmp/c", "nfs://h/top"}, {"/tmp", ""}, {"", ""}};
  for (const auto& [directory, source] : mounts) {
    std::istringstream table(lines);
    EXPECT_EQ(SourceMountedOn(table, directory), source) << directory;
  }
}

TEST(MountTable, MountAllowsOnlyTheRequestedOptions) {
  const struct {
    std::vector<std::string> options;
    const char* of_mount;
    const char* of_file_system;
    const char* error;  // "": the same
  } mounts[] = {
      {{}, "rw,nosuid,nodev", "rw,user_id=0,group_id=0", ""},
      {{}, "rw,nosuid,nodev", "rw,allow_other", "the kernel mounts with 'allow_other'"},
      {{}, "rw,nosuidx,nodev", "rw,nosuid", "the kernel mounts without 'nosuid'"},
      {{"fsname=nosuid,nodev"}, "rw,nosuid", "rw", "the kernel mounts without 'nodev'"},
      {{"suid", "dev"}, "rw", "rw", ""},
      {{"suid", "dev"}, "rw,nosuid,nodev", "rw", ""},  // of an ordinary user
      {{"suid", "nosuid", "dev"}, "rw", "rw", "the kernel mounts without 'nosuid'"},
      {{"nosuid", "suid", "dev"}, "rw", "rw", ""},
      {{"ro"}, "rw,nosuid,nodev", "rw", "the kernel mounts without 'ro'"},
      {{"ro", "rw"}, "rw,nosuid,nodev", "rw", ""},
      {{"noexec"}, "rw,nosuid,nodev", "rw", "the kernel mounts without 'noexec'"},
      {{"allow_other"}, "rw,nosuid,nodev", "rw", "the kernel mounts without 'allow_other'"},
      {{"allow_other", "default_permissions"},
       "rw,nosuid,nodev",
       "rw,allow_other",
       "the kernel mounts without 'default_permissions'"},
      {{"allow_other"},
       "rw,nosuid,nodev",
       "rw,allow_other",
       "the kernel mounts without 'default_permissions'"},
      {{"default_permissions"},
       "rw,nosuid,nodev",
       "rw",
       "the kernel mounts without 'default_permissions'"},
      {{"default_permissions", "allow_other"},
       "rw,nosuid,nodev",
       "rw,user_id=0,default_permissions,allow_other",
       ""},
  };
  for (const auto& [options, of_mount, of_file_system, error] : mounts) {
    const std::string line = std::string("40 1 0:42 / /m ") + of_mount +
                             " shared:7 - fuse.nfswalk nfs://h/x,allow_other " + of_file_system;
    const auto checked = CheckMount(line, options);
    EXPECT_EQ(checked ? "" : checked.error(), error) << line;
  }
  EXPECT_FALSE(CheckMount("", std::vector<std::string>{}));
}

}  // namespace
}  // namespace nfswalk::mount
