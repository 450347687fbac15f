#include "bench/trace/complete_call.h"

#include <gtest/gtest.h>

namespace nfswalk::bench {
namespace {

JoinedLines Joined(std::string_view text) {
  auto joined = JoinLines(text);
  EXPECT_TRUE(joined) << joined.error();
  return joined ? std::move(*joined) : JoinedLines{};
}

TEST(CompleteCallTest, TheHalvesOfAnInterruptedCallStandWhereItsAnswerStands) {
  const JoinedLines joined = Joined(
      "5 stat(\"/a\",  <unfinished ...>\n"
      "6 access(\"/b\", R_OK) = 0\n"
      "5 <... stat resumed>{st_mode=S_IFREG|0644, st_size=1, ...}) = 0\n");
  ASSERT_EQ(joined.calls.size(), 2U);
  EXPECT_EQ(joined.calls[0].form->name, "access");
  EXPECT_EQ(joined.calls[1].form->name, "stat");
  EXPECT_EQ(joined.calls[1].pid, 5U);
  EXPECT_EQ(joined.calls[1].line, 3U);
  EXPECT_EQ(joined.calls[1].arguments, "\"/a\",{st_mode=S_IFREG|0644, st_size=1, ...}");
  EXPECT_EQ(joined.calls[1].result, "0");
  EXPECT_EQ(joined.never_resumed, 0U);
}

TEST(CompleteCallTest, ACallThatMakesAProcessStandsWhereItBegins) {
  const JoinedLines joined = Joined(
      "5 vfork( <unfinished ...>\n"
      "6 chdir(\"/b\") = 0\n"
      "5 <... vfork resumed>) = 6\n");
  ASSERT_EQ(joined.calls.size(), 2U);
  EXPECT_EQ(joined.calls[0].form->kind, SyscallKind::kSpawn);
  EXPECT_EQ(joined.calls[0].result, "6");
  EXPECT_EQ(joined.calls[1].form->name, "chdir");
}

TEST(CompleteCallTest, TheExecveOfAThreadIsResumedUnderThePidOfItsProcess) {
  const JoinedLines joined = Joined(
      "7 openat(AT_FDCWD</>, \"a\", O_RDONLY <unfinished ...>\n"
      "8 execve(\"/bin/true\", [\"true\"], 0x7f /* 4 vars */ <pid changed to 7 ...>\n"
      "7 +++ superseded by execve in pid 8 +++\n"
      "7 <... execve resumed>) = 0\n");
  ASSERT_EQ(joined.calls.size(), 1U);
  EXPECT_EQ(joined.calls[0].form->kind, SyscallKind::kExecute);
  EXPECT_EQ(joined.calls[0].pid, 7U);
  EXPECT_EQ(joined.never_resumed, 1U);  // the open of the thread that is no more
}

TEST(CompleteCallTest, UnknownCallsArePassedOverButTheirLinesAreChecked) {
  EXPECT_TRUE(
      Joined("5 fcntl(3</a>, F_GETFD) = 0\n5 statfs(\"/\", {f_type=1}) = 0\n").calls.empty());
  EXPECT_FALSE(JoinLines("5 fcntl(3</a>, F_GETFD\n5 close(3) = 0\n"));
}

TEST(CompleteCallTest, AnswersOfNoSuchFileAreCounted) {
  EXPECT_EQ(Joined("5 stat(\"/a\", 0x1) = -1 ENOENT (No such file or directory)\n"
                   "5 stat(\"/b\", 0x1) = -1 ENOTDIR (Not a directory)\n"
                   "5 access(\"/a\", R_OK <unfinished ...>\n"
                   "5 <... access resumed>) = -1 ENOENT (No such file or directory)\n")
                .noent_answers,
            2U);
}

TEST(CompleteCallTest, CallsNeverResumedAndResumedWithoutStartAreCounted) {
  const JoinedLines joined = Joined(
      "5 <... stat resumed>{st_mode=S_IFREG|0644, st_size=1, ...}) = 0\n"
      "6 stat(\"/a\",  <unfinished ...>\n");
  EXPECT_TRUE(joined.calls.empty());
  EXPECT_EQ(joined.resumed_without_start, 1U);
  EXPECT_EQ(joined.never_resumed, 1U);
}

TEST(CompleteCallTest, ALastLineThatStopsInTheMiddleIsToleratedAndCounted) {
  for (const char* last :
       {"5", "5 sta", "5 stat(\"/b", "5 stat(\"/b\", 0x1)", "5 stat(\"/b\", 0x1) ="}) {
    const JoinedLines joined = Joined(std::string("5 access(\"/a\", R_OK) = 0\n") + last);
    EXPECT_EQ(joined.calls.size(), 1U) << last;
    EXPECT_EQ(joined.truncated_last_lines, 1U) << last;
  }
}

TEST(CompleteCallTest, ABrokenLineInTheMiddleIsAnErrorWithItsNumber) {
  const auto joined =
      JoinLines("5 access(\"/a\", R_OK) = 0\n\nbroken\n5 access(\"/b\", R_OK) = 0\n");
  ASSERT_FALSE(joined);
  EXPECT_TRUE(joined.error().starts_with("line 3: expected \"PID CALL(ARGUMENTS) = RESULT\""))
      << joined.error();
}

TEST(CompleteCallTest, AProcessThatResumesAnotherCallThanItBeganIsAnError) {
  const auto joined = JoinLines(
      "5 stat(\"/a\",  <unfinished ...>\n5 <... access resumed>R_OK) = 0\n5 close(3) = 0\n");
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error(), "line 2: expected process 5 to resume stat, not access");
}

TEST(CompleteCallTest, AFileWithoutOneLineOfStraceIsAnError) {
  for (const char* text : {"", "\n\n", "one line", "one line\n", "#!/bin/sh\nexit 0\n"}) {
    const auto joined = JoinLines(text);
    ASSERT_FALSE(joined) << text;
    EXPECT_TRUE(joined.error().starts_with("line 1: expected ")) << joined.error();
  }
}

}  // namespace
}  // namespace nfswalk::bench
