// `nfswalk mount`: locks of fcntl(2) and flock(2), on the server with version 4.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/integration/mount_pair.h"

namespace nfswalk {
namespace {

class MountLocks : public MountPair {
 protected:
  void SetUp() override {
    MountPair::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    File("f", std::string(100, 'x'));
  }

  static Descriptor Open(const std::string& path, int flags = O_RDWR) {
    return Descriptor(open(path.c_str(), flags | O_CLOEXEC, 0644));
  }
  static struct flock Range(int type, off_t start = 0, off_t length = 0) {
    struct flock lock{};
    lock.l_type = static_cast<short>(type);
    lock.l_start = start;
    lock.l_len = length;
    return lock;
  }
  static int Lock(int fd, int type, off_t start = 0, off_t length = 0, int command = F_SETLK) {
    struct flock lock = Range(type, start, length);
    return ErrorOf(fcntl(fd, command, &lock));
  }
  // In a process of its own, which ends.
  static int ChildsLock(const std::string& path, int type, off_t start = 0, off_t length = 0) {
    Child child([&] {
      const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
      return fd < 0 ? errno : Lock(fd, type, start, length);
    });
    return child.Wait();
  }
  static int ChildsFlock(const std::string& path, int operation) {
    Child child([&] {
      const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
      return fd < 0 ? errno : ErrorOf(flock(fd, operation | LOCK_NB));
    });
    return child.Wait();
  }
};

class MountLocksTest : public MountLocks {
 protected:
  void SetUp() override {
    MountLocks::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    MountBoth();
  }
};

TEST_P(MountLocksTest, ExcludeProcessesOfAllMounts) {
  const Descriptor file = Open(At("f"));
  ASSERT_EQ(Lock(file.fd, F_WRLCK, 20, 10), 0);
  for (const std::string& path : {At("f"), Other("f")}) {
    EXPECT_EQ(ChildsLock(path, F_RDLCK, 25, 1), EAGAIN) << path;
    EXPECT_EQ(ChildsLock(path, F_WRLCK, 0, 20), 0) << path;
    EXPECT_EQ(ChildsLock(path, F_WRLCK, 30), 0) << path;
  }
  ASSERT_EQ(Lock(file.fd, F_RDLCK, 20, 10), 0);
  EXPECT_EQ(ChildsLock(Other("f"), F_RDLCK), 0);
  EXPECT_EQ(ChildsLock(Other("f"), F_WRLCK), EAGAIN);
  ASSERT_EQ(Lock(file.fd, F_UNLCK, 20, 5), 0);
  EXPECT_EQ(ChildsLock(Other("f"), F_WRLCK, 20, 5), 0);
  EXPECT_EQ(ChildsLock(Other("f"), F_WRLCK, 20, 6), EAGAIN);
  EXPECT_EQ(Lock(Open(At("f"), O_RDONLY).fd, F_WRLCK), EBADF);
}

TEST_P(MountLocksTest, ConflictingLocksAreDescribed) {
  const Descriptor file = Open(At("f")), here = Open(At("f")), there = Open(Other("f"));
  ASSERT_EQ(Lock(file.fd, F_WRLCK, 20, 10), 0);
  const auto tested = [](int fd) {
    struct flock lock = Range(F_RDLCK);
    EXPECT_EQ(fcntl(fd, F_GETLK, &lock), 0);
    return std::vector<long>{lock.l_type, lock.l_start, lock.l_len, lock.l_pid};
  };
  EXPECT_EQ(tested(here.fd).at(0), F_UNLCK);  // the process's own
  Child child([&] {
    return tested(here.fd) == std::vector<long>{F_WRLCK, 20, 10, getppid()} ? 0 : 1;
  });
  EXPECT_EQ(child.Wait(), 0);
  EXPECT_EQ(tested(there.fd), (std::vector<long>{F_WRLCK, 20, 10, 0}));
}

TEST_P(MountLocksTest, AreNotInheritedByFork) {
  const Descriptor file = Open(At("f"));
  ASSERT_EQ(Lock(file.fd, F_WRLCK), 0);
  Child child([&] {
    if (Lock(file.fd, F_RDLCK) != EAGAIN) return 1;
    return close(file.fd) == 0 ? 0 : 2;
  });
  EXPECT_EQ(child.Wait(), 0);
  EXPECT_EQ(ChildsLock(Other("f"), F_WRLCK), EAGAIN);  // the child's close releases nothing
}

TEST_P(MountLocksTest, EndWithTheCloseOfAnyDescriptor) {
  const Descriptor file = Open(At("f"));
  for (const int flags : {O_RDWR, O_RDONLY}) {
    Descriptor another = Open(At("f"), flags);
    ASSERT_EQ(Lock(file.fd, F_WRLCK), 0);
    EXPECT_EQ(ChildsLock(Other("f"), F_WRLCK), EAGAIN);
    ASSERT_EQ(close(std::exchange(another.fd, -1)), 0);
    EXPECT_EQ(ChildsLock(Other("f"), F_WRLCK), 0);
  }
  // A lock that another descriptor takes afterwards stays when the closed one is released.
  for (int i = 0; i < 50; ++i) {
    Descriptor another = Open(At("f"));
    ASSERT_EQ(Lock(another.fd, F_WRLCK), 0);
    ASSERT_EQ(close(std::exchange(another.fd, -1)), 0);
    ASSERT_EQ(Lock(file.fd, F_WRLCK), 0);
    EXPECT_EQ(ChildsLock(Other("f"), F_WRLCK), EAGAIN);
  }
}

TEST_P(MountLocksTest, KilledProcessReleasesItsLocks) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Descriptor from(ends[0]), to(ends[1]);
  Child child([&] {
    const int fd = open(At("f").c_str(), O_RDWR | O_CLOEXEC);
    const bool locked = Lock(fd, F_WRLCK) == 0 && pwrite(fd, "killed", 6, 0) == 6;
    (void)!write(to.fd, locked ? "y" : "n", 1);
    pause();
    return 0;
  });
  char locked = 0;
  ASSERT_EQ(read(from.fd, &locked, 1), 1);
  ASSERT_EQ(locked, 'y');
  EXPECT_EQ(ChildsLock(Other("f"), F_WRLCK), EAGAIN);
  kill(child.pid(), SIGKILL);
  EXPECT_EQ(child.Wait(), -SIGKILL);
  EXPECT_TRUE(Eventually([&] { return ChildsLock(Other("f"), F_WRLCK) == 0; }));
  EXPECT_EQ(TextOf(Other("f")).substr(0, 6), "killed");  // before it was unlocked
}

TEST_P(MountLocksTest, AreWaitedFor) {
  const Descriptor file = Open(At("f"));
  ASSERT_EQ(Lock(file.fd, F_WRLCK), 0);
  std::vector<std::unique_ptr<Child>> waiters;
  for (const std::string& path : {At("f"), Other("f")}) {
    waiters.push_back(std::make_unique<Child>([path] {
      const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
      return Lock(fd, F_WRLCK, 0, 0, F_SETLKW);
    }));
  }
  for (const auto& waiter : waiters) {
    EXPECT_TRUE(Eventually([&] { return waiter->IsInFuse(); }));
  }
  ASSERT_EQ(Lock(file.fd, F_UNLCK), 0);
  for (const auto& waiter : waiters) EXPECT_EQ(waiter->Wait(), 0);
}

// With a handler, without SA_RESTART.
TEST_P(MountLocksTest, WaitingIsInterruptedByASignal) {
  const Descriptor file = Open(At("f"));
  ASSERT_EQ(Lock(file.fd, F_WRLCK), 0);
  const auto wait = [](const std::string& path, bool whole, int opened) {
    struct sigaction caught{};
    caught.sa_handler = [](int) {};
    sigaction(SIGUSR1, &caught, nullptr);
    const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
    (void)!write(opened, "o", 1);
    return whole ? ErrorOf(flock(fd, LOCK_EX)) : Lock(fd, F_WRLCK, 0, 0, F_SETLKW);
  };
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Descriptor opened(ends[0]), to(ends[1]);
  for (const std::string& path : {At("f"), Other("f")}) {
    for (const bool whole : {false, true}) {
      Child child([&] { return wait(path, whole, to.fd); });
      char byte;
      ASSERT_EQ(read(opened.fd, &byte, 1), 1);
      EXPECT_TRUE(Eventually([&] { return child.IsInFuse(); }));
      kill(child.pid(), SIGUSR1);
      EXPECT_EQ(child.Wait(), EINTR) << path;
    }
  }
  ASSERT_EQ(Lock(file.fd, F_UNLCK), 0);
  EXPECT_EQ(ChildsLock(At("f"), F_WRLCK), 0);  // nothing is left of them
}

TEST_P(MountLocksTest, WaitersHoldNobodyUp) {
  constexpr int kWaiters = 40;
  const Descriptor file = Open(At("f"));
  ASSERT_EQ(flock(file.fd, LOCK_EX), 0);
  std::vector<std::unique_ptr<Child>> waiters;
  for (int i = 0; i < kWaiters; ++i) {
    waiters.push_back(std::make_unique<Child>([&] {
      const int fd = open(At("f").c_str(), O_RDWR | O_CLOEXEC);
      return ErrorOf(flock(fd, LOCK_EX));
    }));
  }
  for (const auto& waiter : waiters) {
    EXPECT_TRUE(Eventually([&] { return waiter->IsInFuse(); }));
  }
  EXPECT_EQ(WriteText(At("other"), "text"), 0);
  ASSERT_EQ(flock(file.fd, LOCK_UN), 0);
  for (const auto& waiter : waiters) EXPECT_EQ(waiter->Wait(), 0);
}

TEST_P(MountLocksTest, FlockExcludesOpenFiles) {
  Descriptor file = Open(At("f"));
  const Descriptor second = Open(At("f"));
  ASSERT_EQ(flock(file.fd, LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(ErrorOf(flock(second.fd, LOCK_SH | LOCK_NB)), EWOULDBLOCK);  // of this process, too
  EXPECT_EQ(ChildsFlock(Other("f"), LOCK_SH), EWOULDBLOCK);
  ASSERT_EQ(flock(file.fd, LOCK_SH | LOCK_NB), 0);  // downgrades
  EXPECT_EQ(ChildsFlock(Other("f"), LOCK_SH), 0);
  EXPECT_EQ(ChildsFlock(Other("f"), LOCK_EX), EWOULDBLOCK);
  ASSERT_EQ(flock(second.fd, LOCK_SH | LOCK_NB), 0);
  EXPECT_EQ(ErrorOf(flock(file.fd, LOCK_EX | LOCK_NB)), EWOULDBLOCK);
  ASSERT_EQ(flock(second.fd, LOCK_UN), 0);
  ASSERT_EQ(flock(file.fd, LOCK_EX | LOCK_NB), 0);  // upgrades
  EXPECT_EQ(ChildsFlock(Other("f"), LOCK_SH), EWOULDBLOCK);
  // A process of which one descriptor is closed keeps it, and a child has it, too.
  close(Open(At("f")).fd);
  Child child([&] { return ErrorOf(flock(file.fd, LOCK_EX | LOCK_NB)); });
  EXPECT_EQ(child.Wait(), 0);
  EXPECT_EQ(ChildsFlock(Other("f"), LOCK_SH), EWOULDBLOCK);
  ASSERT_EQ(close(std::exchange(file.fd, -1)), 0);
  EXPECT_TRUE(Eventually([&] { return ChildsFlock(Other("f"), LOCK_EX) == 0; }));
}

// As in Linux: NFS needs the right to write for an exclusive lock.
TEST_P(MountLocksTest, FlockNeedsTheRightsOfItsType) {
  const Descriptor reader = Open(At("f"), O_RDONLY);
  EXPECT_EQ(ErrorOf(flock(reader.fd, LOCK_EX | LOCK_NB)), EBADF);
  EXPECT_EQ(flock(reader.fd, LOCK_SH | LOCK_NB), 0);
  EXPECT_EQ(ChildsFlock(Other("f"), LOCK_EX), EWOULDBLOCK);
}

// flock(2) and F_OFD_SETLK have one owner in the kernel.
TEST_P(MountLocksTest, FcntlAndFlockLocksAreReleasedSeparately) {
  const Descriptor file = Open(At("f"));
  ASSERT_EQ(Lock(file.fd, F_RDLCK, 0, 10, F_OFD_SETLK), 0);
  ASSERT_EQ(flock(file.fd, LOCK_SH | LOCK_NB), 0);
  ASSERT_EQ(Lock(file.fd, F_UNLCK, 0, 10, F_OFD_SETLK), 0);
  EXPECT_EQ(ChildsFlock(Other("f"), LOCK_EX), EWOULDBLOCK);
  ASSERT_EQ(Lock(file.fd, F_RDLCK, 0, 10, F_OFD_SETLK), 0);
  ASSERT_EQ(flock(file.fd, LOCK_UN), 0);
  EXPECT_EQ(ChildsLock(Other("f"), F_WRLCK), EAGAIN);
}

// Two counters, each a process of a mount: a page that was read before, and one behind the end.
TEST_P(MountLocksTest, LockShowsDataWrittenUnderTheLastOne) {
  constexpr int kTurns = 200;
  const std::array<Descriptor, 2> files{Open(At("f")), Open(Other("f"))};
  std::string expected = TextOf(At("f"));
  for (int turn = 0; turn < kTurns; ++turn) {
    const Descriptor& file = files[static_cast<size_t>(turn) % 2];
    ASSERT_EQ(Lock(file.fd, F_WRLCK, 0, 0, F_SETLKW), 0);
    std::string found(1 << 16, '?');
    const ssize_t count = pread(file.fd, found.data(), found.size(), 0);
    ASSERT_GE(count, 0);
    found.resize(static_cast<size_t>(count));
    ASSERT_EQ(found, expected) << turn;
    const std::string more(static_cast<size_t>(turn), static_cast<char>('a' + turn % 26));
    expected[0] = static_cast<char>('A' + turn % 26);
    expected += more;
    ASSERT_EQ(pwrite(file.fd, expected.data(), 1, 0), 1);
    ASSERT_EQ(pwrite(file.fd, more.data(), more.size(),
                     static_cast<off_t>(expected.size() - more.size())),
              turn);
    ASSERT_EQ(Lock(file.fd, F_UNLCK), 0);
  }
}

TEST_P(MountLocksTest, LockShowsMappedDataWrittenUnderTheLastOne) {
  constexpr size_t kBytes = 3 * 4096;
  const std::array<Descriptor, 2> files{Open(At("f")), Open(Other("f"))};
  ASSERT_EQ(truncate(At("f").c_str(), kBytes), 0);
  std::array<char*, 2> mapped{};
  for (size_t i = 0; i < 2; ++i) {
    mapped[i] = static_cast<char*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, files[i].fd, 0));
    ASSERT_NE(mapped[i], MAP_FAILED);
  }
  for (int turn = 1; turn <= 100; ++turn) {
    const auto at = static_cast<size_t>(turn) % 2;
    ASSERT_EQ(Lock(files[at].fd, F_WRLCK, 0, 0, F_SETLKW), 0);
    if (turn > 1) {
      ASSERT_EQ(mapped[at][5000], static_cast<char>(turn - 1)) << turn;
    }
    mapped[at][5000] = static_cast<char>(turn);
    ASSERT_EQ(Lock(files[at].fd, F_UNLCK), 0);
  }
  for (char* const each : mapped) munmap(each, kBytes);
}

// In rollback mode, which locks by F_SETLK.
TEST_P(MountLocksTest, SqliteCountsAllTransactionsOfTwoMounts) {
  constexpr const char* kScript =
      "import sqlite3, sys\n"
      "db = sqlite3.connect(sys.argv[1], timeout=60, isolation_level=None)\n"
      "if sys.argv[2] == 'make':\n"
      "  db.execute('PRAGMA journal_mode=DELETE')\n"
      "  db.execute('CREATE TABLE t (n INTEGER)')\n"
      "  db.execute('INSERT INTO t VALUES (0)')\n"
      "for _ in range(int(sys.argv[3])): db.execute('UPDATE t SET n = n + 1')\n"
      "print(db.execute('SELECT n FROM t').fetchone()[0], db.execute('PRAGMA "
      "integrity_check').fetchone()[0])\n";
  const auto run = [&](const std::string& path, const char* what, const char* count) {
    return RunProgram({"python3", "-c", kScript, path, what, count});
  };
  if (RunProgram({"python3", "-c", "import sqlite3"}).exit_code != 0) {
    GTEST_SKIP() << "python3 has no sqlite3";
  }
  ASSERT_EQ(run(At("db"), "make", "0").out, "0 ok\n");
  const auto count = [&](const std::string& path) {
    const ProgramRun counted = run(path, "count", "150");
    if (counted.exit_code != 0) fputs(counted.err.c_str(), stderr);
    return counted.exit_code;
  };
  Child one([&] { return count(At("db")); }), two([&] { return count(Other("db")); });
  EXPECT_EQ(one.Wait(), 0);
  EXPECT_EQ(two.Wait(), 0);
  EXPECT_EQ(run(At("db"), "show", "0").out, "300 ok\n");
  EXPECT_EQ(run(Other("db"), "show", "0").out, "300 ok\n");
}

INSTANTIATE_TEST_SUITE_P(Version, MountLocksTest, testing::Values(4), fixtures::VersionTestName);

using MountLocalLocksTest = MountLocks;

TEST_P(MountLocalLocksTest, ExcludeTheirMountAlone) {
  MountBoth("nolock");
  const Descriptor file = Open(At("f"));
  ASSERT_EQ(Lock(file.fd, F_WRLCK), 0);
  EXPECT_EQ(ChildsLock(At("f"), F_WRLCK), EAGAIN);
  EXPECT_EQ(ChildsLock(Other("f"), F_WRLCK), 0);
  ASSERT_EQ(flock(file.fd, LOCK_EX), 0);
  EXPECT_EQ(ChildsFlock(At("f"), LOCK_EX), EWOULDBLOCK);
  EXPECT_EQ(ChildsFlock(Other("f"), LOCK_EX), 0);
}

INSTANTIATE_TEST_SUITE_P(Versions, MountLocalLocksTest, fixtures::AllVersions(),
                         fixtures::VersionTestName);

}  // namespace
}  // namespace nfswalk
