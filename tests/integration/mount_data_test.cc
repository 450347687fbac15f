// `nfswalk mount`: data of files, locks, and what NFS has no call for.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>

#include "tests/integration/mount_run.h"

namespace nfswalk {
namespace {

class MountDataTest : public MountRun {
 protected:
  void SetUp() override {
    MountRun::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    Mount();
  }

  static constexpr int kPunch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;

  static bool HasSpaceCalls() {
    const char* const minor = std::getenv("NFSWALK_MINOR_VERSION");
    return GetParam() == 4 && minor != nullptr && std::atoi(minor) >= 2;
  }
  Descriptor Open(const std::string& name, int flags = O_RDWR | O_CREAT) const {
    return Descriptor(open(At(name).c_str(), flags | O_CLOEXEC, 0644));
  }
  static long Write(const Descriptor& file, const std::string& text, off_t offset) {
    return pwrite(file.fd, text.data(), text.size(), offset);
  }
  static std::string Read(const Descriptor& file, size_t bytes, off_t offset) {
    std::string text(bytes, '?');
    const ssize_t count = pread(file.fd, text.data(), bytes, offset);
    return count < 0 ? fmt::format("errno {}", errno) : text.substr(0, static_cast<size_t>(count));
  }
  static std::set<std::string> Names(const std::filesystem::path& directory) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      names.insert(entry.path().filename());
    }
    return names;
  }
};

TEST_P(MountDataTest, TruncatesAndExtends) {
  const Descriptor file = Open("f");
  EXPECT_EQ(Write(file, "0123456789", 0), 10);
  EXPECT_EQ(ftruncate(file.fd, 4), 0);
  EXPECT_EQ(StatOf(At("f")).st_size, 4);
  EXPECT_EQ(ftruncate(file.fd, 8), 0);
  EXPECT_EQ(Read(file, 100, 0), std::string("0123\0\0\0\0", 8));
  EXPECT_EQ(truncate(At("f").c_str(), 2), 0);
  EXPECT_EQ(Read(file, 100, 0), "01");
  EXPECT_EQ(TextOf(Backing("f")), "01");
  EXPECT_EQ(ErrorOf(truncate(At("f").c_str(), -1)), EINVAL);
  EXPECT_EQ(ErrorOf(truncate(mount_point().c_str(), 0)), EISDIR);
  EXPECT_EQ(ErrorOf(truncate(At("none").c_str(), 0)), ENOENT);
}

