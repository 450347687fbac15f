// Sequential readers of a real server, over several connections, whose file other clients change.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "nfsclient/client.h"
#include "tests/fixtures/mounted_export.h"

namespace nfswalk {
namespace {

constexpr size_t kRead = 128 << 10;
constexpr size_t kFileBytes = 6 << 20;

// Reads on from `from` until the end, or an error.
std::string ReadOn(File& file, uint64_t from, size_t bytes, std::errc& error) {
  std::string text;
  for (;;) {
    std::string part(bytes, '?');
    const auto count = file.PRead(std::as_writable_bytes(std::span(part)), from + text.size());
    error = count ? std::errc{} : count.error();
    if (!count || *count == 0) return text;
    text.append(part, 0, *count);
  }
}

class ReadAheadOfServer : public fixtures::ExportClient {
 protected:
  ReadAheadOfServer() : ExportClient("nconnect=4&rsize=65536") {}

  // Returns the same text for the same seed; each byte differs from that of another seed.
  static std::string Content(size_t bytes, int seed = 0) {
    std::string text(bytes, '\0');
    for (size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * 31 + i / 65536 + seed);
    return text;
  }
  // Opens "file" and reads a megabyte, so that the window is as large as it gets.
  std::unique_ptr<File> OpenAndBegin() {
    MakeFile("file", content_);
    auto file = Open("file", kMayRead);
    std::string text(kRead, '?');
    for (size_t at = 0; at < kBegun; at += kRead) {
      EXPECT_EQ(file->PRead(std::as_writable_bytes(std::span(text)), at), kRead);
      EXPECT_TRUE(text == content_.substr(at, kRead));
    }
    return file;
  }

  static constexpr size_t kBegun = 1 << 20;
  const std::string content_ = Content(kFileBytes);
  std::errc error_{};
};
INSTANTIATE_TEST_SUITE_P(Versions, ReadAheadOfServer, fixtures::AllVersions(),
                         fixtures::VersionTestName);

TEST_P(ReadAheadOfServer, FilesEndWhereTheyEnd) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{65535}, size_t{65536}, size_t{65537},
                            size_t{1} << 20, (size_t{5} << 20) - 1, (size_t{5} << 20) + 1}) {
    for (const size_t bytes : {size_t{5000}, size_t{65536}, size_t{300'000}, size_t{8} << 20}) {
      SCOPED_TRACE(std::to_string(size) + " by " + std::to_string(bytes));
      MakeFile("file", Content(size));
      EXPECT_TRUE(ReadOn(*Open("file", kMayRead), 0, bytes, error_) == Content(size));
      EXPECT_EQ(error_, std::errc{});
    }
  }
}

// The client shows only data that was there: the truncation leaves it, or it was read before.
TEST_P(ReadAheadOfServer, AFileThatAnotherClientCutsEndsThereOrWhereItDid) {
  const auto file = OpenAndBegin();
  constexpr size_t kLeft = kBegun + 700'001;
  std::filesystem::resize_file(Backing("file"), kLeft);
  const std::string rest = ReadOn(*file, kBegun, kRead, error_);
  EXPECT_EQ(error_, std::errc{});
  EXPECT_GE(kBegun + rest.size(), kLeft);
  EXPECT_TRUE(rest == content_.substr(kBegun, rest.size()));
  const auto again = Open("file", kMayRead);
  EXPECT_TRUE(ReadOn(*again, 0, kRead, error_) == content_.substr(0, kLeft));
  EXPECT_TRUE(ReadOn(*file, kBegun, kRead, error_) == content_.substr(kBegun, kLeft - kBegun));
}

// The other client's data has the same size. An open that sees the change drops what was read ahead
// for another open.
TEST_P(ReadAheadOfServer, OpenShowsDataOfAnotherClient) {
  const auto file = OpenAndBegin();
  const std::string later = Content(kFileBytes, 1);
  MakeFile("file", later);
  const auto again = Open("file", kMayRead);
  EXPECT_TRUE(ReadOn(*file, kBegun, kRead, error_) == later.substr(kBegun));
  EXPECT_TRUE(ReadOn(*again, 0, kRead, error_) == later);
}

// A server may keep an open file, and its data; the client shows nothing else.
TEST_P(ReadAheadOfServer, AFileThatAnotherClientRemovesIsStaleOrWhole) {
  const auto file = OpenAndBegin();
  std::filesystem::remove(Backing("file"));
  const std::string rest = ReadOn(*file, kBegun, kRead, error_);
  EXPECT_TRUE(rest == content_.substr(kBegun, rest.size()));
  EXPECT_TRUE(error_ == std::errc{} ? rest.size() == kFileBytes - kBegun
                                    : error_ == std::errc{ESTALE});
}

// As `tail -f`.
TEST_P(ReadAheadOfServer, ReadAtTheEndShowsAppendedData) {
  const auto file = OpenAndBegin();
  EXPECT_TRUE(ReadOn(*file, kBegun, kRead, error_) == content_.substr(kBegun));
  std::string expected = content_;
  for (int i = 0; i < 3; ++i) {
    const size_t end = expected.size();
    std::ofstream(Backing("file"), std::ios::app) << Content(200'000, i);
    expected += Content(200'000, i);
    EXPECT_TRUE(ReadOn(*file, end, kRead, error_) == expected.substr(end));
  }
}

}  // namespace
}  // namespace nfswalk
