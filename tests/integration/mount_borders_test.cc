// The plain system calls of a mount at the borders of offsets and sizes: each ends as on a local
// file, and leaves what it leaves there.

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>

#include "tests/fixtures/file_data.h"
#include "tests/integration/mount_run.h"
#include "tests/integration/twin_program.h"

namespace nfswalk {
namespace {

using fixtures::Pattern;

constexpr off_t kPage = 4096;
// The largest file of some servers' file systems is far below the largest offset.
constexpr off_t kOnEveryServer = off_t{1} << 40;
constexpr off_t kOffsets[] = {0,
                              1,
                              kPage - 1,
                              kPage,
                              kPage + 1,
                              (off_t{1} << 31) - 1,
                              (off_t{1} << 32) - 1,
                              off_t{1} << 32,
                              INT64_MAX - kPage,
                              INT64_MAX - 1,
                              INT64_MAX,
                              -1,
                              INT64_MIN};
constexpr size_t kSizes[] = {0, 1, kPage - 1, kPage, kPage + 1};

// A call on `fd` and, where it takes a second file, on `other`.
struct Call {
  const char* name;
  long (*make)(int fd, int other, off_t at, size_t bytes);
};

// Returns the buffer that calls read into.
std::string& Buffer() {
  static std::string buffer(2 * kPage, '\0');
  return buffer;
}

// Returns the type of the lock after the call, or -1.
long Lock(int fd, int command, short type, off_t at, size_t bytes) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = at;
  lock.l_len = static_cast<off_t>(bytes);
  const long result = fcntl(fd, command, &lock);
  return result == 0 ? lock.l_type : result;
}

constexpr Call kCalls[] = {
    {"pread", [](int fd, int, off_t at, size_t bytes) -> long {
       return pread(fd, Buffer().data(), bytes, at);
     }},
    {"pwrite", [](int fd, int, off_t at, size_t bytes) -> long {
       return pwrite(fd, Pattern(bytes, 1).data(), bytes, at);
     }},
    {"pwritev of two", [](int fd, int, off_t at, size_t bytes) -> long {
       std::string text = Pattern(bytes, 2);
       const iovec parts[] = {{text.data(), bytes / 2}, {text.data() + bytes / 2, bytes - bytes / 2}};
       return pwritev(fd, parts, 2, at);
     }},
    {"write after lseek", [](int fd, int, off_t at, size_t bytes) -> long {
       if (lseek(fd, at, SEEK_SET) < 0) return -1;
       return write(fd, Pattern(bytes, 3).data(), bytes);
     }},
    {"read after lseek", [](int fd, int, off_t at, size_t bytes) -> long {
       if (lseek(fd, at, SEEK_SET) < 0) return -1;
       return read(fd, Buffer().data(), bytes);
     }},
    {"lseek from the end", [](int fd, int, off_t at, size_t) -> long {
       return lseek(fd, at, SEEK_END);
     }},
    {"ftruncate", [](int fd, int, off_t at, size_t) -> long { return ftruncate(fd, at); }},
    {"ftruncate and append", [](int fd, int, off_t at, size_t bytes) -> long {
       if (ftruncate(fd, at) != 0 || fcntl(fd, F_SETFL, O_APPEND) != 0) return -1;
       return write(fd, Pattern(bytes, 4).data(), bytes);
     }},
    {"posix_fadvise", [](int fd, int, off_t at, size_t bytes) -> long {
       return posix_fadvise(fd, at, static_cast<off_t>(bytes), POSIX_FADV_WILLNEED);
     }},
    {"sync_file_range", [](int fd, int, off_t at, size_t bytes) -> long {
       return sync_file_range(fd, at, static_cast<off_t>(bytes), SYNC_FILE_RANGE_WRITE);
     }},
    {"copy_file_range from", [](int fd, int other, off_t at, size_t bytes) -> long {
       return copy_file_range(fd, &at, other, nullptr, bytes, 0);
     }},
    {"copy_file_range to", [](int fd, int other, off_t at, size_t bytes) -> long {
       return copy_file_range(other, nullptr, fd, &at, bytes, 0);
     }},
    {"sendfile from", [](int fd, int other, off_t at, size_t bytes) -> long {
       return sendfile(other, fd, &at, bytes);
     }},
    {"mmap", [](int fd, int, off_t at, size_t bytes) -> long {
       void* const place = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, at);
       if (place == MAP_FAILED) return -1;
       munmap(place, bytes);
       return 0;
     }},
    {"lock", [](int fd, int, off_t at, size_t bytes) -> long {
       return Lock(fd, F_SETLK, F_WRLCK, at, bytes);
     }},
    {"test of a lock", [](int fd, int, off_t at, size_t bytes) -> long {
       return Lock(fd, F_GETLK, F_WRLCK, at, bytes);
     }},
    {"lock of the open file", [](int fd, int, off_t at, size_t bytes) -> long {
       return Lock(fd, F_OFD_SETLK, F_WRLCK, at, bytes);
     }},
    {"unlock", [](int fd, int, off_t at, size_t bytes) -> long {
       return Lock(fd, F_SETLK, F_UNLCK, at, bytes);
     }},
};

