// `nfswalk mount`: names and attributes, as system calls on it see them.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/integration/mount_run.h"

namespace nfswalk {
namespace {

class MountTest : public MountRun {
 protected:
  void SetUp() override {
    MountRun::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    Mount();
  }

  std::string Long(size_t bytes) const { return At(std::string(bytes, 'n')); }

  struct Step {
    const char* what;
    std::function<long()> call;
    int error;
  };
  // Makes the calls in order, and expects the errno of each.
  static void Expect(const std::vector<Step>& steps) {
    for (const Step& step : steps) EXPECT_EQ(ErrorOf(step.call()), step.error) << step.what;
  }
};

// Reading large files at the speed of the network takes more readahead than the kernel's 128 KiB.
TEST_P(MountTest, TheKernelReadsAMebibyteAheadWhereItMayBeTold) {
  const dev_t device = StatOf(mount_point()).st_dev;
  const std::string file =
      fmt::format("/sys/class/bdi/{}:{}/read_ahead_kb", major(device), minor(device));
  if (access(file.c_str(), W_OK) != 0) GTEST_SKIP() << "no right to write " << file;
  EXPECT_EQ(TextOf(file), "1024\n");
}

TEST_P(MountTest, OpensAsItsFlagsSay) {
  Directory("d");
  File("f", "text");
  Link("link", "f");
  Link("away", "none");
  const struct {
    const char* name;
    int flags;
    int error;
  } opens[] = {
      {"none", O_RDONLY, ENOENT},
      {"f", O_RDONLY, 0},
      {"f/below", O_RDONLY, ENOTDIR},
      {"f", O_RDWR | O_CREAT | O_EXCL, EEXIST},
      {"d", O_RDWR | O_CREAT | O_EXCL, EEXIST},
      {"away", O_RDWR | O_CREAT | O_EXCL, EEXIST},
      {"f", O_RDWR | O_CREAT, 0},
      {"new", O_RDWR | O_CREAT | O_EXCL, 0},
      {"new", O_RDWR | O_CREAT | O_EXCL, EEXIST},
      {"away", O_WRONLY | O_CREAT, 0},
      {"none", O_RDONLY, 0},
      {"f", O_RDONLY | O_DIRECTORY, ENOTDIR},
      {"d", O_RDONLY | O_DIRECTORY, 0},
      {"d", O_WRONLY, EISDIR},
      {"d", O_RDWR | O_TRUNC, EISDIR},
      {"link", O_RDONLY, 0},
      {"link", O_RDONLY | O_NOFOLLOW, ELOOP},
      {"link", O_PATH | O_NOFOLLOW, 0},
      {"f", O_RDONLY | O_NOFOLLOW, 0},
      {"f", O_WRONLY | O_APPEND, 0},
  };
  for (const auto& [name, flags, error] : opens) {
    EXPECT_EQ(OpenError(At(name), flags), error) << name << " " << std::oct << flags;
  }
  EXPECT_EQ(TextOf(At("f")), "text");
  EXPECT_EQ(OpenError(At("f"), O_WRONLY | O_TRUNC), 0);
  EXPECT_EQ(TextOf(Backing("f")), "");
  EXPECT_EQ(StatOf(At("f")).st_size, 0);
}

TEST_P(MountTest, MakesAndRemovesNames) {
  Expect({
      {"mkdir", [&] { return mkdir(At("d").c_str(), 0750); }, 0},
      {"mkdir again", [&] { return mkdir(At("d").c_str(), 0750); }, EEXIST},
      {"mkdir below none", [&] { return mkdir(At("none/d").c_str(), 0750); }, ENOENT},
      {"create", [&] { return mknod(At("d/f").c_str(), S_IFREG | 0640, 0); }, 0},
      {"mkdir over a file", [&] { return mkdir(At("d/f").c_str(), 0750); }, EEXIST},
      {"mkdir below a file", [&] { return mkdir(At("d/f/g").c_str(), 0750); }, ENOTDIR},
      {"rmdir of a file", [&] { return rmdir(At("d/f").c_str()); }, ENOTDIR},
      {"rmdir of what is not empty", [&] { return rmdir(At("d").c_str()); }, ENOTEMPTY},
      {"rmdir of .", [&] { return rmdir(At("d/.").c_str()); }, EINVAL},
      {"rmdir of none", [&] { return rmdir(At("none").c_str()); }, ENOENT},
      {"rmdir of the mount point", [&] { return rmdir(mount_point().c_str()); }, EBUSY},
      {"unlink of a directory", [&] { return unlink(At("d").c_str()); }, EISDIR},
      {"unlink of none", [&] { return unlink(At("none").c_str()); }, ENOENT},
      {"unlink", [&] { return unlink(At("d/f").c_str()); }, 0},
      {"unlink again", [&] { return unlink(At("d/f").c_str()); }, ENOENT},
      {"rmdir", [&] { return rmdir(At("d").c_str()); }, 0},
      {"rmdir again", [&] { return rmdir(At("d").c_str()); }, ENOENT},
  });
  EXPECT_TRUE(std::filesystem::is_empty(Backing("")));
}

TEST_P(MountTest, MakesFilesOfAllTypes) {
  umask(027);
  Expect({
      {"fifo", [&] { return mknod(At("fifo").c_str(), S_IFIFO | 0666, 0); }, 0},
      {"socket", [&] { return mknod(At("socket").c_str(), S_IFSOCK | 0666, 0); }, 0},
      {"device", [&] { return mknod(At("device").c_str(), S_IFCHR | 0600, makedev(1, 3)); }, 0},
      {"fifo again", [&] { return mknod(At("fifo").c_str(), S_IFIFO | 0666, 0); }, EEXIST},
  });
  umask(022);
  EXPECT_EQ(StatOf(At("fifo")).st_mode, S_IFIFO | 0640U);
  EXPECT_EQ(StatOf(At("socket")).st_mode, S_IFSOCK | 0640U);
  EXPECT_EQ(StatOf(At("device")).st_mode, S_IFCHR | 0600U);
  EXPECT_EQ(StatOf(At("device")).st_rdev, makedev(1, 3));
  EXPECT_EQ(StatOf(Backing("device")).st_rdev, makedev(1, 3));
  EXPECT_EQ(StatOf(Backing("fifo")).st_mode, S_IFIFO | 0640U);
  // Two processes meet in the fifo, without the server.
  Child writer([&] { return WriteText(At("fifo"), "through the fifo"); });
  EXPECT_EQ(TextOf(At("fifo")), "through the fifo");
  EXPECT_EQ(writer.Wait(), 0);
}

TEST_P(MountTest, LinksShareAnInode) {
  File("f", "1");
  Directory("d");
  Expect({
      {"link", [&] { return link(At("f").c_str(), At("d/g").c_str()); }, 0},
      {"link over a name", [&] { return link(At("f").c_str(), At("d/g").c_str()); }, EEXIST},
      {"link of a directory", [&] { return link(At("d").c_str(), At("e").c_str()); }, EPERM},
      {"link of none", [&] { return link(At("none").c_str(), At("e").c_str()); }, ENOENT},
  });
  EXPECT_EQ(StatOf(At("f")).st_ino, StatOf(At("d/g")).st_ino);
  EXPECT_EQ(StatOf(At("f")).st_ino, StatOf(Backing("f")).st_ino);
  EXPECT_EQ(StatOf(At("f")).st_nlink, 2U);
  EXPECT_EQ(StatOf(At("d/g")).st_nlink, 2U);
  // One node: what is written by one name is read by the other.
  EXPECT_EQ(WriteText(At("f"), "longer text"), 0);
  EXPECT_EQ(StatOf(At("d/g")).st_size, 11);
  EXPECT_EQ(TextOf(At("d/g")), "longer text");
  EXPECT_EQ(unlink(At("f").c_str()), 0);
  EXPECT_EQ(StatOf(At("d/g")).st_nlink, 1U);
}

TEST_P(MountTest, SymlinksLeadWhereTheySay) {
  File("f", "text");
  const std::string longest(PATH_MAX - 1, 't');
  Expect({
      {"symlink", [&] { return symlink("f", At("link").c_str()); }, 0},
      {"symlink again", [&] { return symlink("f", At("link").c_str()); }, EEXIST},
      {"symlink to itself", [&] { return symlink("loop", At("loop").c_str()); }, 0},
      {"the longest", [&] { return symlink(longest.c_str(), At("longest").c_str()); }, 0},
  });
  char target[PATH_MAX];
  EXPECT_EQ(readlink(At("link").c_str(), target, sizeof(target)), 1);
  EXPECT_EQ(target[0], 'f');
  EXPECT_EQ(readlink(At("longest").c_str(), target, sizeof(target)), PATH_MAX - 1);
  EXPECT_EQ(StatOf(At("link")).st_size, 1);
  EXPECT_EQ(ErrorOf(readlink(At("f").c_str(), target, sizeof(target))), EINVAL);
  EXPECT_EQ(TextOf(At("link")), "text");
  EXPECT_EQ(OpenError(At("loop"), O_RDONLY), ELOOP);
}

TEST_P(MountTest, RenamesOverWhatIsThere) {
  for (const char* name : {"d", "d/full", "empty", "e"}) Directory(name);
  for (const char* name : {"f", "g", "d/full/file"}) File(name, name);
  const auto rename_to = [&](const char* from, const char* to) {
    return [this, from, to] { return rename(At(from).c_str(), At(to).c_str()); };
  };
  const int held = open(At("g").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(held, 0);
  Expect({
      {"of none", rename_to("none", "x"), ENOENT},
      {"a file over a directory", rename_to("f", "empty"), EISDIR},
      {"a directory over a file", rename_to("empty", "f"), ENOTDIR},
      {"a directory over a full one", rename_to("empty", "d/full"), ENOTEMPTY},
      {"a directory into itself", rename_to("d", "d/full/d"), EINVAL},
      {"over itself", rename_to("f", "f"), 0},
      {"a directory over an empty one", rename_to("d/full", "empty"), 0},
      {"a file over an open one", rename_to("f", "g"), 0},
      {"to another directory", rename_to("e", "d/e"), 0},
  });
  EXPECT_EQ(TextOf(At("empty/file")), "d/full/file");
  EXPECT_EQ(TextOf(At("g")), "f");
  EXPECT_EQ(OpenError(At("f"), O_RDONLY), ENOENT);
  // The open one is still what it was.
  char text[8] = {};
  EXPECT_EQ(pread(held, text, sizeof(text), 0), 1);
  EXPECT_STREQ(text, "g");
  close(held);
  EXPECT_EQ(StatOf(At("d/e")).st_mode & S_IFMT, S_IFDIR);
}

TEST_P(MountTest, RenameFlagsThatNfsHasNotAreRefused) {
  File("f");
  File("g");
  for (const unsigned flags : {RENAME_EXCHANGE, RENAME_WHITEOUT}) {
    EXPECT_EQ(ErrorOf(syscall(SYS_renameat2, AT_FDCWD, At("f").c_str(), AT_FDCWD, At("g").c_str(),
                              flags)),
              EINVAL)
        << flags;
  }
}

TEST_P(MountTest, NamesHaveAtMost255Bytes) {
  EXPECT_EQ(WriteText(Long(255), "long"), 0);
  EXPECT_EQ(TextOf(Backing(std::string(255, 'n'))), "long");
  Expect({
      {"open", [&] { return open(Long(256).c_str(), O_RDONLY); }, ENAMETOOLONG},
      {"create", [&] { return mknod(Long(256).c_str(), S_IFREG | 0644, 0); }, ENAMETOOLONG},
      {"mkdir", [&] { return mkdir(Long(256).c_str(), 0755); }, ENAMETOOLONG},
      {"rename", [&] { return rename(Long(255).c_str(), Long(256).c_str()); }, ENAMETOOLONG},
      {"unlink", [&] { return unlink(Long(256).c_str()); }, ENAMETOOLONG},
      {"unlink of 255", [&] { return unlink(Long(255).c_str()); }, 0},
  });
  EXPECT_EQ(OpenError(At(std::string(PATH_MAX, '/')), O_RDONLY), ENAMETOOLONG);
  // Bytes are bytes.
  EXPECT_EQ(WriteText(At("\xff\n\\"), "x"), 0);
  EXPECT_EQ(TextOf(Backing("\xff\n\\")), "x");
}

TEST_P(MountTest, SetsAttributes) {
  File("f", "text");
  const std::string path = At("f");
  EXPECT_EQ(chmod(path.c_str(), 06751), 0);
  EXPECT_EQ(StatOf(path).st_mode, S_IFREG | 06751U);
  EXPECT_EQ(StatOf(Backing("f")).st_mode, S_IFREG | 06751U);
  EXPECT_EQ(chown(path.c_str(), 1234, 4321), 0);
  EXPECT_EQ(StatOf(path).st_uid, 1234U);
  EXPECT_EQ(StatOf(Backing("f")).st_gid, 4321U);
  EXPECT_EQ(chown(path.c_str(), static_cast<uid_t>(-1), 99), 0);
  EXPECT_EQ(StatOf(path).st_uid, 1234U);
  EXPECT_EQ(StatOf(path).st_gid, 99U);
}

TEST_P(MountTest, SetsTimesNowAndNot) {
  File("f", "text");
  const std::string path = At("f");
  const timespec given[] = {{1000, 123'456'789}, {2000, 987'654'321}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), given, 0), 0);
  EXPECT_EQ(StatOf(path).st_atim.tv_sec, 1000);
  EXPECT_EQ(StatOf(path).st_mtim.tv_sec, 2000);
  EXPECT_EQ(StatOf(Backing("f")).st_mtim.tv_nsec, 987'654'321);
  const timespec omit_atime[] = {{0, UTIME_OMIT}, {3000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), omit_atime, 0), 0);
  EXPECT_EQ(StatOf(path).st_atim.tv_sec, 1000);
  EXPECT_EQ(StatOf(path).st_atim.tv_nsec, 123'456'789);
  EXPECT_EQ(StatOf(path).st_mtim.tv_sec, 3000);
  const timespec omit_both[] = {{0, UTIME_OMIT}, {0, UTIME_OMIT}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), omit_both, 0), 0);
  EXPECT_EQ(StatOf(path).st_mtim.tv_sec, 3000);
  const time_t before = time(nullptr);
  const timespec now_atime[] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), now_atime, 0), 0);
  EXPECT_GE(StatOf(path).st_atim.tv_sec, before - 1);
  EXPECT_EQ(StatOf(path).st_mtim.tv_sec, 3000);
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), nullptr, 0), 0);
  EXPECT_GE(StatOf(Backing("f")).st_mtim.tv_sec, before - 1);
}

