#include "bench/make_replay/learned_tree.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace nfswalk::bench {
namespace {

Trace Parsed(std::string_view text) {
  auto trace = ParseTrace(text);
  EXPECT_TRUE(trace) << trace.error();
  return trace ? std::move(*trace) : Trace{};
}

// The node at a canonical path; an empty one with type ~0 where there is none.
TreeNode NodeOf(const LearnedTree& learned, std::string_view path) {
  const TreeNode* node = learned.tree().Find(path);
  return node == nullptr ? TreeNode{.type = ~0U} : *node;
}

bool Exists(const LearnedTree& learned, std::string_view path) {
  return learned.tree().Find(path) != nullptr;
}

TEST(LearnedTreeTest, ModesSizesAndParentsComeFromStat) {
  const LearnedTree learned(
      Parsed("5 stat(\"/a/b/c\", {st_mode=S_IFREG|0640, st_size=7, ...}) = 0\n"));
  EXPECT_EQ(NodeOf(learned, "/a").type, uint32_t{S_IFDIR});
  EXPECT_EQ(NodeOf(learned, "/a/b").type, uint32_t{S_IFDIR});
  const TreeNode file = NodeOf(learned, "/a/b/c");
  EXPECT_EQ(file.type, uint32_t{S_IFREG});
  EXPECT_EQ(file.permissions, 0640U);
  EXPECT_EQ(file.size_bytes, 7U);
}

TEST(LearnedTreeTest, WhatDidNotExistIsNotMade) {
  const LearnedTree learned(
      Parsed("5 stat(\"/a/b\", 0x1) = -1 ENOENT (No such)\n"
             "5 stat(\"/a\", {st_mode=S_IFDIR|0700, st_size=40, ...}) = 0\n"));
  EXPECT_TRUE(Exists(learned, "/a"));
  EXPECT_FALSE(Exists(learned, "/a/b"));
}

TEST(LearnedTreeTest, ALinkIsMadeWithTheTextThatWasRead) {
  const LearnedTree learned(Parsed("5 readlink(\"/l\", \"a/b\", 4096) = 3\n"));
  EXPECT_EQ(NodeOf(learned, "/l").type, uint32_t{S_IFLNK});
  EXPECT_EQ(NodeOf(learned, "/l").link_text, "a/b");
}

TEST(LearnedTreeTest, AnswersBehindALinkBelongToWhereItPoints) {
  const LearnedTree learned(
      Parsed("5 stat(\"/l/f\", {st_mode=S_IFREG|0600, st_size=1, ...}) = 0\n"
             "5 readlink(\"/l\", \"d\", 4096) = 1\n"));
  EXPECT_EQ(NodeOf(learned, "/d").type, uint32_t{S_IFDIR});
  EXPECT_EQ(NodeOf(learned, "/d/f").permissions, 0600U);
  EXPECT_FALSE(Exists(learned, "/l/f"));
}

TEST(LearnedTreeTest, AnOpenThatArrivesElsewhereBetraysALink) {
  const LearnedTree learned(
      Parsed("5 openat(AT_FDCWD</w>, \"/lib/x86/libc.so\", O_RDONLY) = 3</usr/lib/x86/libc.so>\n"));
  EXPECT_EQ(NodeOf(learned, "/lib").link_text, "usr/lib");
  EXPECT_EQ(NodeOf(learned, "/usr/lib/x86/libc.so").type, uint32_t{S_IFREG});
}

TEST(LearnedTreeTest, ALinkIsNotPutWhereAnAnswerShowsADirectory) {
  const LearnedTree learned(
      Parsed("5 lstat(\"/lib\", {st_mode=S_IFDIR|0755, st_size=40, ...}) = 0\n"
             "5 openat(AT_FDCWD</w>, \"/lib/a/f\", O_RDONLY) = 3</opt/a/f>\n"));
  EXPECT_EQ(NodeOf(learned, "/lib").type, uint32_t{S_IFDIR});
  EXPECT_EQ(NodeOf(learned, "/lib/a").link_text, "../opt/a");
}

TEST(LearnedTreeTest, ALinkToAFileOfAnotherNameIsFoundAtItsEnd) {
  const LearnedTree learned(
      Parsed("5 openat(AT_FDCWD</w>, \"/lib/libz.so.1\", O_RDONLY) = 3</lib/libz.so.1.2.13>\n"));
  EXPECT_EQ(NodeOf(learned, "/lib/libz.so.1").link_text, "libz.so.1.2.13");
}

TEST(LearnedTreeTest, ALinkThatWasSeenButNeverReadGetsATextOfItsLength) {
  const LearnedTree learned(
      Parsed("5 lstat(\"/l\", {st_mode=S_IFLNK|0777, st_size=9, ...}) = 0\n"));
  ASSERT_TRUE(NodeOf(learned, "/l").link_text);
  EXPECT_EQ(NodeOf(learned, "/l").link_text->size(), 9U);
}

TEST(LearnedTreeTest, AProgramThatRanCanBeExecuted) {
  const LearnedTree learned(Parsed("5 execve(\"/bin/sh\", [\"sh\"], 0x1 /* 4 vars */) = 0\n"));
  EXPECT_EQ(NodeOf(learned, "/bin/sh").permissions, 0755U);
}

TEST(LearnedTreeTest, PathsThatTheTraceChangedAndAllBeneathThemAreInTrouble) {
  const LearnedTree learned(
      Parsed("5 mkdir(\"/a/new\", 0777) = 0\n"
             "5 rename(\"/a/x\", \"/a/y\") = 0\n"
             "5 open(\"/a/log\", O_WRONLY|O_CREAT, 0666) = 3</a/log>\n"));
  for (const char* path : {"/a/new", "/a/new/sub", "/a/x", "/a/y", "/a/log", "/a/./new"}) {
    EXPECT_TRUE(learned.TroubleOn(path, false).changed) << path;
  }
  EXPECT_FALSE(learned.TroubleOn("/a", false).any());
  EXPECT_FALSE(learned.TroubleOn("/a/newer", false).any());
}

TEST(LearnedTreeTest, AChangeBehindALinkIsFoundByEitherName) {
  const LearnedTree learned(
      Parsed("5 readlink(\"/l\", \"d\", 4096) = 1\n"
             "5 unlink(\"/l/f\") = 0\n"));
  EXPECT_TRUE(learned.TroubleOn("/d/f", false).changed);
  EXPECT_TRUE(learned.TroubleOn("/l/f", false).changed);
  EXPECT_FALSE(learned.TroubleOn("/l", false).changed);
}

TEST(LearnedTreeTest, WritingToADeviceChangesNothing) {
  const LearnedTree learned(
      Parsed("5 open(\"/dev/null\", O_WRONLY|O_CREAT, 0666) = 3</dev/null>\n"));
  EXPECT_FALSE(learned.TroubleOn("/dev/null", false).any());
}

TEST(LearnedTreeTest, TwoAnswersAboutOnePathAreAConflict) {
  for (const char* second :
       {"S_IFREG|0600, st_size=7", "S_IFREG|0640, st_size=8", "S_IFDIR|0640, st_size=7"}) {
    const LearnedTree learned(
        Parsed("5 stat(\"/f\", {st_mode=S_IFREG|0640, st_size=7, ...}) = 0\n"
               "5 stat(\"/f\", {st_mode=" +
               std::string(second) + ", ...}) = 0\n"));
    EXPECT_TRUE(learned.TroubleOn("/f", false).conflicting) << second;
  }
}

TEST(LearnedTreeTest, TheSizeOfADirectoryIsNoConflict) {
  const LearnedTree learned(
      Parsed("5 stat(\"/d\", {st_mode=S_IFDIR|0755, st_size=40, ...}) = 0\n"
             "5 stat(\"/d\", {st_mode=S_IFDIR|0755, st_size=60, ...}) = 0\n"));
  EXPECT_FALSE(learned.TroubleOn("/d", false).any());
}

TEST(LearnedTreeTest, FilesOfTheProcessItselfAreInTrouble) {
  const LearnedTree learned(Parsed("5 stat(\"/\", {st_mode=S_IFDIR|0755, st_size=40, ...}) = 0\n"));
  EXPECT_TRUE(learned.TroubleOn("/proc/self/maps", false).per_process);
  EXPECT_TRUE(learned.TroubleOn("/dev/stdin", false).per_process);
  EXPECT_FALSE(learned.TroubleOn("/proc/selfish", false).per_process);
  EXPECT_FALSE(learned.TroubleOn("/proc/meminfo", false).per_process);
}

}  // namespace
}  // namespace nfswalk::bench
