// A file of more than 2 GiB of data, with the limits that users have: written by several threads,
// patched and cut, and compared whole: by another client, and on the server.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "nfsclient/client.h"
#include "tests/fixtures/file_data.h"
#include "tests/fixtures/mounted_export.h"

namespace nfswalk {
namespace {

constexpr size_t kStepBytes = 1'000'003;  // no divisor of a piece
constexpr uint64_t kBytes = (uint64_t{1} << 31) + 5 * kStepBytes;
constexpr uint64_t kSteps = kBytes / kStepBytes;  // whole ones
constexpr uint64_t kThreads = 4;
constexpr size_t kPatchBytes = 100;

class DataLarge : public fixtures::ExportClient {
 protected:
  // The server has no room for the files of both versions, and keeps one open that is removed.
  void TearDown() override {
    if (!IsSkipped()) std::filesystem::resize_file(Backing("file"), 0);
    ExportClient::TearDown();
  }

  // Returns the data that is written to a step first, other data for each number.
  static std::string_view Text(uint64_t number) {
    static const std::string kText = fixtures::Pattern(2 * kStepBytes);
    return std::string_view(kText).substr(number * 251 % kStepBytes, kStepBytes);
  }
  static std::string Patch(uint64_t number) {
    return fixtures::Pattern(kPatchBytes, number + 1);
  }
  // Returns the data that a step has in the end.
  static std::string Step(uint64_t number) {
    return std::string(Text(number)).replace(PatchAt(number), kPatchBytes, Patch(number));
  }
  static size_t PatchAt(uint64_t number) { return number * 7919 % (kStepBytes - kPatchBytes); }

  // Expects that size, and of each step what `read(offset_bytes)` returns.
  template <typename Read>
  static void ExpectSteps(Read read) {
    for (uint64_t number = 0; number < kSteps && !HasFailure(); ++number) {
      EXPECT_EQ(fixtures::Difference(read(number * kStepBytes), Step(number)), "")
          << "in step " << number;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, DataLarge, fixtures::AllVersions(), fixtures::VersionTestName);

TEST_P(DataLarge, EachByteIsWhatWasWrittenLast) {
  ASSERT_TRUE(client_->Create(Path("file"), 0666, true, root_));
  const auto file = Open("file");
  std::vector<std::jthread> threads;
  for (uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&file, thread] {
      for (uint64_t number = thread; number < kSteps; number += kThreads) {
        ASSERT_EQ(file->PWrite(fixtures::BytesOf(Text(number)), number * kStepBytes), kStepBytes);
        ASSERT_EQ(file->PWrite(fixtures::BytesOf(Patch(number)),
                               number * kStepBytes + PatchAt(number)),
                  kPatchBytes);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(file->Append(fixtures::BytesOf("end")), 3u);
  EXPECT_TRUE(file->SetAttributesOf({.size_bytes = kSteps * kStepBytes}));
  EXPECT_EQ(file->Close(), kOk);

  std::ifstream stored(Backing("file"), std::ios::binary);
  ExpectSteps([&stored](uint64_t offset_bytes) {
    std::string text(kStepBytes, '?');
    stored.seekg(static_cast<std::streamoff>(offset_bytes));
    stored.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<size_t>(stored.gcount()));
    return text;
  });
  EXPECT_EQ(stored.peek(), std::ifstream::traits_type::eof());
  const auto other = Mount("hard");
  ASSERT_NE(other, nullptr);
  const auto opened = other->Open(Path("file"), kMayRead, root_);
  ASSERT_TRUE(opened);
  File& reader = **opened;
  EXPECT_EQ(reader.attributes().size_bytes, kSteps * kStepBytes);
  ExpectSteps([&reader](uint64_t offset_bytes) {
    return fixtures::ReadPart(reader, offset_bytes, kStepBytes);
  });
}

}  // namespace
}  // namespace nfswalk
