// nfswalk.h's calls on the contents of files at the borders of offsets and sizes, over a real
// server: each is refused with the errno that the header names, or the server has what it says.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <string>

#include "nfsclient/c_api/nfswalk.h"
#include "tests/fixtures/file_data.h"
#include "tests/fixtures/mounted_export.h"

namespace nfswalk {
namespace {

using fixtures::Pattern;

constexpr uint64_t kPage = 4096;
constexpr uint64_t kBytes = 2 * kPage + 1;  // of the file before each call
constexpr uint64_t kOffsets[] = {0,
                                 1,
                                 kPage - 1,
                                 kPage,
                                 kBytes,
                                 uint64_t{1} << 32,
                                 INT64_MAX - kPage,
                                 INT64_MAX,
                                 uint64_t{INT64_MAX} + 1,
                                 UINT64_MAX};
constexpr size_t kSizes[] = {0, 1, kPage - 1, kPage, kPage + 1, SIZE_MAX};

// Which files the server's file system holds is its own matter from here on.
constexpr uint64_t kOnEveryServer = uint64_t{1} << 40;

class CApiBorders : public fixtures::VersionedExport {
 protected:
  void SetUp() override {
    VersionedExport::SetUp();
    if (IsSkipped()) return;
    fixtures::NfsServer::NetworkScope scope(server());
    std::array<char, 300> text;
    ASSERT_EQ(nfswalk_mount(server().Url("wsize=4096&rsize=4096&hard", version()).c_str(), &client_,
                            text.data(), text.size()),
              0)
        << text.data();
  }
  void TearDown() override { nfswalk_unmount(client_); }

  // A new file of kBytes bytes.
  nfswalk_file* OpenNew(unsigned rights = NFSWALK_READ | NFSWALK_WRITE) {
    const std::string path = Path("file");
    (void)nfswalk_unlink(client_, path.c_str(), nullptr);
    nfswalk_file* file = nullptr;
    EXPECT_EQ(nfswalk_create_open(client_, path.c_str(), NFSWALK_WRITE, 0666, 1, nullptr, &file,
                                  nullptr),
              0);
    const std::string text = Pattern(kBytes);
    EXPECT_EQ(nfswalk_pwrite(file, text.data(), text.size(), 0), static_cast<ssize_t>(kBytes));
    EXPECT_EQ(nfswalk_close(file), 0);
    EXPECT_EQ(nfswalk_open(client_, path.c_str(), rights, nullptr, 0, &file), 0);
    return file;
  }
  // Expects that the server's file begins with `text` and has `size_bytes`, and that the client
  // shows the same size.
  void ExpectContent(nfswalk_file* file, const std::string& text, uint64_t size_bytes) {
    EXPECT_EQ(nfswalk_fsync(file), 0);
    struct stat found {};
    EXPECT_EQ(stat(Backing("file").c_str(), &found), 0);
    EXPECT_EQ(static_cast<uint64_t>(found.st_size), size_bytes);
    nfswalk_attributes attributes;
    EXPECT_EQ(nfswalk_fstat(file, &attributes), 0);
    EXPECT_EQ(attributes.size_bytes, size_bytes);
    std::string stored(text.size(), '?');
    const int fd = open(Backing("file").c_str(), O_RDONLY | O_CLOEXEC);
    EXPECT_EQ(pread(fd, stored.data(), stored.size(), 0), static_cast<ssize_t>(stored.size()));
    close(fd);
    EXPECT_EQ(fixtures::Difference(stored, text), "");
  }

