#include "nfsclient/cli/console.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>

#include "nfsclient/cli/progress_thread.h"
#include "tests/fixtures/thread_shortage.h"

namespace nfswalk::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr std::string_view kWipe = "\r\033[K";

// Collects what is written to a stream.
class Sink {
 public:
  Sink() : fd_(memfd_create("sink", 0)) {}
  ~Sink() { close(fd_); }
  int fd() const { return fd_; }
  std::string text() const {
    std::array<char, 1 << 18> bytes;
    const ssize_t count = pread(fd_, bytes.data(), bytes.size(), 0);
    return {bytes.data(), count > 0 ? static_cast<size_t>(count) : 0};
  }

 private:
  const int fd_;
};

class ConsoleTest : public testing::Test {
 protected:
  Console::Streams Streams(bool out_is_terminal, bool err_is_terminal) const {
    return {out_.fd(), err_.fd(), out_is_terminal, err_is_terminal};
  }

  Sink out_;
  Sink err_;
  const Console::Clock::time_point start_ = Console::Clock::now();
};

TEST_F(ConsoleTest, OutputArrivesWholeAndInOrder) {
  {
    Console console(Streams(false, false), "cat");
    console.Print(std::string(100'000, 'a'));
    console.Print(std::string("\0b", 2));
  }
  EXPECT_EQ(out_.text(), std::string(100'000, 'a') + std::string("\0b", 2));
  EXPECT_EQ(err_.text(), "");
}

TEST_F(ConsoleTest, ATerminalSeesEachLineAtOnce) {
  Console console(Streams(true, true), "ls");
  console.Print("a\n");
  EXPECT_EQ(out_.text(), "a\n");
}

TEST_F(ConsoleTest, AComplaintComesAfterWhatWasPrintedBeforeIt) {
  Console console(Streams(false, false), "stat");
  console.Print("before\n");
  console.Complain("stat 'x': broken");
  EXPECT_EQ(out_.text(), "before\n");
  EXPECT_EQ(err_.text(), "nfswalk: stat 'x': broken\n");
}

TEST_F(ConsoleTest, NamesAreEscapedForTerminalsOnly) {
  EXPECT_EQ(Console(Streams(true, false), "ls").ForOutput("a\nb"), "a\\nb");
  EXPECT_EQ(Console(Streams(false, true), "ls").ForOutput("a\nb"), "a\nb");
}

TEST_F(ConsoleTest, NoProgressInTheFirstSecondNorWhereNobodyLooks) {
  Console console(Streams(false, true), "find", start_);
  console.ShowProgress(start_ + milliseconds(999));
  EXPECT_EQ(err_.text(), "");
  Console unseen(Streams(false, false), "find", start_);
  unseen.ShowProgress(start_ + seconds(5));
  EXPECT_EQ(err_.text(), "");
}

TEST_F(ConsoleTest, ProgressShowsWhatIsDoneAndIsWipedBeforeAComplaintAndAtTheEnd) {
  {
    Console console(Streams(false, true), "find", start_);
    console.ShowProgress(start_ + seconds(1));
    EXPECT_THAT(err_.text(), HasSubstr("nfswalk: find: waiting for the server, 1 s"));
    console.Advance(40, "files");
    console.Advance(2, "files");
    console.ShowProgress(start_ + seconds(7));
    EXPECT_THAT(err_.text(), HasSubstr("nfswalk: find: 42 files, 7 s"));
    console.Complain("broken");
    EXPECT_TRUE(err_.text().ends_with(std::string(kWipe) + "nfswalk: broken\n"));
    console.ShowProgress(start_ + seconds(9));
  }
  EXPECT_TRUE(err_.text().ends_with(kWipe));
}

TEST_F(ConsoleTest, NoProgressIsShownWithoutAThreadForIt) {
  Console console(Streams(false, true), "find", start_);
  const fixtures::ThreadShortage shortage(0);
  { const ProgressThread progress(console); }
  EXPECT_TRUE(shortage.occurred());
  EXPECT_EQ(err_.text(), "");
}

// Puts both streams on one terminal, which is one file here.
TEST_F(ConsoleTest, OutputOnTheSameTerminalWipesProgressAndKeepsItAwayForASecond) {
  Console console({out_.fd(), out_.fd(), true, true}, "find", start_);
  console.ShowProgress(start_ + seconds(1));
  console.Print("a\n");
  const std::string before = out_.text();
  EXPECT_TRUE(before.ends_with(std::string(kWipe) + "a\n"));
  console.ShowProgress(Console::Clock::now() + milliseconds(100));
  EXPECT_EQ(out_.text(), before);
}

TEST_F(ConsoleTest, AFullDiskIsRemembered) {
  const int full = open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  Console console({full, err_.fd(), false, false}, "cat");
  console.Print("a");
  EXPECT_EQ(console.output_error(), 0);
  console.Finish();
  EXPECT_EQ(console.output_error(), ENOSPC);
  close(full);
}

TEST_F(ConsoleTest, AReaderThatLeftShowsAsEpipe) {
  std::signal(SIGPIPE, SIG_IGN);
  std::array<int, 2> ends;
  ASSERT_EQ(pipe(ends.data()), 0);
  close(ends[0]);
  Console console({ends[1], err_.fd(), false, false}, "find");
  console.Print(std::string(100'000, 'a'));
  EXPECT_EQ(console.output_error(), EPIPE);
  close(ends[1]);
}

}  // namespace
}  // namespace nfswalk::cli
