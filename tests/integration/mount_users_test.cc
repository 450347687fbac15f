// `nfswalk mount`: who may do what on it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <string>
#include <vector>

#include "tests/integration/mount_run.h"

namespace nfswalk {
namespace {

constexpr uid_t kOwner = 2001;
constexpr uid_t kMember = 2002;
constexpr uid_t kOther = 2003;
constexpr gid_t kGroup = 3001;
constexpr gid_t kOwnGroup = 3002;

class MountUsersTest : public MountRun {
 protected:
  void FileOf(const std::string& name, uid_t uid, gid_t gid, mode_t mode) const {
    File(name, "text");
    ASSERT_EQ(chown(Backing(name).c_str(), uid, gid), 0);
    ASSERT_EQ(chmod(Backing(name).c_str(), mode), 0);
  }
};

TEST_P(MountUsersTest, NobodyElseComesIn) {
  FileOf("f", kOwner, kGroup, 0777);
  Mount();
  EXPECT_EQ(TextOf(At("f")), "text");
  EXPECT_EQ(As(kOwner, kGroup, {}, [&] { return OpenError(At("f"), O_RDONLY); }), EACCES);
  EXPECT_EQ(As(kOwner, kGroup, {}, [&] { return OpenError(mount_point(), O_RDONLY); }), EACCES);
}

TEST_P(MountUsersTest, EachHasItsOwnRights) {
  FileOf("f", kOwner, kGroup, 0640);
  FileOf("shut", kOwner, kGroup, 0007);
  const struct {
    const char* name;
    uid_t uid;
    std::vector<gid_t> groups;
    int flags;
    int error;
  } opens[] = {
      {"f", kOwner, {}, O_RDWR, 0},
      {"f", kMember, {kOwnGroup, kGroup}, O_RDONLY, 0},
      {"f", kMember, {kGroup}, O_WRONLY, EACCES},
      {"f", kOther, {kOwnGroup}, O_RDONLY, EACCES},
      {"f", 0, {}, O_RDWR, 0},
      {"shut", kOwner, {}, O_RDONLY, EACCES},
      {"shut", kMember, {kGroup}, O_RDONLY, EACCES},
      {"shut", kOther, {}, O_RDONLY, 0},
      {"none", kOther, {}, O_RDONLY, ENOENT},
  };
  Mount("allow_other");
  for (const auto& [name, uid, groups, flags, error] : opens) {
    EXPECT_EQ(As(uid, kOwnGroup, groups, [&] { return OpenError(At(name), flags); }), error)
        << name << " as " << uid;
  }
  // By the primary group, too.
  EXPECT_EQ(As(kMember, kGroup, {}, [&] { return OpenError(At("f"), O_RDONLY); }), 0);
  const auto may_read = [&] { return ErrorOf(access(At("f").c_str(), R_OK)); };
  EXPECT_EQ(As(kMember, kOwnGroup, {kGroup}, may_read), 0);
  EXPECT_EQ(As(kOther, kOwnGroup, {}, may_read), EACCES);
}

TEST_P(MountUsersTest, ChangesNeedTheirRights) {
  FileOf("f", kOwner, kGroup, 0666);
  Directory("d", 0755);
  FileOf("d/f", kOwner, kGroup, 0666);
  Directory("sticky");
  ASSERT_EQ(chmod(Backing("sticky").c_str(), 01777), 0);
  FileOf("sticky/f", kOwner, kGroup, 0666);
  Mount("allow_other");
  const struct {
    const char* what;
    uid_t uid;
    std::function<long()> call;
    int error;
  } changes[] = {
      {"chmod", kOther, [&] { return chmod(At("f").c_str(), 0600); }, EPERM},
      {"chown", kOther, [&] { return chown(At("f").c_str(), kOther, kGroup); }, EPERM},
      {"giving away", kOwner, [&] { return chown(At("f").c_str(), kOther, kGroup); }, EPERM},
      {"to its group", kOwner, [&] { return chown(At("f").c_str(), kOwner, kOwnGroup); }, 0},
      {"chmod of its own", kOwner, [&] { return chmod(At("f").c_str(), 0644); }, 0},
      {"create", kOther, [&] { return mknod(At("d/g").c_str(), S_IFREG | 0644, 0); }, EACCES},
      {"mkdir", kOther, [&] { return mkdir(At("d/d").c_str(), 0755); }, EACCES},
      {"unlink", kOther, [&] { return unlink(At("d/f").c_str()); }, EACCES},
      {"unlink, sticky", kOther, [&] { return unlink(At("sticky/f").c_str()); }, EPERM},
      {"unlink of its own, sticky", kOwner, [&] { return unlink(At("sticky/f").c_str()); }, 0},
      {"truncate", kOther, [&] { return truncate(At("f").c_str(), 0); }, EACCES},
      {"times of another's", kOther,
       [&] {
         const timespec times[] = {{1, 0}, {2, 0}};
         return utimensat(AT_FDCWD, At("f").c_str(), times, 0);
       },
       EPERM},
  };
  for (const auto& [what, uid, call, error] : changes) {
    EXPECT_EQ(As(uid, kOwnGroup, {}, [&] { return ErrorOf(call()); }), error) << what;
  }
}

TEST_P(MountUsersTest, WhatIsMadeIsItsMakers) {
  Directory("d");
  ASSERT_EQ(chmod(Backing("d").c_str(), 0777), 0);
  Mount("allow_other");
  EXPECT_EQ(As(kOwner, kGroup, {},
               [&] {
                 umask(027);
                 if (WriteText(At("d/f"), "text") != 0) return 1;
                 if (mkdir(At("d/sub").c_str(), 0777) != 0) return 2;
                 return ErrorOf(symlink("f", At("d/link").c_str()));
               }),
            0);
  for (const char* name : {"d/f", "d/sub", "d/link"}) {
    EXPECT_EQ(StatOf(At(name)).st_uid, kOwner) << name;
    EXPECT_EQ(StatOf(Backing(name)).st_gid, kGroup) << name;
  }
  EXPECT_EQ(StatOf(At("d/f")).st_mode, S_IFREG | 0640U);
  EXPECT_EQ(StatOf(At("d/sub")).st_mode, S_IFDIR | 0750U);
}

TEST_P(MountUsersTest, WritingTakesSetUserIdBitsAway) {
  FileOf("f", kOwner, kGroup, 06777);
  Mount("allow_other");
  EXPECT_EQ(StatOf(At("f")).st_mode, S_IFREG | 06777U);
  const auto append = [&] {
    const int fd = open(At("f").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    const long written = fd < 0 ? -1 : write(fd, "x", 1);
    return written == 1 ? ErrorOf(close(fd)) : 1;
  };
  EXPECT_EQ(As(kOther, kOwnGroup, {}, append), 0);
  EXPECT_EQ(StatOf(Backing("f")).st_mode, S_IFREG | 0777U);
  EXPECT_EQ(StatOf(At("f")).st_mode, S_IFREG | 0777U);
}

INSTANTIATE_TEST_SUITE_P(Versions, MountUsersTest, fixtures::AllVersions(),
                         fixtures::VersionTestName);

}  // namespace
}  // namespace nfswalk
