// `nfswalk mount`: an open has what another client closed before, whatever comes after the open.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <string>
#include <utility>

#include "tests/integration/mount_pair.h"

namespace nfswalk {
namespace {

constexpr int kTries = 300;
constexpr int kTriesOfRaces = 1500;
constexpr size_t kBytesMax = 1 << 16;

Descriptor Temporary() { return Descriptor(memfd_create("copy", MFD_CLOEXEC)); }

std::string BytesOf(const Descriptor& file) {
  std::string text(kBytesMax, '?');
  const ssize_t count = pread(file.fd, text.data(), text.size(), 0);
  return count < 0 ? fmt::format("errno {}", errno) : text.substr(0, static_cast<size_t>(count));
}

class MountOpensTest : public MountPair {
 protected:
  // How a program gets at the contents of a file of so many bytes: what it got.
  using Program = std::function<std::string(const std::string& path, size_t bytes)>;

  void SetUp() override {
    MountPair::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    MountBoth();
  }

  // Another client writes a file that this one has seen, longer and shorter in turn.
  void ExpectLatest(const Program& program, int tries = kTries) const {
    constexpr std::array<size_t, 9> kSizes{41, 5032, 100, 10'000, 50, 4096, 20'000, 8193, 4095};
    ASSERT_EQ(WriteText(At("f"), "first"), 0);
    int wrong = 0;
    std::string last;
    for (int i = 0; i < tries; ++i) {
      (void)TextOf(At("f"));
      const std::string text(kSizes[static_cast<size_t>(i) % kSizes.size()],
                             static_cast<char>('a' + i % 26));
      ASSERT_EQ(WriteText(Other("f"), text), 0);
      const std::string found = program(At("f"), text.size());
      if (found == text) continue;
      ++wrong;
      last = fmt::format("try {}: {} bytes of {}: {}", i, found.size(), text.size(),
                         found.substr(0, 60));
    }
    EXPECT_EQ(wrong, 0) << "of " << tries << ", " << last;
  }

  static Descriptor Open(const std::string& path, int flags = O_RDONLY) {
    Descriptor file(open(path.c_str(), flags | O_CLOEXEC, 0644));
    EXPECT_GE(file.fd, 0) << strerror(errno);
    return file;
  }
  static std::string ReadOnce(const Descriptor& file) {
    std::string text(kBytesMax, '?');
    const ssize_t count = read(file.fd, text.data(), text.size());
    return count < 0 ? fmt::format("errno {}", errno) : text.substr(0, static_cast<size_t>(count));
  }
  // Into another file of the mount.
  static std::string CopyOf(const Descriptor& file, const std::string& path) {
    const Descriptor copy = Open(path + ".copy", O_RDWR | O_CREAT | O_TRUNC);
    if (copy_file_range(file.fd, nullptr, copy.fd, nullptr, kBytesMax, 0) < 0) {
      return fmt::format("errno {}", errno);
    }
    return BytesOf(copy);
  }
};

TEST_P(MountOpensTest, ReadOnceHasAll) {
  ExpectLatest([](const std::string& path, size_t) { return ReadOnce(Open(path)); },
               kTriesOfRaces);
}

TEST_P(MountOpensTest, CopyFileRangeHasAll) {
  ExpectLatest([](const std::string& path, size_t) { return CopyOf(Open(path), path); });
}

// As cp(1).
TEST_P(MountOpensTest, CopyFileRangeBehindFstatHasAll) {
  const auto copy = [](const std::string& path, size_t bytes) {
    const Descriptor file = Open(path);
    struct stat found{};
    EXPECT_EQ(fstat(file.fd, &found), 0);
    EXPECT_EQ(found.st_size, static_cast<off_t>(bytes));
    return CopyOf(file, path);
  };
  ExpectLatest(copy, kTriesOfRaces);
}

TEST_P(MountOpensTest, CpHasAll) {
  ExpectLatest([](const std::string& path, size_t) {
    EXPECT_EQ(RunProgram({"cp", path, path + ".copy"}).exit_code, 0);
    return TextOf(path + ".copy");
  });
}

TEST_P(MountOpensTest, SendfileHasAll) {
  ExpectLatest([](const std::string& path, size_t) {
    const Descriptor copy = Temporary();
    if (sendfile(copy.fd, Open(path).fd, nullptr, kBytesMax) < 0) {
      return fmt::format("errno {}", errno);
    }
    return BytesOf(copy);
  });
}

TEST_P(MountOpensTest, SpliceHasAll) {
  ExpectLatest([](const std::string& path, size_t) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const Descriptor from(ends[0]), to(ends[1]);
    const ssize_t count = splice(Open(path).fd, nullptr, to.fd, nullptr, kBytesMax / 2, 0);
    return count <= 0 ? fmt::format("{}, errno {}", count, errno) : ReadOnce(from);
  });
}

// write(2) of a page that lies behind the end of the file ends in EFAULT.
std::string MappedText(const Descriptor& file, size_t bytes) {
  void* const mapped = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.fd, 0);
  if (mapped == MAP_FAILED) return fmt::format("errno {}", errno);
  const Descriptor copy = Temporary();
  const ssize_t count = write(copy.fd, mapped, bytes);
  EXPECT_EQ(munmap(mapped, bytes), 0);
  return count < 0 ? fmt::format("errno {}", errno) : BytesOf(copy);
}