TEST_P(MountTest, TellsTheSpaceOfTheServer) {
  struct statvfs here{}, there{};
  ASSERT_EQ(statvfs(mount_point().c_str(), &here), 0);
  ASSERT_EQ(statvfs(Backing("").c_str(), &there), 0);
  EXPECT_EQ(here.f_blocks * here.f_frsize, there.f_blocks * there.f_frsize);
  EXPECT_EQ(here.f_files, there.f_files);
  EXPECT_EQ(here.f_namemax, 255U);
}

std::vector<std::string> NamesOf(DIR* open) {
  std::vector<std::string> names;
  while (const dirent* entry = readdir(open)) names.emplace_back(entry->d_name);
  return names;
}

TEST_P(MountTest, ListsManyEntriesFromAnyPosition) {
  constexpr size_t kEntries = 10'000;
  Shell("mkdir d && cd d && seq -f 'entry%05.0f' 10000 | xargs touch && mkdir sub && ln -s sub l");
  DIR* const open = opendir(At("d").c_str());
  ASSERT_NE(open, nullptr);
  std::vector<std::string> names;
  std::vector<long> positions;  // behind names[i]
  std::set<unsigned char> types;
  while (const dirent* entry = readdir(open)) {
    names.emplace_back(entry->d_name);
    positions.push_back(telldir(open));
    types.insert(entry->d_type);
  }
  EXPECT_EQ(names.size(), kEntries + 4);
  EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size());
  EXPECT_EQ(types, (std::set<unsigned char>{DT_DIR, DT_REG, DT_LNK}));
  for (const size_t at : {size_t{0}, size_t{1}, size_t{2}, size_t{4321}, names.size() - 2}) {
    seekdir(open, positions[at]);
    const dirent* const entry = readdir(open);
    ASSERT_NE(entry, nullptr) << at;
    EXPECT_EQ(entry->d_name, names[at + 1]);
  }
  seekdir(open, positions.back());
  EXPECT_EQ(readdir(open), nullptr);
  rewinddir(open);
  EXPECT_EQ(NamesOf(open), names);
  closedir(open);
  // Positions are the server's, and good for another mount whose kernel has cached nothing.
  ASSERT_EQ(Unmount(), 0);
  Mount();
  for (const size_t at : {size_t{0}, size_t{1}, size_t{4321}}) {
    DIR* const anew = opendir(At("d").c_str());
    ASSERT_NE(anew, nullptr);
    seekdir(anew, positions[at]);
    const auto behind = static_cast<std::ptrdiff_t>(at + 1);
    EXPECT_EQ(NamesOf(anew), std::vector(names.begin() + behind, names.end())) << at;
    closedir(anew);
  }
}

