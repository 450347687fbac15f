#include "bench/trace/strace_line.h"

#include <gtest/gtest.h>

namespace nfswalk::bench {
namespace {

StraceLine Parsed(std::string_view text) {
  const auto line = ParseStraceLine(text);
  EXPECT_TRUE(line) << text << ": " << line.error();
  return line.value_or(StraceLine{});
}

TEST(StraceLineTest, ACallIsTakenApart) {
  const StraceLine line =
      Parsed(R"(21892 access("/etc/ld.so.preload", R_OK) = -1 ENOENT (No such))");
  EXPECT_EQ(line.kind, LineKind::kCall);
  EXPECT_EQ(line.pid, 21892U);
  EXPECT_EQ(line.name, "access");
  EXPECT_EQ(line.arguments, R"("/etc/ld.so.preload", R_OK)");
  EXPECT_EQ(line.result, "-1 ENOENT (No such)");
}

TEST(StraceLineTest, TheResultMayBePaddedToAColumn) {
  EXPECT_EQ(Parsed("1 close(3</etc/ld.so.cache>)        = 0").result, "0");
}

TEST(StraceLineTest, PidAndTimeColumnsAreOptional) {
  for (const char* text :
       {R"(stat("a", 0x1) = 0)", R"([pid  77] stat("a", 0x1) = 0)",
        R"(77    12:34:56 stat("a", 0x1) = 0)", R"(77 12:34:56.123456 stat("a", 0x1) = 0)",
        R"(77 1700000000.123456 stat("a", 0x1) = 0)", R"(77      0.000012 stat("a", 0x1) = 0)"}) {
    const StraceLine line = Parsed(text);
    EXPECT_EQ(line.kind, LineKind::kCall) << text;
    EXPECT_EQ(line.name, "stat") << text;
    EXPECT_EQ(line.pid, std::string_view(text).starts_with("stat") ? 0U : 77U) << text;
  }
}

TEST(StraceLineTest, AnInterruptedCallHasTwoHalves) {
  const StraceLine begin = Parsed(R"(5 stat("/a",  <unfinished ...>)");
  EXPECT_EQ(begin.kind, LineKind::kUnfinished);
  EXPECT_EQ(begin.arguments, R"("/a",)");
  const StraceLine end = Parsed("5 <... stat resumed>{st_mode=S_IFREG|0644, ...}) = 0");
  EXPECT_EQ(end.kind, LineKind::kResumed);
  EXPECT_EQ(end.name, "stat");
  EXPECT_EQ(end.arguments, "{st_mode=S_IFREG|0644, ...}) = 0");
}

TEST(StraceLineTest, ACallThatItsProcessDidNotSurviveIsACallWithoutAnswer) {
  const StraceLine line = Parsed(R"(5 stat("/a",  <unfinished ...>) = ?)");
  EXPECT_EQ(line.kind, LineKind::kCall);
  EXPECT_EQ(line.result, "?");
}

TEST(StraceLineTest, AnExecveThatHandsOnItsPidIsAnInterruptedCall) {
  const StraceLine line =
      Parsed(R"(8 execve("/bin/true", ["true"], 0x7f /* 4 vars */ <pid changed to 7 ...>)");
  EXPECT_EQ(line.kind, LineKind::kUnfinished);
  EXPECT_EQ(line.name, "execve");
  EXPECT_EQ(line.pid, 7U);
  EXPECT_EQ(line.arguments, R"("/bin/true", ["true"], 0x7f /* 4 vars */)");
}

TEST(StraceLineTest, SignalsExitsAndRemarksAreEvents) {
  for (const char* text : {"5 --- SIGCHLD {si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=6} ---",
                           "5 +++ exited with 0 +++", "+++ killed by SIGKILL (core dumped) +++",
                           "7 +++ superseded by execve in pid 8 +++", "strace: Process 6 attached",
                           "[pid 5] +++ exited with 1 +++"}) {
    EXPECT_EQ(Parsed(text).kind, LineKind::kEvent) << text;
  }
}

TEST(StraceLineTest, AnythingElseIsRefusedWithWhatWasExpected) {
  for (const char* text :
       {"hello world", "#include <stdio.h>", "{\"a\": 1}", "12 34 56", "5 stat(\"/a\"",
        "5 stat(\"/a\", 0x1)", "5 stat(\"/a\", 0x1) = ", "5 <... stat resum"}) {
    const auto line = ParseStraceLine(text);
    ASSERT_FALSE(line) << text;
    EXPECT_TRUE(line.error().starts_with("expected ")) << line.error();
  }
}

TEST(StraceLineTest, TheErrorShowsUnprintableBytesAsQuestionMarks) {
  const auto line = ParseStraceLine(
      "\x7f"
      "ELF\x02\x01 binary");
  ASSERT_FALSE(line);
  EXPECT_NE(line.error().find("?ELF?? binary"), std::string::npos) << line.error();
}

}  // namespace
}  // namespace nfswalk::bench
