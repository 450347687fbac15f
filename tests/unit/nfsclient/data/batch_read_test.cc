// Batches that read, against a server of version 4 that refuses READs of files that are not open.
#include <gtest/gtest.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fixtures/fake_mount.h"

namespace nfswalk {
namespace {

constexpr size_t kFiles = 5;

class BatchReads : public FakeMount {
 protected:
  void SetUp() override {
    Mount();
    for (size_t i = 0; i < kFiles; ++i) {
      names_.push_back("file" + std::to_string(i));
      server_.Put(names_.back(), {.mode = 0666, .data = TextOf(i)});
    }
  }
  static std::string TextOf(size_t i) { return std::string(i + 1, static_cast<char>('a' + i)); }

  // Returns the text that is read of each file, or its error.
  std::vector<std::string> ReadEach() {
    const std::vector<std::string_view> paths(names_.begin(), names_.end());
    std::vector<std::string> texts(kFiles, std::string(100, '#'));
    std::vector<std::span<std::byte>> into;
    for (std::string& text : texts) into.push_back(std::as_writable_bytes(std::span(text)));
    std::vector<Result<size_t>> results(kFiles, std::unexpected(std::errc::io_error));
    client_->ReadEach(paths, into, kUser, results);
    for (size_t i = 0; i < kFiles; ++i) {
      if (results[i]) texts[i].resize(*results[i]);
      if (!results[i]) texts[i] = std::make_error_code(results[i].error()).message();
    }
    return texts;
  }
  static std::vector<std::string> Texts() {
    std::vector<std::string> texts;
    for (size_t i = 0; i < kFiles; ++i) texts.push_back(TextOf(i));
    return texts;
  }

  std::vector<std::string> names_;
};

// NAME-27.
TEST_P(BatchReads, OpenNothingWhereTheServerDoesNotAskForIt) {
  const int opens = calls(OP_OPEN);
  EXPECT_EQ(ReadEach(), Texts());
  EXPECT_EQ(calls(OP_OPEN), opens);
}

// RFC 7530 9.1.4.3, 16.23.4: of a file that others have locked or denied, too.
TEST_P(BatchReads, OpenTheFilesThatTheServerDoesNotShowOtherwise) {
  for (const int refusal : {NFS4ERR_BAD_STATEID, NFS4ERR_LOCKED, NFS4ERR_OPENMODE}) {
    nfs4_.RefuseAnonymousReads(refusal);
    const int opens = calls(OP_OPEN), reads = calls(OP_READ);
    EXPECT_EQ(ReadEach(), Texts()) << refusal;
    EXPECT_EQ(calls(OP_OPEN), opens + static_cast<int>(kFiles)) << refusal;
    // Together, and open.
    EXPECT_EQ(calls(OP_READ), reads + 2 * static_cast<int>(kFiles)) << refusal;
    EXPECT_EQ(nfs4_.opens(), 1u) << refusal;  // file_
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, BatchReads, testing::Values(4));

}  // namespace
}  // namespace nfswalk