TEST_P(MountDataTest, ReadsHolesAsZeros) {
  constexpr off_t kFar = off_t{5} << 30;
  const Descriptor file = Open("f");
  EXPECT_EQ(Write(file, "end", kFar), 3);
  EXPECT_EQ(fsync(file.fd), 0);
  EXPECT_EQ(StatOf(At("f")).st_size, kFar + 3);
  EXPECT_LT(StatOf(At("f")).st_blocks, 1 << 20);
  EXPECT_EQ(Read(file, 4, kFar - 1), std::string("\0end", 4));
  EXPECT_EQ(Read(file, 3, 12'345), std::string(3, '\0'));
  EXPECT_EQ(Read(file, 3, kFar + 3), "");
}

// As an assembler writes: WIRE-29.
TEST_P(MountDataTest, PiecesThatAreReadBackGoOutTogether) {
  std::string expected;
  const uint64_t before = Counted("rpc_replies_total", "WRITE");
  {
    const Descriptor file = Open("f");
    for (const off_t offset : {4992, 64, 2888, 3136, 5584, 3864, 0, 7000}) {
      const auto at = static_cast<size_t>(offset);
      const std::string piece(500 + at % 700, static_cast<char>('a' + at % 26));
      EXPECT_EQ(Write(file, piece, offset), static_cast<long>(piece.size()));
      expected.resize(std::max(expected.size(), at + piece.size()));
      expected.replace(at, piece.size(), piece);
      EXPECT_EQ(Read(file, 8192, 0), expected);
    }
  }
  EXPECT_EQ(TextOf(Backing("f")), expected);
  EXPECT_EQ(Counted("rpc_replies_total", "WRITE") - before, 1u);
}

// nfs_getattr(): after a read(2), for which only the size was asked for, too.
TEST_P(MountDataTest, AStatHasTheTimeOfAWriteThatWasNotSent) {
  constexpr time_t kLongAgo = 1'000'000'000;
  File("f", "text");
  const timespec times[] = {{kLongAgo, 0}, {kLongAgo, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, Backing("f").c_str(), times, 0), 0);
  const Descriptor file = Open("f", O_RDWR);
  struct stat found{};
  ASSERT_EQ(fstat(file.fd, &found), 0);
  EXPECT_EQ(found.st_mtime, kLongAgo);
  const std::string page(4096, 'm');
  EXPECT_EQ(Write(file, page, 0), 4096);
  EXPECT_EQ(Read(file, 100, 4090), "mmmmmm");  // from the kernel's page
  ASSERT_EQ(fstat(file.fd, &found), 0);
  EXPECT_GT(found.st_mtime, kLongAgo);
  EXPECT_EQ(found.st_size, 4096);
}

TEST_P(MountDataTest, MappedPagesAreWritten) {
  constexpr size_t kBytes = 3 * 4096 + 100;
  const Descriptor file = Open("f");
  ASSERT_EQ(ftruncate(file.fd, kBytes), 0);
  auto* const mapped =
      static_cast<char*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0));
  ASSERT_NE(mapped, MAP_FAILED) << strerror(errno);
  mapped[0] = 'a';
  mapped[kBytes - 1] = 'z';
  EXPECT_EQ(msync(mapped, kBytes, MS_SYNC), 0);
  EXPECT_EQ(fsync(file.fd), 0);
  std::string expected(kBytes, '\0');
  expected.front() = 'a';
  expected.back() = 'z';
  EXPECT_EQ(TextOf(Backing("f")), expected);
  // write(2) and the pages are one.
  EXPECT_EQ(Write(file, "bcd", 4096), 3);
  EXPECT_EQ(std::string(mapped + 4096, 3), "bcd");
  mapped[8192] = 'm';
  EXPECT_EQ(munmap(mapped, kBytes), 0);
  EXPECT_EQ(Read(file, 1, 8192), "m");
}

// Whichever descriptor the kernel writes the pages by: it takes the last that was mapped.
TEST_P(MountDataTest, CloseWritesWhatWasMapped) {
  constexpr size_t kBytes = 8192;
  File("f", std::string(kBytes, '.'));
  Descriptor closed = Open("f", O_RDWR);
  const Descriptor other = Open("f", O_RDWR);
  const auto map = [](const Descriptor& file) {
    return static_cast<char*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0));
  };
  char* const mapped = map(closed);
  char* const unused = map(other);
  ASSERT_NE(mapped, MAP_FAILED);
  std::memset(mapped, 'm', kBytes);
  ASSERT_EQ(munmap(mapped, kBytes), 0);
  ASSERT_EQ(close(std::exchange(closed.fd, -1)), 0);
  EXPECT_EQ(TextOf(Backing("f")), std::string(kBytes, 'm'));
  ASSERT_EQ(munmap(unused, kBytes), 0);
}

TEST_P(MountDataTest, CloseWritesWhatAnotherDescriptorWrote) {
  const Descriptor first = Open("f");
  Descriptor second = Open("f", O_WRONLY);
  EXPECT_EQ(Write(first, "text", 0), 4);
  EXPECT_EQ(close(std::exchange(second.fd, -1)), 0);
  EXPECT_EQ(TextOf(Backing("f")), "text");
}

