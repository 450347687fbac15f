// Files of terabytes that are mostly holes: random operations around 2^31, 2^32 and far behind, over a
// real server of both versions, against a local file. --gtest_random_seed gives others.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <system_error>

#include "nfsclient/client.h"
#include "tests/fixtures/file_data.h"
#include "tests/fixtures/mounted_export.h"
#include "tests/fixtures/sparse_file.h"
#include "tests/integration/twin_program.h"

namespace nfswalk {
namespace {

#ifdef NFSWALK_TEST_NIGHTLY
constexpr int kOperations = 300'000;
#else
constexpr int kOperations = 15'000;
#endif
// Operations are in a window around each of these.
constexpr uint64_t kWindow = 1 << 18;
constexpr uint64_t kAround[] = {kWindow / 2, uint64_t{1} << 31, uint64_t{1} << 32,
                                uint64_t{1} << 33, uint64_t{1} << 40};

class DataFar : public fixtures::ExportClient {
 protected:
  DataFar() : ExportClient("wsize=16384&rsize=16384&dirty_bytes=131072&hard") {}

  size_t Draw(size_t limit) { return random_() % limit; }
  uint64_t DrawOffset() { return kAround[Draw(std::size(kAround))] - kWindow / 2 + Draw(kWindow); }
  size_t DrawBytes() { return 1 + Draw(Draw(4) == 0 ? 50'000 : 5'000); }
  uint64_t Size() const { return static_cast<uint64_t>(lseek(model_.fd, 0, SEEK_END)); }

  void Write(File& file, uint64_t at) {
    const std::string text = fixtures::Pattern(DrawBytes(), random_());
    EXPECT_EQ(file.PWrite(fixtures::BytesOf(text), at), text.size());
    EXPECT_EQ(pwrite(model_.fd, text.data(), text.size(), static_cast<off_t>(at)),
              static_cast<ssize_t>(text.size()));
  }
  void Append(File& file) {
    const std::string text = fixtures::Pattern(DrawBytes(), random_());
    const auto end = static_cast<off_t>(Size());
    EXPECT_EQ(file.Append(fixtures::BytesOf(text)), text.size());
    EXPECT_EQ(pwrite(model_.fd, text.data(), text.size(), end),
              static_cast<ssize_t>(text.size()));
  }
  void Read(File& file, uint64_t at) {
    std::string expected(DrawBytes(), '?');
    const ssize_t count =
        pread(model_.fd, expected.data(), expected.size(), static_cast<off_t>(at));
    const std::string seen = fixtures::ReadPart(file, at, expected.size());
    expected.resize(static_cast<size_t>(count));
    EXPECT_EQ(fixtures::Difference(seen, expected), "") << "at " << at;
  }
  void Truncate(File& file, uint64_t size) {
    EXPECT_TRUE(file.SetAttributesOf({.size_bytes = size}));
    EXPECT_EQ(ftruncate(model_.fd, static_cast<off_t>(size)), 0);
    EXPECT_EQ(file.attributes().size_bytes, size);
  }
  void Compare() const {
    EXPECT_EQ(fixtures::SparseDifference(Backing("file"), models_.At("file")), "");
  }
  void Step(File& file) {
    const size_t what = Draw(40);
    if (what < 14) return Write(file, DrawOffset());
    if (what < 17) return Append(file);
    if (what < 32) return Read(file, DrawOffset());
    if (what < 34) return Read(file, Size() - std::min<uint64_t>(Size(), Draw(10'000)));
    if (what < 36) return Truncate(file, DrawOffset());
    if (what < 39) {
      EXPECT_EQ(client_->Stat(Path("file"), root_).value_or(Attributes{}).size_bytes, Size());
      return;
    }
    EXPECT_EQ(file.Sync(), kOk);
    Compare();
  }

  std::mt19937_64 random_{static_cast<uint64_t>(testing::UnitTest::GetInstance()->random_seed())};
  const ModelDirectory models_;
  const Descriptor model_{open(models_.At("file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
};
INSTANTIATE_TEST_SUITE_P(Versions, DataFar, fixtures::AllVersions(), fixtures::VersionTestName);

TEST_P(DataFar, RandomOperationsMatchTheModel) {
  ASSERT_TRUE(client_->Create(Path("file"), 0666, true, root_));
  const std::unique_ptr<File> files[] = {Open("file"), Open("file")};
  for (int i = 0; i < kOperations && !HasFailure(); ++i) {
    SCOPED_TRACE("operation " + std::to_string(i) + " with seed " +
                 std::to_string(testing::UnitTest::GetInstance()->random_seed()));
    Step(*files[Draw(std::size(files))]);
  }
  for (const auto& file : files) EXPECT_EQ(file->Close(), kOk);
  Compare();
}

}  // namespace
}  // namespace nfswalk
