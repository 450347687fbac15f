// Calls on the contents of files at the borders of offsets and sizes, over a real server: the
// arguments are refused as pwrite(2) and ftruncate(2) have it, or what is on the server and what
// the client shows are the same.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>

#include "nfsclient/client.h"
#include "tests/fixtures/file_data.h"
#include "tests/fixtures/mounted_export.h"

namespace nfswalk {
namespace {

using fixtures::BytesOf;
using fixtures::Pattern;
using fixtures::ReadPart;

constexpr uint64_t kPage = 4096;
constexpr uint64_t kOffsets[] = {0,
                                 1,
                                 kPage - 1,
                                 kPage,
                                 kPage + 1,
                                 (uint64_t{1} << 32) - 1,
                                 uint64_t{1} << 32,
                                 kFileBytesMax - kPage,
                                 kFileBytesMax - 1,
                                 kFileBytesMax,
                                 kFileBytesMax + 1,
                                 UINT64_MAX};
constexpr size_t kSizes[] = {0, 1, kPage - 1, kPage, kPage + 1, 3 * kPage};

bool Fits(uint64_t offset, uint64_t size) {
  return offset <= kFileBytesMax && size <= kFileBytesMax - offset;
}

class DataBorders : public fixtures::ExportClient {
 protected:
  DataBorders() : ExportClient("wsize=4096&rsize=4096&dirty_bytes=16384&hard") {}