  nfswalk_client* client_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(Versions, CApiBorders, fixtures::AllVersions(), fixtures::VersionTestName);

bool Fits(uint64_t offset, uint64_t bytes) {
  return offset <= INT64_MAX && bytes <= INT64_MAX - offset;
}

TEST_P(CApiBorders, ReadsAndWrites) {
  std::string buffer(kPage + 1, 'w');
  for (const uint64_t offset : kOffsets) {
    for (const size_t bytes : kSizes) {
      SCOPED_TRACE(std::to_string(bytes) + " bytes at " + std::to_string(offset));
      nfswalk_file* const file = OpenNew();
      std::string expected = Pattern(kBytes);
      if (!Fits(offset, bytes)) {
        EXPECT_EQ(nfswalk_pread(file, buffer.data(), bytes, offset), -EINVAL);
        EXPECT_EQ(nfswalk_pwrite(file, buffer.data(), bytes, offset), -EINVAL);
        ExpectContent(file, expected, kBytes);
      } else {
        const size_t there = offset < kBytes ? std::min<size_t>(bytes, kBytes - offset) : 0;
        EXPECT_EQ(nfswalk_pread(file, buffer.data(), bytes, offset), static_cast<ssize_t>(there));
        EXPECT_EQ(buffer.substr(0, there), there == 0 ? "" : expected.substr(offset, there));
        EXPECT_EQ(nfswalk_pread(file, nullptr, bytes, offset), bytes == 0 ? 0 : -EFAULT);
        EXPECT_EQ(nfswalk_pwrite(file, nullptr, bytes, offset), bytes == 0 ? 0 : -EFAULT);
        if (offset + bytes <= kOnEveryServer) {
          const std::string text = Pattern(bytes, 1);
          EXPECT_EQ(nfswalk_pwrite(file, text.data(), bytes, offset), static_cast<ssize_t>(bytes));
          const uint64_t end = bytes == 0 ? kBytes : std::max<uint64_t>(kBytes, offset + bytes);
          if (offset <= kBytes) {
            expected.resize(end);
            expected.replace(offset, bytes, text);
          }
          ExpectContent(file, expected, end);
        }
      }
      EXPECT_EQ(nfswalk_close(file), 0);
    }
  }
}

TEST_P(CApiBorders, Truncations) {
  for (const uint64_t size : kOffsets) {
    for (const bool by_name : {false, true}) {
      SCOPED_TRACE(std::to_string(size) + (by_name ? " by name" : " by the file"));
      nfswalk_file* const file = OpenNew();
      nfswalk_changes changes = {};
      changes.set = NFSWALK_SET_SIZE;
      changes.size_bytes = size;
      nfswalk_attributes attributes = {};
      const int result = by_name ? nfswalk_setattr(client_, Path("file").c_str(), &changes, nullptr,
                                                   0, &attributes)
                                 : nfswalk_fsetattr(file, &changes, &attributes);
      if (size > INT64_MAX) {
        EXPECT_EQ(result, -EINVAL);
      } else if (size <= kOnEveryServer) {
        EXPECT_EQ(result, 0);
      }
      if (result == 0) {
        EXPECT_EQ(attributes.size_bytes, size);
      }
      ExpectContent(file, Pattern(kBytes).substr(0, result == 0 ? size : kBytes),
                    result == 0 ? size : kBytes);
      EXPECT_EQ(nfswalk_close(file), 0);
    }
  }
}

TEST_P(CApiBorders, Appends) {
  for (const size_t bytes : {size_t{0}, size_t{1}, kPage - 1, kPage, kPage + 1}) {
    SCOPED_TRACE(std::to_string(bytes));
    nfswalk_file* const file = OpenNew();
    const std::string text = Pattern(bytes, 1);
    EXPECT_EQ(nfswalk_append(file, nullptr, bytes), bytes == 0 ? 0 : -EFAULT);
    EXPECT_EQ(nfswalk_append(file, text.data(), bytes), static_cast<ssize_t>(bytes));
    ExpectContent(file, Pattern(kBytes) + text, kBytes + bytes);
    EXPECT_EQ(nfswalk_append(file, text.data(), INT64_MAX), -EFBIG);
    EXPECT_EQ(nfswalk_append(file, text.data(), SIZE_MAX), -EINVAL);
    ExpectContent(file, Pattern(kBytes) + text, kBytes + bytes);
    EXPECT_EQ(nfswalk_close(file), 0);
  }
}

// A call with two errors returns the one that the system call has.
TEST_P(CApiBorders, CallsThatTheOpenDoesNotAllow) {
  char byte = 'x';
  nfswalk_changes changes = {};
  changes.set = NFSWALK_SET_SIZE;
  for (const uint64_t offset : kOffsets) {
    SCOPED_TRACE(offset);
    changes.size_bytes = offset;
    const int access = offset > INT64_MAX ? -EINVAL : -EBADF;
    const int lock = Fits(0, offset == 0 ? 0 : offset - 1) ? -EBADF : -EOVERFLOW;
    nfswalk_file* file = OpenNew(NFSWALK_READ);
    EXPECT_EQ(nfswalk_pwrite(file, &byte, 1, offset), access);
    EXPECT_EQ(nfswalk_append(file, &byte, 1), -EBADF);
    EXPECT_EQ(nfswalk_fsetattr(file, &changes, nullptr), -EINVAL);
    EXPECT_EQ(nfswalk_try_lock(file, 1, NFSWALK_WRITE_LOCK, 0, offset), lock);
    ExpectContent(file, Pattern(kBytes), kBytes);
    EXPECT_EQ(nfswalk_close(file), 0);
    file = OpenNew(NFSWALK_WRITE);
    EXPECT_EQ(nfswalk_pread(file, &byte, 1, offset), access);
    EXPECT_EQ(nfswalk_try_lock(file, 1, NFSWALK_READ_LOCK, 0, offset), lock);
    EXPECT_EQ(nfswalk_close(file), 0);
  }
}

TEST_P(CApiBorders, Locks) {
  nfswalk_file* const file = OpenNew();
  for (const uint64_t offset : kOffsets) {
    for (const uint64_t length : {uint64_t{0}, uint64_t{1}, kPage, uint64_t{INT64_MAX}, UINT64_MAX}) {
      SCOPED_TRACE(std::to_string(length) + " bytes at " + std::to_string(offset));
      const bool has_end = length == 0 || length - 1 <= INT64_MAX - offset;
      const int expected = offset > INT64_MAX ? -EINVAL : has_end ? 0 : -EOVERFLOW;
      nfswalk_lock_conflict conflict = {};
      EXPECT_EQ(nfswalk_try_lock(file, 1, NFSWALK_WRITE_LOCK, offset, length), expected);
      EXPECT_EQ(nfswalk_test_lock(file, 2, NFSWALK_READ_LOCK, offset, length, &conflict),
                expected == 0 ? 1 : expected);
      EXPECT_EQ(nfswalk_test_lock(file, 2, NFSWALK_READ_LOCK, offset, length, nullptr), -EFAULT);
      EXPECT_EQ(nfswalk_lock(file, 1, NFSWALK_READ_LOCK, offset, length), expected);
      EXPECT_EQ(nfswalk_try_lock(file, 1, 0, offset, length), -EINVAL);
      EXPECT_EQ(nfswalk_unlock(file, 1, offset, length), expected);
    }
  }
  EXPECT_EQ(nfswalk_close(file), 0);
}

}  // namespace
}  // namespace nfswalk
