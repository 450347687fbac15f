// `nfswalk mount`: who may do what on it.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/integration/mount_run.h"

namespace nfswalk {
namespace {

using testing::HasSubstr;
using testing::Not;

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

TEST_P(MountUsersTest, NewFilesBelongToTheCaller) {
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

// Each is one directory of the server, whose name another user may have chosen.
TEST_P(MountUsersTest, APathIsNoOptions) {
  FileOf("f", kOwner, kGroup, 0666);
  for (const char* name : {"c,allow_other,suid,dev", "b\\,allow_other,suid", "o\\054suid\\"}) {
    Directory(name, 0777);
    Mount("", name);
    const std::string line = MountLine();
    EXPECT_THAT(line, HasSubstr(" rw,nosuid,nodev,")) << name;
    EXPECT_THAT(line.substr(line.rfind(' ')), Not(HasSubstr("allow_other"))) << name;
    const auto open_root = [&] { return OpenError(mount_point(), O_RDONLY); };
    EXPECT_EQ(As(kOther, kOwnGroup, {}, open_root), EACCES) << name;
    EXPECT_EQ(Unmount(), 0) << Messages();
  }
  Mount("fsname=a\\054allow_other,subtype=b\\054suid");
  EXPECT_THAT(MountLine(), HasSubstr("- fuse.b\\134054suid a\\134054allow_other rw,user_id=0"));
}

// It does so whether the kernel has cached what is in it, for the mounter or another user, or not.
TEST_P(MountUsersTest, ADirectoryHidesWhatIsInItFromThoseWhoMayNotSearchIt) {
  constexpr mode_t kModes[] = {0700, 0711, 0750, 0755};
  for (const mode_t mode : kModes) {
    const std::string name = fmt::format("{:o}", mode);
    Directory(name);
    FileOf(name + "/f", kOwner, kGroup, 0644);
    Directory(name + "/sub");
    Link(name + "/link", "/somewhere/secret");
    ASSERT_EQ(chown(Backing(name).c_str(), kOwner, kGroup), 0);
    ASSERT_EQ(chmod(Backing(name).c_str(), mode), 0);
  }
  const struct {
    uid_t uid;
    std::vector<gid_t> groups;
    int shift;  // of its bits in a mode
  } users[] = {{kOwner, {}, 6}, {kMember, {kGroup}, 3}, {kOther, {}, 0}};
  const auto all = [&](const char* when) {
    for (const mode_t mode : kModes) {
      const std::string at = At(fmt::format("{:o}", mode));
      for (const auto& [uid, groups, shift] : users) {
        const int searched = (mode >> shift & 1) != 0 ? 0 : EACCES;
        const int missing = searched != 0 ? EACCES : ENOENT;
        const auto error = [&](const std::function<long()>& call) {
          return As(uid, kOwnGroup, groups, [&] { return ErrorOf(call()); });
        };
        struct stat found{};
        char text[64];
        const auto status = [&](const char* name) {
          return error([&] { return lstat((at + name).c_str(), &found); });
        };
        SCOPED_TRACE(fmt::format("{} as {}, {}", at, uid, when));
        EXPECT_EQ(status("/f"), searched);
        EXPECT_EQ(status("/sub"), searched);
        EXPECT_EQ(status("/none"), missing);
        EXPECT_EQ(error([&] { return readlink((at + "/link").c_str(), text, sizeof text); }),
                  searched);
        EXPECT_EQ(error([&] { return access((at + "/f").c_str(), R_OK); }), searched);
        EXPECT_EQ(error([&] { return open((at + "/f").c_str(), O_RDONLY); }), searched);
        EXPECT_EQ(error([&] { return open(at.c_str(), O_RDONLY); }),
                  (mode >> shift & 4) != 0 ? 0 : EACCES);
      }
    }
  };
  for (const char* options : {"allow_other", "allow_other,noac", "allow_other,nocto"}) {
    Mount(options);
    all("not cached");
    EXPECT_EQ(RunProgram({"sh", "-c", "ls -laR " + mount_point()}).exit_code, 0);
    all("cached");
    EXPECT_EQ(Unmount(), 0) << Messages();
  }
}

TEST_P(MountUsersTest, AGroupThatAProcessLeavesOpensNothingMore) {
  Directory("d");
  FileOf("d/f", kOwner, kGroup, 0640);
  ASSERT_EQ(chown(Backing("d").c_str(), kOwner, kGroup), 0);
  ASSERT_EQ(chmod(Backing("d").c_str(), 0750), 0);
  Mount("allow_other");
  Child changing([&] {
    const auto become = [](const std::vector<gid_t>& groups) {
      return seteuid(0) == 0 && setgroups(groups.size(), groups.data()) == 0 &&
             seteuid(kMember) == 0;
    };
    struct stat found{};
    const auto status = [&] { return ErrorOf(stat(At("d/f").c_str(), &found)); };
    if (setegid(kOwnGroup) != 0 || !become({kGroup})) return 1;
    if (OpenError(At("d/f"), O_RDONLY) != 0 || status() != 0) return 2;
    if (!become({})) return 3;
    if (OpenError(At("d/f"), O_RDONLY) != EACCES || status() != EACCES) return 4;
    if (!become({kOwnGroup, kGroup})) return 5;
    return Eventually([&] { return OpenError(At("d/f"), O_RDONLY) == 0; }) ? 0 : 6;
  });
  EXPECT_EQ(changing.Wait(), 0);
}

TEST_P(MountUsersTest, SetUserIdBitsAndDevicesCountOnDemand) {
  ASSERT_EQ(RunProgram({"cp", "/usr/bin/id", Backing("id")}).exit_code, 0);
  ASSERT_EQ(chmod(Backing("id").c_str(), 04755), 0);
  ASSERT_EQ(mknod(Backing("null").c_str(), S_IFCHR | 0666, makedev(1, 3)), 0);
  ASSERT_EQ(chmod(Backing("null").c_str(), 0666), 0);
  const auto effective_user = [&] {
    return RunProgram({"setpriv", fmt::format("--reuid={}", kOther),
                       fmt::format("--regid={}", kOwnGroup), "--clear-groups", At("id"), "-u"})
        .out;
  };
  const auto open_device = [&] {
    return As(kOther, kOwnGroup, {}, [&] { return OpenError(At("null"), O_RDONLY); });
  };
  for (const char* options : {"allow_other", "allow_other,suid,nosuid,dev,nodev"}) {
    Mount(options);
    EXPECT_EQ(effective_user(), fmt::format("{}\n", kOther)) << options;
    EXPECT_EQ(open_device(), EACCES) << options;
    EXPECT_EQ(Unmount(), 0) << Messages();
  }
  Mount("allow_other,suid,dev");
  EXPECT_EQ(effective_user(), "0\n");
  EXPECT_EQ(open_device(), 0);
}

// A process that leaves no core has its files in /proc owned by root (proc(5)).
TEST_P(MountUsersTest, TheDataOfOthersGoesIntoNoCore) {
  for (const auto& [options, group] : {std::pair{"", kOwnGroup}, {"allow_other", gid_t{0}}}) {
    ASSERT_EQ(setresgid(kOwnGroup, kOwnGroup, 0), 0);
    Mount(options);
    ASSERT_EQ(setresgid(0, 0, 0), 0);
    EXPECT_EQ(StatOf(fmt::format("/proc/{}/status", mount_pid())).st_gid, group) << options;
    EXPECT_EQ(Unmount(), 0) << Messages();
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, MountUsersTest, fixtures::AllVersions(),
                         fixtures::VersionTestName);

}  // namespace
}  // namespace nfswalk
