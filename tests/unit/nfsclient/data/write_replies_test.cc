// Holes and reads beside data that was written before, by how the server has answered its WRITEs,
// and by how far the client has taken the replies in: each of the one with each of the other.

#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <string>

#include "nfsclient/client.h"
#include "tests/fixtures/fake_mount.h"
#include "tests/fixtures/file_data.h"

namespace nfswalk {
namespace {

using fixtures::BytesOf;
using fixtures::Difference;
using fixtures::Pattern;
using fixtures::ReadPart;
using protocol::FakeClock;
using protocol::FakeFault;

// Describes what the server does with two WRITEs of the same bytes, and between them.
struct Answer {
  const char* name;
  FakeFault::Kind fault = FakeFault::Kind::kStatus;  // kStatus: none
  bool is_short = false;
  bool restarts = false;  // the verifier changes, and what was not committed is lost
  size_t foreign_append_bytes = 0;
};
constexpr size_t kForeignBytes = 100;
constexpr Answer kAnswers[] = {
    {.name = "plain"},
    {.name = "no attributes", .fault = FakeFault::Kind::kNoAttributes},
    {.name = "FILE_SYNC", .fault = FakeFault::Kind::kFileSync},
    {.name = "short", .is_short = true},
    {.name = "another verifier", .restarts = true},
    {.name = "foreign append", .foreign_append_bytes = kForeignBytes},
    {.name = "no attributes, foreign append",
     .fault = FakeFault::Kind::kNoAttributes,
     .foreign_append_bytes = kForeignBytes},
    {.name = "FILE_SYNC, foreign append",
     .fault = FakeFault::Kind::kFileSync,
     .foreign_append_bytes = kForeignBytes},
    {.name = "short, foreign append", .is_short = true, .foreign_append_bytes = kForeignBytes},
};

// How far the client has come with it.
enum class State { kUnanswered, kTakenIn, kCommitted };
constexpr State kStates[] = {State::kUnanswered, State::kTakenIn, State::kCommitted};

class WriteReplies : public FakeMount {
 protected:
  WriteReplies() { options_.wsize = options_.rsize = kPiece; }

  // Returns the content of the file.
  std::string WriteTwice(const Answer& answer, State state) {
    MountAnew();
    if (answer.fault != FakeFault::Kind::kStatus) {
      server_.Inject(op_.write, {.kind = answer.fault}, 2);
    }
    if (answer.is_short) server_.set_write_bytes_max(kPiece / 3);
    WritePiece(Pattern(kPiece, 1));
    std::string content = Pattern(kPiece, 2);
    if (answer.restarts) server_.LoseUncommitted();
    if (answer.foreign_append_bytes > 0) {
      // Appends of the other client begin at the end of the piece, even after a short WRITE.
      if (answer.is_short) {
        EXPECT_EQ(StatSize(), kPiece);
      }
      const std::string foreign = Pattern(answer.foreign_append_bytes, 3);
      Elsewhere([&](File& file) { EXPECT_EQ(file.Append(BytesOf(foreign)), foreign.size()); });
      content += foreign;
    }
    WritePiece(content.substr(0, kPiece));
    if (state == State::kTakenIn) {
      EXPECT_TRUE(client_->Stat("f", kUser).has_value());
    }
    if (state == State::kCommitted) {
      EXPECT_EQ(file_->Sync(), kOk);
    }
    server_.set_write_bytes_max(std::numeric_limits<size_t>::max());
    server_.ClearFaults();
    return content;
  }
  // Returns when the server has it.
  void WritePiece(const std::string& text) {
    const int before = calls(op_.write);
    EXPECT_EQ(file_->PWrite(BytesOf(text), 0), text.size());
    server_.AwaitCalls(op_.write, before + 1);
  }
  // For each answer and state. Version 3 shows attributes of before a WRITE with a clock only.
  template <class Check>
  void ForAll(Check check) {
    for (const bool shows_before : {false, true}) {
      if (shows_before) server_.set_clock(FakeClock::kFine);
      for (const Answer& answer : kAnswers) {
        for (const State state : kStates) {
          SCOPED_TRACE(std::string(answer.name) + ", state " +
                       std::to_string(static_cast<int>(state)) +
                       (shows_before ? ", with pre-op attributes" : ""));
          check(answer, state);
        }
      }
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, WriteReplies, testing::Values(3, 4));

// WIRE-29. The bytes between two patches behind the end of what was written here may be another
// client's, as far as a reply has shown that it changed the file.
TEST_P(WriteReplies, BytesBetweenTwoPatchesBehindTheEndStay) {
  ForAll([&](const Answer& answer, State state) {
    if (answer.foreign_append_bytes > 0 && state == State::kUnanswered) return;
    std::string expected = WriteTwice(answer, state);
    for (const size_t at : {kPiece + 50, kPiece + 70}) {
      ASSERT_EQ(file_->PWrite(BytesOf("0123456789"), at), 10u);
      if (expected.size() < at + 10) expected.resize(at + 10);
      expected.replace(at, 10, "0123456789");
    }
    EXPECT_EQ(file_->Close(), kOk);
    EXPECT_EQ(Difference(Stable(), expected), "");
  });
}

// Own data is shown at once, and all of the file by the next open.
TEST_P(WriteReplies, ReadsShowOwnDataAndThenTheFile) {
  ForAll([&](const Answer& answer, State state) {
    const std::string expected = WriteTwice(answer, state);
    const std::string shown = ReadPart(*file_, 0, 2 * kPiece);
    EXPECT_GE(shown.size(), kPiece);
    EXPECT_EQ(Difference(shown, expected.substr(0, shown.size())), "");
    const auto reader = Open(kMayRead);
    EXPECT_EQ(Difference(ReadPart(*reader, 0, 2 * kPiece), expected), "");
    EXPECT_EQ(Difference(ReadPart(*reader, kPiece - 10, 300), expected.substr(kPiece - 10)), "");
    EXPECT_EQ(StatSize(), expected.size());
    EXPECT_EQ(file_->Close(), kOk);
    EXPECT_EQ(Difference(Stable(), expected), "");
  });
}

// The end of a file that is appended to is the server's, whatever the replies have shown.
TEST_P(WriteReplies, AnAppendFollowsWhatOthersHaveAppended) {
  ForAll([&](const Answer& answer, State state) {
    std::string expected = WriteTwice(answer, state);
    ASSERT_EQ(file_->Append(BytesOf("appended")), 8u);
    expected += "appended";
    EXPECT_EQ(StatSize(), expected.size());
    EXPECT_EQ(Difference(ReadPart(*file_, kPiece - 10, 300), expected.substr(kPiece - 10)), "");
    EXPECT_EQ(file_->Close(), kOk);
    EXPECT_EQ(Difference(Stable(), expected), "");
  });
}

}  // namespace
}  // namespace nfswalk