TEST_P(MountOpensTest, AMappingHasAll) {
  ExpectLatest(
      [](const std::string& path, size_t bytes) { return MappedText(Open(path), bytes); });
}

TEST_P(MountOpensTest, SeekFindsTheEnd) {
  ExpectLatest([](const std::string& path, size_t bytes) {
    const Descriptor file = Open(path);
    const off_t end = lseek(file.fd, 0, SEEK_END);
    return end == static_cast<off_t>(bytes) ? BytesOf(file) : fmt::format("end {}", end);
  });
}

TEST_P(MountOpensTest, AppendsGoToTheEnd) {
  ExpectLatest([this](const std::string& path, size_t bytes) {
    Descriptor file = Open(path, O_RDWR | O_APPEND);
    EXPECT_EQ(write(file.fd, "end", 3), 3);
    EXPECT_EQ(lseek(file.fd, 0, SEEK_CUR), static_cast<off_t>(bytes + 3));
    const std::string shown = BytesOf(file);
    EXPECT_EQ(close(std::exchange(file.fd, -1)), 0);
    EXPECT_TRUE(shown == TextOf(Backing("f")));
    EXPECT_TRUE(shown.ends_with("end"));
    return shown.substr(0, shown.size() - 3);
  });
}

TEST_P(MountOpensTest, FilesThatMayBeMadeAreThereAlready) {
  ExpectLatest([](const std::string& path, size_t) {
    const Descriptor copy = Temporary();
    const Descriptor file = Open(path, O_RDWR | O_CREAT);
    EXPECT_GE(sendfile(copy.fd, file.fd, nullptr, kBytesMax), 0);
    return BytesOf(copy);
  });
}

TEST_P(MountOpensTest, FilesAreOpenedWithoutAName) {
  ExpectLatest([](const std::string& path, size_t bytes) {
    const Descriptor path_only = Open(path, O_PATH);
    const Descriptor file = Open(fmt::format("/proc/self/fd/{}", path_only.fd));
    return MappedText(file, bytes);
  });
}

// Only to a longer file the kernel's size can be brought without a LOOKUP; it asks for it to read.
TEST_P(MountOpensTest, FilesAreOpenedByHandle) {
  struct {
    file_handle head;
    unsigned char bytes[MAX_HANDLE_SZ];
  } handle{};
  const Descriptor directory = Open(mount_point());
  ExpectLatest([&](const std::string& path, size_t) {
    int mount_id;
    handle.head.handle_bytes = MAX_HANDLE_SZ;
    EXPECT_EQ(name_to_handle_at(AT_FDCWD, path.c_str(), &handle.head, &mount_id, 0), 0);
    return ReadOnce(Descriptor(open_by_handle_at(directory.fd, &handle.head, O_RDONLY)));
  });
}

// One request each: the first follows a LOOKUP, the next ones do not.
TEST_P(MountOpensTest, OpenOfAnUnchangedFileIsOneRequest) {
  constexpr int kFiles = 50;
  for (int i = 0; i < kFiles; ++i) File(fmt::format("{}", i), "text");
  const uint64_t before = Counted("fuse_requests_total", "OPEN");
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < kFiles; ++i) EXPECT_EQ(TextOf(At(fmt::format("{}", i))), "text");
  }
  EXPECT_EQ(Counted("fuse_requests_total", "OPEN") - before, 3U * kFiles);
}

INSTANTIATE_TEST_SUITE_P(Versions, MountOpensTest, fixtures::AllVersions(),
                         fixtures::VersionTestName);

}  // namespace
}  // namespace nfswalk
