// Files of several times what may be dirty, on servers whose WRITE replies have no attributes, say
// FILE_SYNC, or show times that nothing can be read from: what is read, what is stored, and the
// size in between.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <tuple>

#include "nfsclient/client.h"
#include "tests/fixtures/fake_mount.h"
#include "tests/fixtures/file_data.h"

namespace nfswalk {
namespace {

using fixtures::BytesOf;
using fixtures::Difference;
using fixtures::Pattern;
using fixtures::ReadPart;
using fixtures::WriteInSteps;
using protocol::FakeClock;
using protocol::FakeFault;
using protocol::kForEver;

constexpr size_t kPiecesDirty = 64;
constexpr size_t kStepBytes = 1'507;

// How a server answers a WRITE.
struct Answers {
  const char* name;
  FakeClock clock;
  FakeFault::Kind fault = {};  // kStatus: none
  int after = 0;               // the WRITEs without it
  int times = kForEver;

  friend std::ostream& operator<<(std::ostream& out, const Answers& answers) {
    return out << answers.name;
  }
};
constexpr Answers kAnswers[] = {
    {"Plain", FakeClock::kFine},
    {"CoarseTimes", FakeClock::kCoarse},
    {"StoppedClock", FakeClock::kStopped},
    {"ClockSetBack", FakeClock::kBackwards},
    {"NoAttributes", FakeClock::kFine, FakeFault::Kind::kNoAttributes},
    {"AttributesOfTheFirst", FakeClock::kFine, FakeFault::Kind::kNoAttributes, 1},
    {"AttributesOfSome", FakeClock::kFine, FakeFault::Kind::kNoAttributes, 3, 5},
    {"NoAttributesClockSetBack", FakeClock::kBackwards, FakeFault::Kind::kNoAttributes, 1},
    {"FileSync", FakeClock::kFine, FakeFault::Kind::kFileSync},
    {"FileSyncOfSome", FakeClock::kFine, FakeFault::Kind::kFileSync, 3, 5},
    {"FileSyncClockSetBack", FakeClock::kBackwards, FakeFault::Kind::kFileSync},
};

class WriteTrial : public FakeFile,
                   public testing::WithParamInterface<std::tuple<int, Answers>> {
 protected:
  static constexpr size_t kLimit = kPiecesDirty * kPiece;

  WriteTrial() : FakeFile(std::get<int>(GetParam())) {
    options_.wsize = options_.rsize = kPiece;
    options_.dirty_bytes_max = kLimit;
  }
  void SetUp() override {
    const Answers& answers = std::get<Answers>(GetParam());
    server_.set_clock(answers.clock);
    if (answers.fault != FakeFault::Kind::kStatus) {
      // Repeats faults that end after a few WRITEs.
      const int rounds = answers.times == kForEver ? 1 : 200;
      for (int i = 0; i < rounds; ++i) {
        server_.Inject(op_.write, {.kind = answers.fault}, answers.times, answers.after);
      }
    }
    Mount();
  }
};
INSTANTIATE_TEST_SUITE_P(Answers, WriteTrial,
                         testing::Combine(testing::Values(3, 4), testing::ValuesIn(kAnswers)),
                         [](const testing::TestParamInfo<std::tuple<int, Answers>>& test) {
                           return "v" + std::to_string(std::get<int>(test.param)) + "_" +
                                  std::get<struct Answers>(test.param).name;
                         });

TEST_P(WriteTrial, StreamIsReadBack) {
  const std::string text = Pattern(4 * kLimit);
  for (size_t at = 0; at < text.size(); at += kStepBytes) {
    const std::string_view step = std::string_view(text).substr(at, kStepBytes);
    ASSERT_EQ(file_->PWrite(BytesOf(step), at), step.size());
    ASSERT_EQ(file_->attributes().size_bytes, at + step.size());
  }
  EXPECT_EQ(Difference(ReadPart(*file_, 0, text.size() + 1), text), "");
  EXPECT_EQ(Difference(ReadPart(*Open(kMayRead), 0, text.size() + 1), text), "");
  EXPECT_EQ(StatSize(), text.size());
  EXPECT_EQ(file_->Sync(), kOk);
  EXPECT_EQ(file_->attributes().size_bytes, text.size());
  EXPECT_EQ(Difference(Stable(), text), "");
  EXPECT_EQ(Difference(ReadPart(*file_, 0, text.size() + 1), text), "");
}

TEST_P(WriteTrial, BytesBetweenTwoPatchesStay) {
  std::string text = Pattern(4 * kLimit);
  WriteInSteps(*file_, text, 0, kStepBytes);
  for (const size_t first : {size_t{50}, kLimit / 2}) {
    for (const size_t at : {first, first + 300}) {
      ASSERT_EQ(file_->PWrite(BytesOf("patch"), at), 5u);
      text.replace(at, 5, "patch");
    }
  }
  EXPECT_EQ(file_->Sync(), kOk);
  EXPECT_EQ(Difference(Stable(), text), "");
}

// About as long as the window of 16 WRITEs.
TEST_P(WriteTrial, ShortFilesAreReadBackAndPatched) {
  for (const size_t pieces : {1, 2, 15, 16, 17, 18, 20, 24, 32, 40, 48, 63, 64, 65}) {
    SCOPED_TRACE(pieces);
    ASSERT_TRUE(file_->SetAttributesOf({.size_bytes = 0}));
    std::string text = Pattern(pieces * kPiece, pieces);
    WriteInSteps(*file_, text, 0, kPiece);
    EXPECT_EQ(Difference(ReadPart(*file_, 0, text.size() + 1), text), "");
    for (const size_t at : {10, 110}) {
      ASSERT_EQ(file_->PWrite(BytesOf("patch"), at), 5u);
      text.replace(at, 5, "patch");
    }
    EXPECT_EQ(StatSize(), text.size());
    EXPECT_EQ(file_->Sync(), kOk);
    EXPECT_EQ(file_->attributes().size_bytes, text.size());
    EXPECT_EQ(Difference(Stable(), text), "");
  }
}

TEST_P(WriteTrial, TheSizeIsThatOfWhatWasWritten) {
  for (const size_t pieces : {1, 2, 8, 15}) {
    SCOPED_TRACE(pieces);
    ASSERT_TRUE(file_->SetAttributesOf({.size_bytes = 0}));
    WriteInSteps(*file_, Pattern(pieces * kPiece), 0, kPiece);
    EXPECT_EQ(file_->attributes().size_bytes, pieces * kPiece);
    EXPECT_EQ(StatSize(), pieces * kPiece);
    EXPECT_EQ(file_->attributes().size_bytes, pieces * kPiece);
    WriteInSteps(*file_, Pattern(10), pieces * kPiece, 10);
    EXPECT_EQ(file_->Sync(), kOk);
    EXPECT_EQ(file_->attributes().size_bytes, pieces * kPiece + 10);
    if (const auto cached = file_->cached_attributes()) {
      EXPECT_EQ(cached->size_bytes, pieces * kPiece + 10);
    }
    EXPECT_EQ(StatSize(), pieces * kPiece + 10);
    // O_APPEND.
    EXPECT_EQ(file_->Append(BytesOf("end")), 3u);
    EXPECT_EQ(file_->Sync(), kOk);
    EXPECT_EQ(Difference(Stable(), Pattern(pieces * kPiece) + Pattern(10) + "end"), "");
  }
}

TEST_P(WriteTrial, TheSizeStaysWhileAFileIsWrittenAnewFromTheStart) {
  constexpr size_t kSteps = 12;  // from one read to the next
  const size_t bytes = 4 * kLimit;
  const std::string old = Pattern(bytes), anew = Pattern(bytes, 1);
  WriteInSteps(*file_, old, 0, kPiece);
  for (size_t written = 0; written < 3 * kLimit; written += kPiece) {
    WriteInSteps(*file_, std::string_view(anew).substr(written, kPiece), written, kPiece);
    ASSERT_EQ(file_->attributes().size_bytes, bytes) << written;
    if (const auto cached = file_->cached_attributes()) {
      ASSERT_EQ(cached->size_bytes, bytes) << written;
    }
    // A READ of its own takes as long as many WRITEs together.
    if (written / kPiece % kSteps != 0) continue;
    ASSERT_EQ(Difference(ReadPart(*file_, bytes - 100, 200), old.substr(bytes - 100)), "");
  }
  EXPECT_EQ(file_->Sync(), kOk);
  EXPECT_EQ(Difference(Stable(), anew.substr(0, 3 * kLimit) + old.substr(3 * kLimit)), "");
}

TEST_P(WriteTrial, ATruncationCutsWhatWasStreamed) {
  const std::string text = Pattern(4 * kLimit);
  for (const size_t size : {kLimit / 2 + 7, 3 * kLimit, kPiece - 1, size_t{0}}) {
    SCOPED_TRACE(size);
    WriteInSteps(*file_, text, 0, kStepBytes);
    ASSERT_TRUE(file_->SetAttributesOf({.size_bytes = size}));
    EXPECT_EQ(file_->attributes().size_bytes, size);
    EXPECT_EQ(Difference(ReadPart(*file_, 0, text.size()), text.substr(0, size)), "");
    ASSERT_EQ(file_->PWrite(BytesOf("behind"), size + 100), 6u);
    const std::string expected = text.substr(0, size) + std::string(100, '\0') + "behind";
    EXPECT_EQ(Difference(ReadPart(*file_, 0, text.size()), expected), "");
    EXPECT_EQ(StatSize(), expected.size());
    EXPECT_EQ(file_->Sync(), kOk);
    EXPECT_EQ(Difference(Stable(), expected), "");
  }
}

}  // namespace
}  // namespace nfswalk