TEST_P(MountTest, ListingSurvivesChanges) {
  Shell("mkdir d && cd d && seq -f 'old%04.0f' 3000 | xargs touch");
  DIR* const open = opendir(At("d").c_str());
  ASSERT_NE(open, nullptr);
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) names.emplace_back(readdir(open)->d_name);
  // Half of what is left goes, and something comes.
  for (int i = 2; i <= 3000; i += 2) {
    EXPECT_EQ(
        unlink(At("d/old" + std::string(4 - std::to_string(i).size(), '0') + std::to_string(i))
                   .c_str()),
        0);
  }
  EXPECT_EQ(WriteText(At("d/new"), "x"), 0);
  for (std::string& name : NamesOf(open)) names.push_back(std::move(name));
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end()) << "listed twice";
  for (int i = 1; i <= 3000 && server_->properties().stable_cookies; i += 2) {
    const std::string name =
        "old" + std::string(4 - std::to_string(i).size(), '0') + std::to_string(i);
    EXPECT_TRUE(std::ranges::binary_search(names, name)) << name;
  }
  rewinddir(open);
  EXPECT_EQ(NamesOf(open).size(), 1500U + 3);
  closedir(open);
}

// Version 4.0 opens by name: by the one that is left, first.
TEST_P(MountTest, OpensByTheLatestName) {
  for (const char* name : {"f", "g"}) {
    ASSERT_EQ(WriteText(At("temporary"), "text"), 0);
    ASSERT_EQ(link(At("temporary").c_str(), At(name).c_str()), 0);
    ASSERT_EQ(unlink(At("temporary").c_str()), 0);
  }
  const char* const procedure = GetParam() == 4 ? "OPEN" : "LOOKUP";
  const uint64_t before = Counted("rpc_replies_total", procedure);
  EXPECT_EQ(TextOf(At("f")), "text");
  EXPECT_EQ(TextOf(At("g")), "text");
  EXPECT_LE(Counted("rpc_replies_total", procedure), before + 2);
}

