#include "nfsclient/mount/interrupts.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <functional>

namespace nfswalk::mount {
namespace {

// A child that has stopped after `prepare`: signals for it stay pending, as those of a thread that
// waits for a file system do.
class StoppedChild {
 public:
  explicit StoppedChild(const std::function<void()>& prepare) : pid_(fork()) {
    if (pid_ == 0) {
      prepare();
      raise(SIGSTOP);
      pause();
      _exit(0);
    }
    int status = 0;
    EXPECT_EQ(waitpid(pid_, &status, WUNTRACED), pid_);
    EXPECT_TRUE(WIFSTOPPED(status));
  }
  ~StoppedChild() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  StoppedChild(const StoppedChild&) = delete;
  StoppedChild& operator=(const StoppedChild&) = delete;
  pid_t pid() const { return pid_; }

 private:
  const pid_t pid_;
};

void Handle(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  sigaction(signal, &action, nullptr);
}

void Block(int signal) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

TEST(InterruptsTest, OnlySignalsThatEndAProcessDo) {
  const struct {
    const char* what;
    std::function<void()> prepare;
    int signal;
    bool kills;
  } cases[] = {
      {"none", [] {}, 0, false},
      {"default action", [] {}, SIGTERM, true},
      {"default action of dumping core", [] {}, SIGQUIT, true},
      {"a real-time signal", [] {}, SIGRTMIN + 1, true},
      {"the highest signal", [] {}, SIGRTMAX, true},
      {"caught", [] { Handle(SIGTERM, [](int) {}); }, SIGTERM, false},
      {"ignored", [] { Handle(SIGTERM, SIG_IGN); }, SIGTERM, false},
      {"blocked", [] { Block(SIGTERM); }, SIGTERM, false},
      {"another is caught", [] { Handle(SIGUSR1, [](int) {}); }, SIGTERM, true},
      {"ignored by default", [] {}, SIGCHLD, false},
      {"ignored by default", [] {}, SIGWINCH, false},
      {"ignored by default", [] {}, SIGURG, false},
      {"stops", [] {}, SIGTSTP, false},
  };
  for (const auto& [what, prepare, signal, kills] : cases) {
    const StoppedChild child(prepare);
    if (signal != 0) {
      ASSERT_EQ(kill(child.pid(), signal), 0);
    }
    EXPECT_EQ(IsBeingKilled(child.pid()), kills) << what << ", signal " << signal;
  }
}

TEST(InterruptsTest, ExitedCallerCountsAsKilled) {
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  ASSERT_EQ(waitpid(gone, nullptr, 0), gone);
  EXPECT_TRUE(IsBeingKilled(gone));
  EXPECT_FALSE(IsBeingKilled(getpid()));
}

// Its process ids are others there.
TEST(InterruptsTest, ProcOfAnotherPidNamespaceShowsNoCaller) {
  EXPECT_TRUE(ProcShowsCallers());
  const pid_t outside = fork();
  if (outside == 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) _exit(2);
    const pid_t inside = fork();
    if (inside == 0) _exit(!ProcShowsCallers() && IsBeingKilled(getpid()) ? 0 : 1);
    int status = -1;
    waitpid(inside, &status, 0);
    _exit(status == 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(outside, &status, 0), outside);
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "no right to a pid namespace";
  EXPECT_EQ(status, 0);
}

TEST(InterruptsTest, EndsTheRequestsOfWhoIsBeingKilled) {
  Interrupts interrupts;
  const StoppedChild dying([] {}), catching([] { Handle(SIGTERM, [](int) {}); });
  Cancellation of_dying, of_catching, uninterrupted;
  const Interrupts::Entry first(interrupts, catching.pid(), of_catching);
  const Interrupts::Entry second(interrupts, dying.pid(), of_dying);
  const Interrupts::Entry third(interrupts, dying.pid(), uninterrupted);
  ASSERT_EQ(kill(catching.pid(), SIGTERM), 0);
  ASSERT_EQ(kill(dying.pid(), SIGTERM), 0);
  interrupts.Interrupt(first.id());
  interrupts.Interrupt(second.id());
  // The watcher looks at them in this order.
  while (!of_dying.canceled()) sched_yield();
  EXPECT_FALSE(of_catching.canceled());
  EXPECT_FALSE(uninterrupted.canceled());
}

// As F_SETLKW does.
TEST(InterruptsTest, SomeRequestsEndByAnySignal) {
  Interrupts interrupts;
  const StoppedChild child([] { Handle(SIGUSR1, [](int) {}); });
  Cancellation sleeper, another, last;
  const Interrupts::Entry first(interrupts, child.pid(), sleeper, Interrupts::Ends::kAtOnce);
  interrupts.Interrupt(first.id());
  EXPECT_TRUE(sleeper.canceled());
  const Interrupts::Entry second(interrupts, child.pid(), another, Interrupts::Ends::kAtOnce);
  EXPECT_FALSE(another.canceled());
  interrupts.EndThoseAtOnce();
  EXPECT_TRUE(another.canceled());
  const Interrupts::Entry third(interrupts, child.pid(), last, Interrupts::Ends::kAtOnce);
  EXPECT_TRUE(last.canceled());
}

// FUSE tells of the first signal alone.
TEST(InterruptsTest, NoticesALaterSignal) {
  Interrupts interrupts;
  const StoppedChild child([] { Handle(SIGUSR1, [](int) {}); });
  Cancellation cancellation;
  const Interrupts::Entry entry(interrupts, child.pid(), cancellation);
  ASSERT_EQ(kill(child.pid(), SIGUSR1), 0);
  interrupts.Interrupt(entry.id());
  ASSERT_EQ(kill(child.pid(), SIGTERM), 0);
  while (!cancellation.canceled()) sched_yield();
}

TEST(InterruptsTest, ARequestThatHasEndedIsLeftAlone) {
  Interrupts interrupts;
  const StoppedChild child([] {});
  Cancellation ended, other;
  uint64_t id;
  {
    const Interrupts::Entry entry(interrupts, child.pid(), ended);
    id = entry.id();
  }
  const Interrupts::Entry next(interrupts, child.pid(), other);
  EXPECT_NE(next.id(), id);
  ASSERT_EQ(kill(child.pid(), SIGTERM), 0);
  interrupts.Interrupt(id);
  EXPECT_FALSE(ended.canceled());
  EXPECT_FALSE(other.canceled());
  interrupts.Interrupt(next.id());
  interrupts.Interrupt(next.id());
  while (!other.canceled()) sched_yield();
}

}  // namespace
}  // namespace nfswalk::mount