// State that a call left: its result and what it read, the error of an fsync(2), the file's size
// and first bytes, those of the other file, the place of the descriptor.
struct Left {
  long result;
  int error;
  int sync_error;
  off_t size, place;
  std::string read, text, other;
};

class MountBorders : public MountRun {
 protected:
  void SetUp() override {
    MountRun::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    Mount("wsize=4096,rsize=4096,dirty_bytes=65536");
  }

  // Makes the call on new files of this directory, of the same content.
  Left Make(const Call& call, const std::string& directory, off_t at, size_t bytes) {
    const auto open_new = [&](const char* name) {
      const std::string path = directory + "/" + name;
      unlink(path.c_str());
      Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
      EXPECT_GE(file.fd, 0) << path;
      const std::string text = Pattern(2 * kPage + 1);
      EXPECT_EQ(pwrite(file.fd, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
      return file;
    };
    const Descriptor file = open_new("file"), other = open_new("other");
    Left left{};
    Buffer().assign(2 * kPage, '\0');
    left.result = call.make(file.fd, other.fd, at, bytes);
    left.error = ErrorOf(left.result);
    left.read = Buffer();
    left.place = lseek(file.fd, 0, SEEK_CUR);
    left.sync_error = ErrorOf(fsync(file.fd));
    struct stat found {};
    EXPECT_EQ(fstat(file.fd, &found), 0);
    left.size = found.st_size;
    left.text = FirstBytes(file);
    left.other = FirstBytes(other);
    return left;
  }
  static std::string FirstBytes(const Descriptor& file) {
    std::string text(4 * kPage, '?');
    const ssize_t count = pread(file.fd, text.data(), text.size(), 0);
    return count < 0 ? fmt::format("errno {}", errno) : text.substr(0, static_cast<size_t>(count));
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, MountBorders, fixtures::AllVersions(), fixtures::VersionTestName);

TEST_P(MountBorders, CallsEndAsOnALocalFile) {
  const ModelDirectory models;
  for (const Call& call : kCalls) {
    for (const off_t at : kOffsets) {
      for (const size_t bytes : kSizes) {
        SCOPED_TRACE(fmt::format("{}, {} bytes at {}", call.name, bytes, at));
        const Left here = Make(call, mount_point(), at, bytes);
        const Left there = Make(call, models.At(""), at, bytes);
        if (there.size > kOnEveryServer && (here.error == EFBIG || here.sync_error == EFBIG)) {
          continue;
        }
        EXPECT_EQ(here.result, there.result);
        EXPECT_EQ(here.error, there.error);
        EXPECT_EQ(here.sync_error, there.sync_error);
        EXPECT_EQ(fixtures::Difference(here.read, there.read), "");
        EXPECT_EQ(here.place, there.place);
        EXPECT_EQ(here.size, there.size);
        EXPECT_EQ(fixtures::Difference(here.text, there.text), "");
        EXPECT_EQ(fixtures::Difference(here.other, there.other), "");
        const Descriptor stored(open(Backing("file").c_str(), O_RDONLY | O_CLOEXEC));
        EXPECT_EQ(fixtures::Difference(FirstBytes(stored), there.text), "");
      }
    }
  }
}

}  // namespace
}  // namespace nfswalk