// OpenMetrics refuses a sample that comes twice, and with it the whole scrape.
TEST_P(MountTest, StatsOfADirectoryThatIsNamedTwiceComeOnce) {
  const std::string& directory = mount_point();
  const ProgramRun run = Run({"stats", "--openmetrics", directory, directory, directory + "/."});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  std::istringstream lines(run.out);
  std::set<std::string> samples;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    EXPECT_TRUE(samples.insert(line.substr(0, line.find("} "))).second) << line;
  }
  EXPECT_GT(samples.size(), 100u);
  EXPECT_EQ(Objects(Run({"stats", "--json", directory, directory})).size(), 1u);
}

TEST_P(MountTest, CountsRequestsOfTheKernel) {
  const auto counted = [&](const char* opcode) { return Counted("fuse_requests_total", opcode); };
  const uint64_t lookups = counted("LOOKUP");
  EXPECT_EQ(counted("SYMLINK"), 0U);
  for (const char* name : {"none", "nor this", "nor that"}) {
    EXPECT_EQ(OpenError(At(name), O_RDONLY), ENOENT);
  }
  EXPECT_GE(counted("LOOKUP"), lookups + 3);
  ASSERT_EQ(symlink("f", At("link").c_str()), 0);
  EXPECT_EQ(counted("SYMLINK"), 1U);
}

INSTANTIATE_TEST_SUITE_P(Versions, MountTest, fixtures::AllVersions(), fixtures::VersionTestName);

}  // namespace
}  // namespace nfswalk
