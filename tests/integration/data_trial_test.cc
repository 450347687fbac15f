// Files that are larger than what may be dirty: written, read back and patched by one client of a
// real server, compared with what is there.

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <tuple>

#include "nfsclient/client.h"
#include "tests/fixtures/data_export.h"
#include "tests/fixtures/file_data.h"
#include "tests/fixtures/mounted_export.h"

namespace nfswalk {
namespace {

using fixtures::BytesOf;
using fixtures::ContentOf;
using fixtures::Difference;
using fixtures::Pattern;
using fixtures::ReadPart;
using fixtures::WriteInSteps;

// No divisor of a piece: most of them are filled by several calls.
constexpr size_t kStepBytes = 10'007;
constexpr size_t kPatchBytes = 100, kPatchDistance = 300;

class DataTrial : public fixtures::DataClient {
 protected:
  // Returns once the server has that many bytes.
  void AwaitSizeOnServer(uint64_t bytes) const {
    while (std::filesystem::file_size(Backing("file")) < bytes) std::this_thread::yield();
  }
};
INSTANTIATE_TEST_SUITE_P(Pieces, DataTrial, fixtures::AllDataSettings(),
                         fixtures::DataSettingName);

TEST_P(DataTrial, StreamIsReadBack) {
  const auto file = Create(*client_);
  const std::string text = Pattern(4 * limit_bytes());
  WriteInSteps(*file, text, 0, kStepBytes);
  EXPECT_EQ(file->attributes().size_bytes, text.size());
  EXPECT_EQ(Difference(ReadPart(*file, 0, text.size() + 1), text), "");
  const auto reader = Open(*client_, kMayRead);
  EXPECT_EQ(Difference(ReadPart(*reader, 0, text.size() + 1), text), "");
  EXPECT_EQ(StatSize(), text.size());
  EXPECT_EQ(file->Close(), kOk);
  EXPECT_EQ(Difference(ContentOf(Backing("file")), text), "");
}

TEST_P(DataTrial, StreamIsReadBackWhileItIsWritten) {
  const auto file = Create(*client_);
  const auto reader = Open(*client_, kMayRead);
  const std::string text = Pattern(4 * limit_bytes());
  for (size_t end = 0; end < text.size();) {
    WriteInSteps(*file, std::string_view(text).substr(end, limit_bytes() / 4), end, kStepBytes);
    end = std::min(text.size(), end + limit_bytes() / 4);
    for (File* by : {file.get(), reader.get()}) {
      ASSERT_EQ(Difference(ReadPart(*by, end / 2, end), text.substr(end / 2, end - end / 2)), "")
          << "with " << end << " bytes written";
    }
  }
  EXPECT_EQ(file->Close(), kOk);
  EXPECT_EQ(Difference(ContentOf(Backing("file")), text), "");
}

TEST_P(DataTrial, BytesBetweenTwoPatchesStay) {
  const auto file = Create(*client_);
  std::string text = Pattern(4 * limit_bytes());
  WriteInSteps(*file, text, 0, kStepBytes);
  const std::string patch = Pattern(kPatchBytes, 1);
  const size_t in_first_piece = 50, in_committed = limit_bytes() / 2;
  for (const size_t first : {in_first_piece, in_committed}) {
    for (const size_t at : {first, first + kPatchDistance}) {
      ASSERT_EQ(file->PWrite(BytesOf(patch), at), kPatchBytes);
      text.replace(at, kPatchBytes, patch);
    }
  }
  EXPECT_EQ(file->Close(), kOk);
  EXPECT_EQ(Difference(ContentOf(Backing("file")), text), "");
}

// A program that appends by the size of its file would overwrite it.
TEST_P(DataTrial, TheSizeStaysWhileAFileIsWrittenAnewFromTheStart) {
  const auto file = Create(*client_);
  const size_t bytes = 4 * limit_bytes();
  WriteInSteps(*file, Pattern(bytes), 0, kStepBytes);
  const std::string old = Pattern(bytes), anew = Pattern(bytes, 1);
  size_t written = 0;
  for (; written < 3 * limit_bytes(); written += kStepBytes) {
    WriteInSteps(*file, std::string_view(anew).substr(written, kStepBytes), written, kStepBytes);
    ASSERT_EQ(file->attributes().size_bytes, bytes) << written;
    if (const auto cached = file->cached_attributes()) {
      ASSERT_EQ(cached->size_bytes, bytes) << written;
    }
    ASSERT_EQ(Difference(ReadPart(*file, bytes - 100, 200), old.substr(bytes - 100)), "")
        << written;
  }
  EXPECT_EQ(file->Close(), kOk);
  EXPECT_EQ(Difference(ContentOf(Backing("file")), anew.substr(0, written) + old.substr(written)),
            "");
}

// The client takes the reply of its WRITE up only after it was asked for newer attributes.
TEST_P(DataTrial, AnEarlierWriteDoesNotRollBackWhatAnotherClientAppended) {
  const auto file = Create(*client_);
  const std::string own = Pattern(piece_bytes()), foreign = Pattern(4096, 1);
  ASSERT_EQ(file->PWrite(BytesOf(own), 0), own.size());
  AwaitSizeOnServer(own.size());
  {
    const auto other = Mount(options());
    const auto appender = Open(*other, kMayWrite);
    ASSERT_EQ(appender->Append(BytesOf(foreign)), foreign.size());
    ASSERT_EQ(appender->Close(), kOk);
  }
  const auto reader = Open(*client_, kMayRead);
  const size_t size = own.size() + foreign.size();
  EXPECT_EQ(Difference(ReadPart(*reader, own.size(), size), foreign), "");
  EXPECT_EQ(StatSize(), size);
  EXPECT_EQ(Difference(ReadPart(*reader, own.size(), size), foreign), "");
  std::string expected = own + foreign;
  for (const size_t at : {own.size(), own.size() + 90}) {
    ASSERT_EQ(file->PWrite(BytesOf("0123456789"), at), 10u);
    expected.replace(at, 10, "0123456789");
  }
  EXPECT_EQ(file->Close(), kOk);
  EXPECT_EQ(Difference(ContentOf(Backing("file")), expected), "");
}

// Callers with a page cache keep their pages while this holds.
TEST_P(DataTrial, AChangeByAnotherClientIsNoticedBesideAnOwnWrite) {
  MakeFile("file", Pattern(3 * 4096));
  auto file = Open(*client_, kMayRead | kMayWrite);
  const auto write_and_reopen = [&] {
    EXPECT_EQ(file->PWrite(BytesOf(Pattern(4096, 1)), 4096), 4096u);
    EXPECT_EQ(file->Close(), kOk);
    file = Open(*client_, kMayRead | kMayWrite);
  };
  write_and_reopen();
  // In version 3 servers show nothing of before a WRITE: it is not known (ATTR-20).
  EXPECT_EQ(file->is_unchanged(), version() == 4);
  {
    const auto other = Mount(options());
    const auto writer = Open(*other, kMayWrite);
    ASSERT_EQ(writer->PWrite(BytesOf(Pattern(4096, 2)), 0), 4096u);
    ASSERT_EQ(writer->Close(), kOk);
  }
  write_and_reopen();
  EXPECT_FALSE(file->is_unchanged());
  EXPECT_EQ(Difference(ReadPart(*file, 0, 3 * 4096),
                       Pattern(4096, 2) + Pattern(4096, 1) + Pattern(3 * 4096).substr(2 * 4096)),
            "");
}

}  // namespace
}  // namespace nfswalk