// More than is kept in memory, so that the end of the file is on the server while the rest is
// written anew.
TEST_P(MountDataTest, AFileThatIsRewrittenKeepsItsEnd) {
  constexpr off_t kPiece = 1 << 20;
  constexpr off_t kPieces = 200;
  constexpr off_t kBytes = kPiece * kPieces;
  const Descriptor file = Open("f");
  const std::string old(kPiece, 'o'), anew(kPiece, 'n');
  for (off_t piece = 0; piece < kPieces; ++piece) {
    ASSERT_EQ(Write(file, old, piece * kPiece), kPiece);
  }
  for (off_t piece = 0; piece < 64; ++piece) {
    ASSERT_EQ(Write(file, anew, piece * kPiece), kPiece);
    EXPECT_EQ(lseek(file.fd, 0, SEEK_END), kBytes) << piece;
    const off_t offset = kBytes - 100'000 - piece * 4096;
    EXPECT_EQ(Read(file, 4096, offset), std::string(4096, 'o')) << piece;
  }
}

TEST_P(MountDataTest, FsyncReachesTheServer) {
  const Descriptor file = Open("f");
  EXPECT_EQ(Write(file, "text", 0), 4);
  EXPECT_EQ(fsync(file.fd), 0);
  EXPECT_EQ(TextOf(Backing("f")), "text");
  EXPECT_EQ(Write(file, "more", 4), 4);
  EXPECT_EQ(fdatasync(file.fd), 0);
  EXPECT_EQ(TextOf(Backing("f")), "textmore");
  const Descriptor directory = Open(".", O_RDONLY | O_DIRECTORY);
  EXPECT_EQ(fsync(directory.fd), 0);
}

TEST_P(MountDataTest, UnlinkedFilesLiveWhileTheyAreOpen) {
  {
    const Descriptor file = Open("f");
    EXPECT_EQ(Write(file, "text", 0), 4);
    EXPECT_EQ(unlink(At("f").c_str()), 0);
    EXPECT_EQ(OpenError(At("f"), O_RDONLY), ENOENT);
    EXPECT_EQ(Write(file, "more", 4), 4);
    EXPECT_EQ(fsync(file.fd), 0);
    EXPECT_EQ(Read(file, 100, 0), "textmore");
    struct stat found{};
    EXPECT_EQ(fstat(file.fd, &found), 0);
    EXPECT_EQ(found.st_size, 8);
    EXPECT_EQ(ftruncate(file.fd, 2), 0);
    EXPECT_EQ(Read(file, 100, 0), "te");
    EXPECT_EQ(Names(mount_point()), std::set<std::string>{});
    // The name is free.
    EXPECT_EQ(WriteText(At("f"), "another"), 0);
    EXPECT_EQ(Read(file, 100, 0), "te");
  }
  EXPECT_EQ(TextOf(At("f")), "another");
  EXPECT_TRUE(Eventually([&] { return Names(Backing("")) == std::set<std::string>{"f"}; }));
}

TEST_P(MountDataTest, DirectoriesOfUnlinkedFilesCanBeRemoved) {
  Directory("d");
  Descriptor file = Open("d/f");
  EXPECT_EQ(unlink(At("d/f").c_str()), 0);
  close(std::exchange(file.fd, -1));
  // The release comes behind close(2).
  EXPECT_TRUE(Eventually([&] { return rmdir(At("d").c_str()) == 0; }));
}

