#include "bench/trace/trace.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace nfswalk::bench {
namespace {

Trace Parsed(std::string_view text) {
  auto trace = ParseTrace(text);
  EXPECT_TRUE(trace) << trace.error();
  return trace ? std::move(*trace) : Trace{};
}

// The one call in `line`, which is recorded in a process that is known to work in /w.
Call OneCall(std::string_view line) {
  const Trace trace = Parsed("5 getcwd(\"/w\", 4096) = 3\n5 " + std::string(line) + "\n");
  EXPECT_EQ(trace.calls.size(), 1U) << line;
  return trace.calls.empty() ? Call{} : trace.calls[0];
}

uint64_t LeftOutOf(std::string_view line, LeftOut reason) {
  Trace trace = Parsed("5 getcwd(\"/w\", 4096) = 3\n5 " + std::string(line) + "\n");
  EXPECT_TRUE(trace.calls.empty()) << line;
  return At(trace.left_out, reason);
}

TEST(TraceTest, EveryFormOfStatIsReadWithItsAttributes) {
  for (const char* line :
       {R"(stat("a", {st_mode=S_IFREG|0644, st_size=3, ...}) = 0)",
        R"(stat64("a", {st_mode=S_IFREG|0644, st_size=3, ...}) = 0)",
        R"(newfstatat(AT_FDCWD, "a", {st_mode=S_IFREG|0644, st_size=3, ...}, 0) = 0)",
        R"(newfstatat(AT_FDCWD</w>, "a", {st_mode=S_IFREG|0644, st_size=3, ...}, 0) = 0)",
        R"(newfstatat(7</w>, "a", {st_mode=S_IFREG|0644, st_size=3, ...}, 0) = 0)",
        R"(fstatat64(7</w>, "a", {st_mode=S_IFREG|0644, st_size=3, ...}, 0) = 0)",
        R"(newfstatat(7</w/a>, "", {st_mode=S_IFREG|0644, st_size=3, ...}, AT_EMPTY_PATH) = 0)",
        R"(statx(AT_FDCWD, "a", AT_STATX_SYNC_AS_STAT, STATX_ALL, )"
        R"({stx_mask=STATX_ALL, stx_mode=S_IFREG|0644, stx_size=3, ...}) = 0)"}) {
    const Call call = OneCall(line);
    EXPECT_EQ(call.kind, CallKind::kStat) << line;
    EXPECT_EQ(call.path, "/w/a") << line;
    EXPECT_FALSE(call.no_follow) << line;
    EXPECT_EQ(call.error, 0) << line;
    ASSERT_TRUE(call.attributes) << line;
    EXPECT_EQ(call.attributes->mode, uint32_t{S_IFREG | 0644}) << line;
    EXPECT_EQ(call.attributes->size_bytes, 3U) << line;
  }
}

TEST(TraceTest, StatsThatDoNotFollowALastLinkAreToldApart) {
  for (const char* line :
       {R"(lstat("/l", {st_mode=S_IFLNK|0777, st_size=1, ...}) = 0)",
        R"(newfstatat(AT_FDCWD, "/l", {st_mode=S_IFLNK|0777, st_size=1, ...}, )"
        R"(AT_SYMLINK_NOFOLLOW) = 0)",
        R"(statx(AT_FDCWD, "/l", AT_STATX_SYNC_AS_STAT|AT_SYMLINK_NOFOLLOW, STATX_ALL, )"
        R"({stx_mode=S_IFLNK|0777, stx_size=1, ...}) = 0)"}) {
    EXPECT_TRUE(OneCall(line).no_follow) << line;
  }
}

TEST(TraceTest, ErrorsThatTellOfThePathAreKept) {
  EXPECT_EQ(OneCall(R"(stat("a", 0x1) = -1 ENOENT (No such file or directory))").error, ENOENT);
  EXPECT_EQ(OneCall(R"(stat("a/b", 0x1) = -1 ENOTDIR (Not a directory))").error, ENOTDIR);
  EXPECT_EQ(OneCall(R"(access("a", X_OK) = -1 EACCES (Permission denied))").error, EACCES);
  EXPECT_EQ(OneCall(R"(stat("a", 0x1) = -1 ELOOP (Too many))").error, ELOOP);
  EXPECT_EQ(OneCall(R"(readlink("a", 0x1, 4096) = -1 EINVAL (Invalid argument))").error, EINVAL);
}

TEST(TraceTest, ErrorsThatTellNothingOfThePathAreLeftOut) {
  EXPECT_EQ(LeftOutOf(R"(stat(NULL, 0x1) = -1 EFAULT (Bad address))", LeftOut::kNotAboutPath), 1U);
  EXPECT_EQ(LeftOutOf(R"(stat("a", 0x1) = -1 EWHATEVER (?))", LeftOut::kNotAboutPath), 1U);
  EXPECT_EQ(LeftOutOf(R"(access("a", R_OK) = -1 EROFS (Read-only))", LeftOut::kNotAboutPath), 1U);
}

TEST(TraceTest, EveryFormOfAccessIsReadWithItsMode) {
  EXPECT_EQ(OneCall(R"(access("a", F_OK) = 0)").access_mode, F_OK);
  EXPECT_EQ(OneCall(R"(access("a", R_OK|W_OK|X_OK) = 0)").access_mode, R_OK | W_OK | X_OK);
  EXPECT_EQ(OneCall(R"(faccessat(AT_FDCWD, "a", X_OK) = 0)").access_mode, X_OK);
  const Call call = OneCall(R"(faccessat2(3</d>, "a", R_OK, AT_EACCESS|AT_SYMLINK_NOFOLLOW) = 0)");
  EXPECT_EQ(call.kind, CallKind::kAccess);
  EXPECT_EQ(call.path, "/d/a");
  EXPECT_TRUE(call.no_follow);
}

TEST(TraceTest, EveryFormOfReadLinkIsReadWithTheText) {
  for (const char* line :
       {R"(readlink("l", "../x", 4096) = 4)", R"(readlinkat(AT_FDCWD, "l", "../x", 4096) = 4)",
        R"(readlinkat(3</w>, "l", "../x", 4096) = 4)"}) {
    const Call call = OneCall(line);
    EXPECT_EQ(call.kind, CallKind::kReadLink) << line;
    EXPECT_EQ(call.path, "/w/l") << line;
    EXPECT_EQ(call.text, "../x") << line;
  }
}

TEST(TraceTest, ALinkTextThatIsNotCompleteIsLeftOut) {
  EXPECT_EQ(LeftOutOf(R"(readlink("l", "abc"..., 4096) = 40)", LeftOut::kTextCutShort), 1U);
}

TEST(TraceTest, AnOpenForReadingTellsWhereItArrived) {
  for (const char* line : {R"(open("/lib/c", O_RDONLY|O_CLOEXEC) = 3</usr/lib/c>)",
                           R"(openat(AT_FDCWD, "/lib/c", O_RDONLY|O_CLOEXEC) = 3</usr/lib/c>)"}) {
    const Call call = OneCall(line);
    EXPECT_EQ(call.kind, CallKind::kOpen) << line;
    EXPECT_EQ(call.path, "/lib/c") << line;
    EXPECT_EQ(call.text, "/usr/lib/c") << line;
    EXPECT_EQ(call.access_mode, R_OK) << line;
    EXPECT_FALSE(call.must_be_directory) << line;
  }
  EXPECT_TRUE(OneCall(R"(openat(AT_FDCWD, ".", O_RDONLY|O_DIRECTORY) = 3</w>)").must_be_directory);
  EXPECT_EQ(OneCall(R"(openat(AT_FDCWD, "a", O_RDONLY|O_PATH) = 3</w/a>)").access_mode, F_OK);
  EXPECT_EQ(OneCall(R"(open("a", O_RDONLY) = -1 ENOENT (No such file))").error, ENOENT);
}

TEST(TraceTest, AnOpenRefusedForWhatItsFlagsMetIsLeftOut) {
  EXPECT_EQ(LeftOutOf(R"(open("l", O_RDONLY|O_NOFOLLOW) = -1 ELOOP (Too many))",
                      LeftOut::kOpenDecidedByType),
            1U);
  EXPECT_EQ(LeftOutOf(R"(open("f", O_RDONLY|O_DIRECTORY) = -1 ENOTDIR (Not a directory))",
                      LeftOut::kOpenDecidedByType),
            1U);
}

TEST(TraceTest, AListingIsReplayedOnceHoweverManyCallsItTook) {
  const Trace trace = Parsed(
      "5 getdents64(3</w>, 0x56 /* 900 entries */, 32768) = 31784\n"
      "5 getdents64(3</w>, 0x56 /* 0 entries */, 32768) = 0\n");
  ASSERT_EQ(trace.calls.size(), 1U);
  EXPECT_EQ(trace.calls[0].kind, CallKind::kReadDir);
  EXPECT_EQ(trace.calls[0].path, "/w");
}

TEST(TraceTest, EveryCallThatChangesAPathNamesIt) {
  struct Case {
    const char* line;
    std::vector<std::string> paths;
  };
  for (const Case& change : std::vector<Case>{
           {R"(creat("a", 0644) = 3</w/a>)", {"/w/a"}},
           {R"(open("a", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3</w/a>)", {"/w/a"}},
           {R"(openat(3</d>, "a", O_RDWR) = 4</d/a>)", {"/d/a"}},
           {R"(openat(3</d>, "a", O_RDONLY|O_CREAT, 0666) = 4</d/a>)", {"/d/a"}},
           {R"(mkdir("a", 0777) = 0)", {"/w/a"}},
           {R"(mkdirat(3</d>, "a", 0777) = 0)", {"/d/a"}},
           {R"(rmdir("a") = 0)", {"/w/a"}},
           {R"(unlink("a") = 0)", {"/w/a"}},
           {R"(unlinkat(3</d>, "a", AT_REMOVEDIR) = 0)", {"/d/a"}},
           {R"(rename("a", "b") = 0)", {"/w/a", "/w/b"}},
           {R"(renameat(3</d>, "a", 4</e>, "b") = 0)", {"/d/a", "/e/b"}},
           {R"(renameat2(3</d>, "a", 4</e>, "b", RENAME_NOREPLACE) = 0)", {"/d/a", "/e/b"}},
           {R"(symlink("text", "a") = 0)", {"/w/a"}},
           {R"(symlinkat("text", 3</d>, "a") = 0)", {"/d/a"}},
           {R"(link("a", "b") = 0)", {"/w/b"}},
           {R"(linkat(3</d>, "a", 4</e>, "b", 0) = 0)", {"/e/b"}},
           {R"(chmod("a", 0644) = 0)", {"/w/a"}},
           {R"(truncate("a", 0) = 0)", {"/w/a"}},
       }) {
    const Trace trace = Parsed("5 getcwd(\"/w\", 4096) = 3\n5 " + std::string(change.line) + "\n");
    std::vector<std::string> paths;
    for (const Call& call : trace.calls) {
      EXPECT_EQ(call.kind, CallKind::kChange) << change.line;
      paths.push_back(call.path);
    }
    EXPECT_EQ(paths, change.paths) << change.line;
  }
}

TEST(TraceTest, AChangeThatFailedChangesNothing) {
  EXPECT_TRUE(Parsed("5 mkdir(\"/a\", 0777) = -1 EEXIST (File exists)\n"
                     "5 rename(\"/a\", \"/b\") = -1 ENOENT (No such file or directory)\n")
                  .calls.empty());
}

TEST(TraceTest, AProgramThatWasExecutedExistsAndOneThatWasNotTellsNothing) {
  const Trace trace = Parsed(
      "5 execve(\"/a/sh\", [\"sh\"], 0x1 /* 4 vars */) = -1 ENOENT (No such file or directory)\n"
      "5 execve(\"/b/sh\", [\"sh\"], 0x1 /* 4 vars */) = 0\n");
  ASSERT_EQ(trace.calls.size(), 1U);
  EXPECT_EQ(trace.calls[0].kind, CallKind::kExecute);
  EXPECT_EQ(trace.calls[0].path, "/b/sh");
}

TEST(TraceTest, PathsThatNoReplayCanAskAreLeftOutAndCounted) {
  struct Case {
    const char* line;
    LeftOut reason;
  };
  for (const Case& unknown : std::vector<Case>{
           {R"(stat("/very/lo"..., 0x1) = -1 ENOENT (No such))", LeftOut::kTextCutShort},
           {R"(newfstatat(1<pipe:[7]>, "", {st_mode=S_IFIFO|0600, ...}, AT_EMPTY_PATH) = 0)",
            LeftOut::kNoPathBehindDescriptor},
           {R"(newfstatat(6</t>(deleted), "", {st_mode=S_IFREG|0644, ...}, AT_EMPTY_PATH) = 0)",
            LeftOut::kNoPathBehindDescriptor},
           {R"(newfstatat(6, "a", {st_mode=S_IFREG|0644, ...}, 0) = 0)",
            LeftOut::kDirectoryUnknown},
           {R"(stat("/a",  <unfinished ...>) = ?)", LeftOut::kAnswerNotRecorded},
           {R"(stat("/a", 0x7ffc) = 0)", LeftOut::kAnswerNotRecorded},
       }) {
    EXPECT_EQ(LeftOutOf(unknown.line, unknown.reason), 1U) << unknown.line;
  }
}

TEST(TraceTest, ARelativePathOfAProcessWithoutKnownDirectoryIsLeftOut) {
  Trace trace = Parsed("5 stat(\"a\", 0x1) = -1 ENOENT (No such file or directory)\n");
  EXPECT_EQ(At(trace.left_out, LeftOut::kDirectoryUnknown), 1U);
}

TEST(TraceTest, DotDotStaysForTheWalkToResolve) {
  EXPECT_EQ(OneCall(R"(stat("../a/../b", 0x1) = -1 ENOENT (No such))").path, "/w/../a/../b");
}

TEST(TraceTest, TheWorkingDirectoryFollowsChdirAndFchdir) {
  const Trace trace = Parsed(
      "5 chdir(\"/w\") = 0\n"
      "5 stat(\"a\", 0x1) = -1 ENOENT (No such)\n"
      "5 chdir(\"sub\") = 0\n"
      "5 stat(\"a\", 0x1) = -1 ENOENT (No such)\n"
      "5 chdir(\"gone\") = -1 ENOENT (No such)\n"
      "5 stat(\"a\", 0x1) = -1 ENOENT (No such)\n"
      "5 fchdir(3</w>) = 0\n"
      "5 stat(\"a\", 0x1) = -1 ENOENT (No such)\n");
  ASSERT_EQ(trace.calls.size(), 4U);
  EXPECT_EQ(trace.calls[0].path, "/w/a");
  EXPECT_EQ(trace.calls[1].path, "/w/sub/a");
  EXPECT_EQ(trace.calls[2].path, "/w/sub/a");
  EXPECT_EQ(trace.calls[3].path, "/w/a");
}

TEST(TraceTest, ChildrenInheritTheDirectoryWhicheverCallMadeThem) {
  for (const char* spawn :
       {"fork() = 6\n", "vfork() = 6\n", "clone(child_stack=NULL, flags=SIGCHLD) = 6\n",
        "clone3({flags=CLONE_VM|CLONE_VFORK, exit_signal=SIGCHLD}, 88) = 6\n"}) {
    const Trace trace = Parsed("5 chdir(\"/w\") = 0\n5 " + std::string(spawn) +
                               "6 stat(\"a\", 0x1) = -1 ENOENT (No such)\n"
                               "6 chdir(\"/other\") = 0\n"
                               "5 stat(\"b\", 0x1) = -1 ENOENT (No such)\n");
    ASSERT_EQ(trace.calls.size(), 2U) << spawn;
    EXPECT_EQ(trace.calls[0].path, "/w/a") << spawn;
    EXPECT_EQ(trace.calls[0].pid, 6U) << spawn;
    EXPECT_EQ(trace.calls[1].path, "/w/b") << spawn;
  }
}

TEST(TraceTest, AChildIsKnownBeforeItsParentsCallIsAnswered) {
  const Trace trace = Parsed(
      "5 chdir(\"/w\") = 0\n"
      "5 vfork( <unfinished ...>\n"
      "6 stat(\"a\", 0x1) = -1 ENOENT (No such)\n"
      "5 <... vfork resumed>) = 6\n");
  ASSERT_EQ(trace.calls.size(), 1U);
  EXPECT_EQ(trace.calls[0].path, "/w/a");
}

TEST(TraceTest, AThreadThatChangesTheDirectoryChangesItForAll) {
  const Trace trace = Parsed(
      "5 chdir(\"/w\") = 0\n"
      "5 clone3({flags=CLONE_VM|CLONE_FS|CLONE_THREAD}, 88) = 6\n"
      "6 chdir(\"/x\") = 0\n"
      "5 stat(\"a\", 0x1) = -1 ENOENT (No such)\n");
  ASSERT_EQ(trace.calls.size(), 1U);
  EXPECT_EQ(trace.calls[0].path, "/x/a");
}

TEST(TraceTest, TheDirectoryAtTheStartIsLearntFromWhatTheProcessPrintsLater) {
  const Trace trace = Parsed(
      "5 stat(\"a\", 0x1) = -1 ENOENT (No such)\n"
      "5 openat(AT_FDCWD</w>, \"b\", O_RDONLY) = 3</w/b>\n");
  ASSERT_EQ(trace.calls.size(), 2U);
  EXPECT_EQ(trace.calls[0].path, "/w/a");
}

TEST(TraceTest, WhatAProcessPrintsAfterItMovedTellsNothingOfTheStart) {
  const Trace trace = Parsed(
      "5 stat(\"a\", 0x1) = -1 ENOENT (No such)\n"
      "5 chdir(\"/w\") = 0\n"
      "5 openat(AT_FDCWD</w>, \"b\", O_RDONLY) = 3</w/b>\n");
  ASSERT_EQ(trace.calls.size(), 1U);
  EXPECT_EQ(trace.calls[0].kind, CallKind::kOpen);
}

TEST(TraceTest, PathsThatTheKernelPrintedAreKeptAsResolved) {
  const Trace trace = Parsed(
      "5 getcwd(\"/w\", 4096) = 3\n"
      "5 openat(AT_FDCWD</w>, \"/lib/c\", O_RDONLY) = 3</usr/lib/c>\n");
  EXPECT_EQ(trace.resolved_paths, (std::set<std::string>{"/w", "/usr/lib/c"}));
}

TEST(TraceTest, AMissingFileAndAForeignFileAreErrorsThatNameTheFile) {
  const auto missing = LoadTrace("/nowhere/trace");
  ASSERT_FALSE(missing);
  EXPECT_TRUE(missing.error().starts_with("/nowhere/trace: ")) << missing.error();
  const auto foreign = LoadTrace("/proc/self/status");
  ASSERT_FALSE(foreign);
  EXPECT_TRUE(foreign.error().starts_with("/proc/self/status, line 1: expected "))
      << foreign.error();
}

}  // namespace
}  // namespace nfswalk::bench