  // A new file of this content, open.
  std::unique_ptr<File> OpenNew(const std::string& text = "") {
    (void)client_->Unlink(Path("file"), root_);
    EXPECT_TRUE(client_->Create(Path("file"), 0666, true, root_));
    auto file = client_->Open(Path("file"), kMayRead | kMayWrite, root_);
    EXPECT_TRUE(file.has_value());
    if (!text.empty()) {
      EXPECT_EQ((*file)->PWrite(BytesOf(text), 0), text.size());
    }
    return std::move(*file);
  }
  uint64_t SizeOnServer() const {
    struct stat stat {};
    EXPECT_EQ(::stat(Backing("file").c_str(), &stat), 0);
    return static_cast<uint64_t>(stat.st_size);
  }
  std::string OnServer(uint64_t offset, size_t bytes) const {
    const int fd = open(Backing("file").c_str(), O_RDONLY | O_CLOEXEC);
    std::string text(bytes, '\0');
    const ssize_t count = pread(fd, text.data(), bytes, static_cast<off_t>(offset));
    close(fd);
    text.resize(count < 0 ? 0 : static_cast<size_t>(count));
    return text;
  }
  // The client shows the size that the server has, through the file and by name.
  void ExpectServersSize(const File& file) {
    const auto found = client_->Stat(Path("file"), root_);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->size_bytes, SizeOnServer());
    EXPECT_EQ(file.attributes().size_bytes, SizeOnServer());
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, DataBorders, fixtures::AllVersions(), fixtures::VersionTestName);

TEST_P(DataBorders, WritesAreRefusedOrOnTheServer) {
  for (const uint64_t offset : kOffsets) {
    for (const size_t size : kSizes) {
      SCOPED_TRACE(std::to_string(size) + " bytes at " + std::to_string(offset));
      const auto file = OpenNew("x");
      const std::string text = Pattern(size, offset);
      const auto written = file->PWrite(BytesOf(text), offset);
      if (!Fits(offset, size)) {
        ASSERT_FALSE(written.has_value());
        EXPECT_EQ(written.error(), std::errc::invalid_argument);
        EXPECT_EQ(file->Sync(), kOk);
        EXPECT_EQ(SizeOnServer(), 1u);
        continue;
      }
      ASSERT_EQ(written, size);
      // Some servers hold no file of this size: an error is told once, and nothing is shown then.
      const bool is_synced = file->Sync() == kOk;
      EXPECT_EQ(file->Sync(), kOk);
      EXPECT_TRUE(is_synced || offset >= kFileBytesMax - kPage);
      ExpectServersSize(*file);
      if (!is_synced) continue;
      EXPECT_EQ(OnServer(offset, size), text);
      EXPECT_EQ(ReadPart(*file, offset, size), text);
      if (size != 0) {
        EXPECT_EQ(SizeOnServer(), std::max<uint64_t>(1, offset + size));
      }
    }
  }
}

TEST_P(DataBorders, ReadsAreRefusedOrEndWithTheFile) {
  const std::string text = Pattern(2 * kPage + 1);
  const auto file = OpenNew(text);
  for (const bool is_synced : {false, true}) {
    if (is_synced) {
      ASSERT_EQ(file->Sync(), kOk);
    }
    for (const uint64_t offset : kOffsets) {
      for (const size_t size : kSizes) {
        SCOPED_TRACE(std::to_string(size) + " bytes at " + std::to_string(offset));
        std::string seen(size, '?');
        const auto count = file->PRead(std::as_writable_bytes(std::span(seen)), offset);
        if (!Fits(offset, size)) {
          ASSERT_FALSE(count.has_value());
          EXPECT_EQ(count.error(), std::errc::invalid_argument);
          continue;
        }
        ASSERT_TRUE(count.has_value());
        seen.resize(*count);
        EXPECT_EQ(seen, offset < text.size() ? text.substr(offset, size) : "");
      }
    }
  }
}

TEST_P(DataBorders, TruncationsAreRefusedOrOnTheServer) {
  const std::string text = Pattern(2 * kPage + 1);
  for (const uint64_t size : kOffsets) {
    for (const bool by_name : {false, true}) {
      for (const bool is_synced : {false, true}) {
        SCOPED_TRACE(std::to_string(size) + (by_name ? " by name" : " by the file") +
                     (is_synced ? ", synced" : ", dirty"));
        const auto file = OpenNew(text);
        if (is_synced) {
          ASSERT_EQ(file->Sync(), kOk);
        }
        const auto cut = by_name
                             ? client_->SetAttributesOf(Path("file"), {.size_bytes = size}, root_)
                             : file->SetAttributesOf({.size_bytes = size});
        if (size > kFileBytesMax) {
          ASSERT_FALSE(cut.has_value());
          EXPECT_EQ(cut.error(), std::errc::invalid_argument);
        }
        EXPECT_TRUE(cut.has_value() || size >= kFileBytesMax - kPage);
        if (cut) {
          EXPECT_EQ(cut->size_bytes, size);
        }
        EXPECT_EQ(file->Sync(), kOk);
        EXPECT_EQ(SizeOnServer(), cut ? size : text.size());
        ExpectServersSize(*file);
        const std::string left = OnServer(0, 3 * kPage);
        EXPECT_EQ(left.substr(0, std::min<uint64_t>(size, text.size())),
                  cut ? text.substr(0, size) : text);
        EXPECT_EQ(ReadPart(*file, 0, 3 * kPage), left);
      }
    }
  }
}

TEST_P(DataBorders, AppendsGoToTheEndOrAreRefused) {
  for (const uint64_t size : {uint64_t{0}, uint64_t{1}, kPage - 1, kPage, uint64_t{1} << 32}) {
    for (const size_t bytes : kSizes) {
      SCOPED_TRACE(std::to_string(bytes) + " bytes behind " + std::to_string(size));
      const auto file = OpenNew();
      ASSERT_TRUE(file->SetAttributesOf({.size_bytes = size}));
      const std::string text = Pattern(bytes);
      EXPECT_EQ(file->Append(BytesOf(text)), bytes);
      EXPECT_EQ(file->Sync(), kOk);
      EXPECT_EQ(SizeOnServer(), size + bytes);
      EXPECT_EQ(OnServer(size, bytes), text);
      ExpectServersSize(*file);
    }
  }
  const auto file = OpenNew();
  if (!file->SetAttributesOf({.size_bytes = kFileBytesMax})) return;  // not on this server
  EXPECT_EQ(file->Append(BytesOf("x")).error(), std::errc::file_too_large);
  EXPECT_EQ(SizeOnServer(), kFileBytesMax);
}

TEST_P(DataBorders, LocksAreRefusedOrHeld) {
  const auto file = OpenNew();
  for (const uint64_t offset : kOffsets) {
    for (const uint64_t length : {uint64_t{0}, uint64_t{1}, kPage, kFileBytesMax, UINT64_MAX}) {
      SCOPED_TRACE(std::to_string(length) + " bytes at " + std::to_string(offset));
      const bool has_end = length == 0 || length - 1 <= kFileBytesMax - offset;
      const std::errc expected = offset > kFileBytesMax ? std::errc::invalid_argument
                                 : has_end              ? kOk
                                                        : std::errc::value_too_large;
      EXPECT_EQ(file->TryLock(1, LockType::kWrite, offset, length), expected);
      const auto conflict = file->TestLock(2, LockType::kWrite, offset, length);
      if (expected == kOk) {
        ASSERT_TRUE(conflict.has_value());
        EXPECT_TRUE(conflict->has_value());
      } else {
        EXPECT_EQ(conflict.error(), expected);
      }
      EXPECT_EQ(file->Unlock(1, offset, length), expected);
    }
  }
}

}  // namespace
}  // namespace nfswalk
