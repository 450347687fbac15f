// `nfswalk mount`: names that another client changes while they are cached here. What the server
// answers by such a name is true at once (NAME-34).
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/mount_pair.h"

namespace nfswalk {
namespace {

class MountNamesTest : public MountPair {
 protected:
  void SetUp() override {
    MountPair::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    MountBoth("actimeo=600");
  }

  static int Replace(const std::string& path, const std::string& text) {
    const std::string temporary = path + ".new";
    const int error = WriteText(temporary, text);
    return error != 0 ? error : ErrorOf(rename(temporary.c_str(), path.c_str()));
  }
  static int StatError(const std::string& path) {
    struct stat found{};
    return ErrorOf(lstat(path.c_str(), &found));
  }
  // The kind of file, as lstat(2) has it, or minus its errno.
  static int TypeOf(const std::string& path) {
    struct stat found{};
    const int error = ErrorOf(lstat(path.c_str(), &found));
    return error != 0 ? -error : static_cast<int>(found.st_mode & S_IFMT);
  }
};

struct Opening {
  const char* what;
  int flags;
};
constexpr Opening kOpenings[] = {{"read", O_RDONLY},
                                 {"append", O_WRONLY | O_APPEND},
                                 {"truncate", O_WRONLY | O_TRUNC},
                                 {"create", O_RDWR | O_CREAT}};

TEST_P(MountNamesTest, AReplacedFileIsOpenedAtOnce) {
  for (const auto& [what, flags] : kOpenings) {
    ASSERT_EQ(WriteText(At(what), "old"), 0);
    EXPECT_EQ(TextOf(At(what)), "old");
    ASSERT_EQ(Replace(Other(what), "newer"), 0);
    EXPECT_EQ(OpenError(At(what), flags), 0) << what;
    EXPECT_EQ(TextOf(At(what)), (flags & O_TRUNC) != 0 ? "" : "newer") << what;
  }
}

TEST_P(MountNamesTest, AFileThatIsGoneIsMissingAtOnce) {
  for (const auto& [what, flags] : kOpenings) {
    for (const bool is_removed : {false, true}) {
      // Version 3 opens by handle: a file that was moved is still there.
      if (GetParam() == 3 && !is_removed) continue;
      const std::string name = fmt::format("{} {}", what, is_removed), other = Other(name);
      SCOPED_TRACE(name);
      ASSERT_EQ(WriteText(At(name), "old"), 0);
      EXPECT_EQ(TextOf(At(name)), "old");
      ASSERT_EQ(ErrorOf(is_removed ? unlink(other.c_str())
                                   : rename(other.c_str(), (other + ".moved").c_str())),
                0);
      const bool makes = (flags & O_CREAT) != 0;
      EXPECT_EQ(OpenError(At(name), flags), makes ? 0 : ENOENT);
      EXPECT_EQ(StatError(At(name)), makes ? 0 : ENOENT);
      EXPECT_EQ(StatError(Backing(name)), makes ? 0 : ENOENT);
    }
  }
}

// `look` again and again, while a file that begins with "text" is replaced: its errors.
void ExpectNeverStale(const std::function<std::string()>& look,
                      const std::function<int(int)>& replace, int turns) {
  std::atomic<bool> done{false};
  std::jthread writer([&] {
    for (int i = 0; i < turns; ++i) EXPECT_EQ(replace(i), 0);
    done = true;
  });
  int opens = 0, wrong = 0;
  std::string last;
  while (!done) {
    const std::string text = look();
    ++opens;
    if (text.starts_with("text")) continue;
    ++wrong;
    last = text;
  }
  EXPECT_EQ(wrong, 0) << "of " << opens << ", " << last;
  EXPECT_GT(opens, 0);
}

TEST_P(MountNamesTest, AFileThatAnotherClientReplacesIsNeverStale) {
  ASSERT_EQ(Replace(At("f"), "text"), 0);
  const auto replace = [&](int i) { return Replace(Other("f"), fmt::format("text {}", i)); };
  // Version 3 reads by handle what the server has removed meanwhile.
  const auto open_only = [&] { return OpenError(At("f"), O_RDONLY) == 0 ? "text" : "error"; };
  const auto read = [&] { return TextOf(At("f")); };
  if (GetParam() == 3) {
    ExpectNeverStale(open_only, replace, 300);
  } else {
    ExpectNeverStale(read, replace, 300);
  }
}

TEST_P(MountNamesTest, AFileThatTheSameMountReplacesIsNeverStale) {
  ASSERT_EQ(Replace(At("f"), "text"), 0);
  const auto replace = [&](int i) { return Replace(At("f"), fmt::format("text {}", i)); };
  ExpectNeverStale([&] { return TextOf(At("f")); }, replace, 1000);
}

// Object that another client makes under a name that is known to be absent, or to be a file.
struct Made {
  const char* what;
  std::function<int(const std::string& path)> make;
  int type;
};
const std::vector<Made>& AllMade() {
  static const std::vector<Made> all{
      {"directory", [](const std::string& path) { return ErrorOf(mkdir(path.c_str(), 0755)); },
       S_IFDIR},
      {"link", [](const std::string& path) { return ErrorOf(symlink("target", path.c_str())); },
       S_IFLNK},
      {"file", [](const std::string& path) { return WriteText(path, "text"); }, S_IFREG},
  };
  return all;
}

struct Call {
  const char* what;
  std::function<long(const std::string& path)> run;
  // The errno for a directory, a link and a file: 0 if it is none.
  int errors[3];
};

TEST_P(MountNamesTest, NewObjectOfAnotherClientIsSeenByEveryCall) {
  const std::string file = At("file");
  ASSERT_EQ(WriteText(file, "text"), 0);
  ASSERT_EQ(WriteText(At("target"), "target"), 0);
  const Call calls[] = {
      {"open", [](const auto& path) { return -OpenError(path, O_RDWR | O_CREAT); }, {EISDIR, 0, 0}},
      {"open to write",
       [](const auto& path) { return -OpenError(path, O_WRONLY | O_CREAT); },
       {EISDIR, 0, 0}},
      {"open exclusively",
       [](const auto& path) { return -OpenError(path, O_RDWR | O_CREAT | O_EXCL); },
       {EEXIST, EEXIST, EEXIST}},
      {"mkdir", [](const auto& path) { return mkdir(path.c_str(), 0755); },
       {EEXIST, EEXIST, EEXIST}},
      {"symlink", [](const auto& path) { return symlink("x", path.c_str()); },
       {EEXIST, EEXIST, EEXIST}},
      {"mkfifo", [](const auto& path) { return mkfifo(path.c_str(), 0644); },
       {EEXIST, EEXIST, EEXIST}},
      {"link", [&](const auto& path) { return link(file.c_str(), path.c_str()); },
       {EEXIST, EEXIST, EEXIST}},
  };
  int turn = 0;
  for (const Call& call : calls) {
    for (size_t i = 0; i < AllMade().size(); ++i) {
      const Made& made = AllMade()[i];
      SCOPED_TRACE(fmt::format("{} of a {}", call.what, made.what));
      const std::string name = fmt::format("n{}", ++turn);
      EXPECT_EQ(StatError(At(name)), ENOENT);
      ASSERT_EQ(made.make(Backing(name)), 0);
      errno = 0;
      const long result = call.run(At(name));
      EXPECT_EQ(result < -1 ? -result : ErrorOf(result), call.errors[i]);
      EXPECT_EQ(TypeOf(At(name)), made.type);
    }
  }
  EXPECT_EQ(TextOf(At("target")), "target");
}

// Its target is a path of this machine.
TEST_P(MountNamesTest, ALinkThatAnotherClientMadeOfAnAbsentNameLeadsOut) {
  const std::string target = testing::TempDir() + "led_out";
  std::filesystem::create_directories(Other(target.substr(1)));  // the same path in the export
  std::filesystem::remove(Other(target.substr(1)));
  EXPECT_EQ(StatError(At("out")), ENOENT);
  ASSERT_EQ(ErrorOf(symlink(target.c_str(), Other("out").c_str())), 0);
  EXPECT_EQ(OpenError(At("out"), O_RDWR | O_CREAT), 0);
  EXPECT_EQ(StatError(target), 0);
  EXPECT_EQ(ErrorOf(unlink(target.c_str())), 0);
}

// The kernel has to know the link for one, not the file that it leads to.
TEST_P(MountNamesTest, ALinkThatAnotherClientMadeOfAnAbsentNameStaysOne) {
  EXPECT_EQ(StatError(At("in")), ENOENT);
  ASSERT_EQ(ErrorOf(symlink("target", Other("in").c_str())), 0);
  EXPECT_EQ(OpenError(At("in"), O_RDWR | O_CREAT), 0);
  struct stat link{}, target{};
  EXPECT_EQ(ErrorOf(lstat(At("in").c_str(), &link)), 0);
  EXPECT_EQ(ErrorOf(lstat(At("target").c_str(), &target)), 0);
  EXPECT_TRUE(S_ISLNK(link.st_mode));
  EXPECT_TRUE(S_ISREG(target.st_mode));
}

// The name was a file, a directory or a link; now it is something else.
TEST_P(MountNamesTest, AnotherKindOfFileIsSeenAtOnceByRemovalsAndRenames) {
  struct Change {
    const char* what;
    int was, is;
    std::function<int(const std::string& path)> run;
    int error;
  };
  const std::string file = At("file"), directory = At("directory");
  ASSERT_EQ(WriteText(file, "text"), 0);
  ASSERT_EQ(mkdir(directory.c_str(), 0755), 0);
  const auto remove = [](const std::string& path) { return ErrorOf(unlink(path.c_str())); };
  const auto remove_directory = [](const std::string& path) { return ErrorOf(rmdir(path.c_str())); };
  const auto put_file = [&](const std::string& path) {
    return ErrorOf(rename(file.c_str(), path.c_str()));
  };
  const auto put_directory = [&](const std::string& path) {
    return ErrorOf(rename(directory.c_str(), path.c_str()));
  };
  const Change changes[] = {
      {"unlink", 2, 0, remove, EISDIR},
      {"rmdir", 0, 2, remove_directory, ENOTDIR},
      {"rmdir of a link", 0, 1, remove_directory, ENOTDIR},
      {"rename of a file", 2, 0, put_file, EISDIR},
      {"rename of a directory", 0, 2, put_directory, ENOTDIR},
  };
  int turn = 0;
  for (const Change& change : changes) {
    for (const bool is_full : {false, true}) {
      const Made &was = AllMade()[static_cast<size_t>(change.was)],
                 &is = AllMade()[static_cast<size_t>(change.is)];
      if (is_full && is.type != S_IFDIR) continue;
      SCOPED_TRACE(fmt::format("{}{}", change.what, is_full ? " that is full" : ""));
      const std::string name = fmt::format("k{}", ++turn);
      ASSERT_EQ(was.make(Backing(name)), 0);
      EXPECT_EQ(TypeOf(At(name)), was.type);
      ASSERT_EQ(::remove(Backing(name).c_str()), 0);
      ASSERT_EQ(is.make(Backing(name)), 0);
      if (is_full) File(name + "/in");
      EXPECT_EQ(change.run(At(name)), change.error);
      EXPECT_EQ(TypeOf(At(name)), is.type);
    }
  }
  // The error is the same whatever the kernel knows of the name, which is looked up all the same.
  EXPECT_EQ(StatError(At("full")), ENOENT);
  Directory("full");
  File("full/in");
  EXPECT_EQ(put_directory(At("full")), ENOTEMPTY);
  EXPECT_EQ(TypeOf(At("full")), S_IFDIR);
}

// The kernel drops such a name by itself from Linux 6.2 on.
TEST_P(MountNamesTest, ANameThatARemovalDoesNotFindIsMissingAtOnce) {
  struct Removal {
    const char* what;
    size_t was;
    std::function<long(const std::string& path)> run;
  };
  const Removal removals[] = {
      {"unlink", 2, [](const auto& path) { return unlink(path.c_str()); }},
      {"rmdir", 0, [](const auto& path) { return rmdir(path.c_str()); }},
      {"rename", 2,
       [](const auto& path) { return rename(path.c_str(), (path + ".moved").c_str()); }},
  };
  for (const auto& [what, was, run] : removals) {
    for (int i = 0; i < 10; ++i) {
      const std::string name = fmt::format("{}{}", what, i);
      SCOPED_TRACE(name);
      ASSERT_EQ(AllMade()[was].make(Backing(name)), 0);
      EXPECT_EQ(TypeOf(At(name)), AllMade()[was].type);
      ASSERT_EQ(::remove(Backing(name).c_str()), 0);
      EXPECT_EQ(ErrorOf(run(At(name))), ENOENT);
      EXPECT_EQ(TypeOf(At(name)), -ENOENT);
    }
  }
}

// NAME-19: the file that was moved is the one that another client had put there.
TEST_P(MountNamesTest, ARenamedNameLeadsToTheFileThatAnotherClientPutThere) {
  for (int i = 0; i < 5; ++i) {
    const std::string from = fmt::format("a{}", i), to = fmt::format("b{}", i);
    ASSERT_EQ(WriteText(At(from), "one"), 0);
    EXPECT_EQ(TextOf(At(from)), "one");
    ASSERT_EQ(WriteText(Backing("n"), "number two"), 0);
    Shell(fmt::format("mv {0} old{0}; mv n {0}", from));
    ASSERT_EQ(ErrorOf(rename(At(from).c_str(), At(to).c_str())), 0);
    EXPECT_EQ(StatOf(At(to)).st_size, 10);
    EXPECT_EQ(StatOf(At(to)).st_ino, StatOf(Backing(to)).st_ino);
    EXPECT_EQ(TextOf(At(to)), "number two");
    EXPECT_EQ(StatError(At(from)), ENOENT);
  }
}

TEST_P(MountNamesTest, OpenToReadTruncatesAFileThatMayBeWritten) {
  ASSERT_EQ(WriteText(At("f"), "text"), 0);
  EXPECT_EQ(OpenError(At("f"), O_RDONLY | O_TRUNC), 0);
  EXPECT_EQ(StatOf(At("f")).st_size, 0);
  ASSERT_EQ(WriteText(At("f"), "text"), 0);
  EXPECT_EQ(OpenError(At("f"), O_RDONLY | O_TRUNC | O_CREAT), 0);
  EXPECT_EQ(StatOf(Backing("f")).st_size, 0);
}

// execve(2) of a file that another client has replaced: the LOOKUP after its first OPEN finds one
// that the kernel opens without a caller, so that no second OPEN comes. The next open(2) is one of
// its own.
TEST_P(MountNamesTest, AnOpenThatTheKernelEndsLeavesNothingToTheNext) {
  for (int i = 0; i < 3; ++i) {
    const std::string name = fmt::format("program{}", i);
    const std::string path = At(name);
    ASSERT_EQ(WriteText(path, "old"), 0);
    ASSERT_EQ(ErrorOf(chmod(path.c_str(), 0755)), 0);
    EXPECT_EQ(TextOf(path), "old");
    ASSERT_EQ(Replace(Other(name), "newer"), 0);
    char* const arguments[] = {nullptr};
    EXPECT_EQ(ErrorOf(execve(path.c_str(), arguments, arguments)), EACCES);
    ASSERT_EQ(WriteText(Other(name), "newest of all"), 0);
    EXPECT_EQ(TextOf(path), "newest of all");
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, MountNamesTest, fixtures::AllVersions(),
                         fixtures::VersionTestName);

}  // namespace
}  // namespace nfswalk