TEST_P(MountDataTest, AppendsOfTwoProcessesDoNotOverlap) {
  constexpr int kRecords = 300;
  const auto append = [&](const char* who) {
    const int fd = open(At("log").c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    for (int i = 0; i < kRecords; ++i) {
      const std::string record = fmt::format("{} {:05}\n", who, i);
      if (write(fd, record.data(), record.size()) != static_cast<ssize_t>(record.size())) return 1;
    }
    return close(fd) == 0 ? 0 : 2;
  };
  Child one([&] { return append("one"); });
  Child two([&] { return append("two"); });
  EXPECT_EQ(one.Wait(), 0);
  EXPECT_EQ(two.Wait(), 0);
  const Strings lines = Split(TextOf(Backing("log")), '\n');
  EXPECT_EQ(lines.size(), 2U * kRecords);
  EXPECT_EQ(std::set(lines.begin(), lines.end()).size(), 2U * kRecords);
  for (const std::string& line : lines) EXPECT_EQ(line.size(), 9U) << line;
}

TEST_P(MountDataTest, LocksHoldBetweenProcesses) {
  const Descriptor file = Open("f");
  EXPECT_EQ(Write(file, std::string(100, 'x'), 0), 100);
  const auto other_flock = [&] {
    Child child([&] {
      const int fd = open(At("f").c_str(), O_RDWR | O_CLOEXEC);
      const int error = ErrorOf(flock(fd, LOCK_EX | LOCK_NB));
      // At the end of a process the kernel does not wait for RELEASE.
      (void)flock(fd, LOCK_UN);
      return error;
    });
    return child.Wait();
  };
  const auto other_lock = [&](off_t start) {
    Child child([&] {
      const int fd = open(At("f").c_str(), O_RDWR | O_CLOEXEC);
      struct flock lock{};
      lock.l_type = F_WRLCK;
      lock.l_start = start;
      lock.l_len = 10;
      return ErrorOf(fcntl(fd, F_SETLK, &lock));
    });
    return child.Wait();
  };
  ASSERT_EQ(flock(file.fd, LOCK_EX | LOCK_NB), 0);
  EXPECT_EQ(other_flock(), EWOULDBLOCK);
  ASSERT_EQ(flock(file.fd, LOCK_UN), 0);
  EXPECT_EQ(other_flock(), 0);
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_start = 20;
  lock.l_len = 10;
  ASSERT_EQ(fcntl(file.fd, F_SETLK, &lock), 0);
  EXPECT_EQ(other_lock(25), EAGAIN);
  EXPECT_EQ(other_lock(30), 0);
  lock.l_type = F_UNLCK;
  ASSERT_EQ(fcntl(file.fd, F_SETLK, &lock), 0);
  EXPECT_EQ(other_lock(25), 0);
}

TEST_P(MountDataTest, CallsWithoutAnRpcAreRefused) {
  const Descriptor file = Open("f"), copy = Open("copy");
  EXPECT_EQ(Write(file, "text", 0), 4);
  char value[8];
  EXPECT_EQ(ErrorOf(setxattr(At("f").c_str(), "user.name", "x", 1, 0)), EOPNOTSUPP);
  EXPECT_EQ(ErrorOf(getxattr(At("f").c_str(), "user.name", value, sizeof(value))), EOPNOTSUPP);
  EXPECT_EQ(ErrorOf(listxattr(At("f").c_str(), value, sizeof(value))), EOPNOTSUPP);
  EXPECT_EQ(ErrorOf(removexattr(At("f").c_str(), "user.name")), EOPNOTSUPP);
  EXPECT_EQ(ErrorOf(fallocate(file.fd, FALLOC_FL_ZERO_RANGE, 0, 100)), EOPNOTSUPP);
  EXPECT_EQ(ErrorOf(fallocate(file.fd, FALLOC_FL_KEEP_SIZE, 0, 100)), EOPNOTSUPP);
  if (!HasSpaceCalls()) {
    EXPECT_EQ(ErrorOf(fallocate(file.fd, 0, 0, 100)), EOPNOTSUPP);
    EXPECT_EQ(ErrorOf(fallocate(file.fd, kPunch, 0, 100)), EOPNOTSUPP);
  }
  EXPECT_EQ(ErrorOf(open(At("").c_str(), O_TMPFILE | O_RDWR, 0600)), EOPNOTSUPP);
  // The kernel copies itself, the C library writes, and all of a file is data.
  EXPECT_EQ(copy_file_range(file.fd, nullptr, copy.fd, nullptr, 4, 0), 4);
  EXPECT_EQ(TextOf(At("copy")), "text");
  EXPECT_EQ(posix_fallocate(file.fd, 0, 100), 0);
  EXPECT_EQ(StatOf(At("f")).st_size, 100);
  EXPECT_EQ(lseek(file.fd, 1, SEEK_DATA), 1);
  EXPECT_EQ(lseek(file.fd, 1, SEEK_HOLE), 100);
}

// Needs ALLOCATE, DEALLOCATE and SEEK, which version 4.2 has.
TEST_P(MountDataTest, SpaceIsAllocatedAndHolesArePunched) {
  if (!HasSpaceCalls()) GTEST_SKIP() << "no operation of this version";
  constexpr off_t kBlock = 4096;  // of the server's tmpfs
  const Descriptor file = Open("f"), other = Open("f");
  EXPECT_EQ(fallocate(file.fd, 0, 0, 4 * kBlock), 0);
  EXPECT_EQ(StatOf(At("f")).st_size, 4 * kBlock);
  EXPECT_EQ(StatOf(Backing("f")).st_size, 4 * kBlock);
  EXPECT_EQ(Write(file, std::string(4 * kBlock, 'x'), 0), 4 * kBlock);
  EXPECT_EQ(fallocate(other.fd, kPunch, kBlock, 2 * kBlock), 0) << "behind what was written";
  const std::string expected =
      std::string(kBlock, 'x') + std::string(2 * kBlock, '\0') + std::string(kBlock, 'x');
  EXPECT_EQ(Read(file, 5 * kBlock, 0), expected);
  EXPECT_EQ(TextOf(Backing("f")), expected);
  EXPECT_EQ(StatOf(At("f")).st_blocks, StatOf(Backing("f")).st_blocks);
  EXPECT_EQ(lseek(file.fd, 0, SEEK_HOLE), kBlock);
  EXPECT_EQ(lseek(file.fd, kBlock, SEEK_DATA), 3 * kBlock);
  EXPECT_EQ(lseek(file.fd, 3 * kBlock, SEEK_HOLE), 4 * kBlock);
  EXPECT_EQ(ErrorOf(lseek(file.fd, 4 * kBlock, SEEK_DATA)), ENXIO);
  const Descriptor reader = Open("f", O_RDONLY);
  EXPECT_EQ(ErrorOf(fallocate(reader.fd, 0, 0, 1)), EBADF);
  EXPECT_EQ(ErrorOf(fallocate(file.fd, 0, 0, 0)), EINVAL);
}

// Needs SEEK, which version 4.2 has. A page that was written through a mapping is data before it is
// written back.
TEST_P(MountDataTest, AMappedPageIsNoHole) {
  if (!HasSpaceCalls()) GTEST_SKIP() << "no operation of this version";
  constexpr size_t kBlock = 4096;
  const Descriptor file = Open("f"), other = Open("f", O_RDONLY);
  ASSERT_EQ(ftruncate(file.fd, 8 * kBlock), 0);
  void* const mapped = mmap(nullptr, 8 * kBlock, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  static_cast<char*>(mapped)[5 * kBlock] = 'x';
  EXPECT_EQ(lseek(other.fd, 0, SEEK_DATA), static_cast<off_t>(5 * kBlock));
  munmap(mapped, 8 * kBlock);
}

// By cp(1) and tar(1), which look for all of that.
TEST_P(MountDataTest, ProgramsCopyTrees) {
  Shell(
      "mkdir -p src/a/b; for i in $(seq 60); do head -c $((i * 997)) /dev/urandom >src/a/$i; done\n"
      "ln -s a/1 src/link; ln src/a/2 src/a/b/two; mkfifo src/fifo; chmod 640 src/a/3");
  const ProgramRun copied =
      RunProgram({"sh", "-c",
                  fmt::format("cd {} && cp -a src copied && mkdir out && tar cf a.tar src && "
                              "tar xf a.tar -C out && diff -r --no-dereference -x fifo src copied "
                              "&& diff -r --no-dereference -x fifo src out/src && rm -r copied",
                              mount_point())});
  EXPECT_EQ(copied.exit_code, 0) << copied.err << copied.out;
  EXPECT_EQ(Shell("diff -r --no-dereference -x fifo src out/src; ls"), "a.tar\nout\nsrc\n");
}

INSTANTIATE_TEST_SUITE_P(Versions, MountDataTest, fixtures::AllVersions(),
                         fixtures::VersionTestName);

}  // namespace
}  // namespace nfswalk
