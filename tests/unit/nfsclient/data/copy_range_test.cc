// Copies inside the server between two open files, and what this client has of both.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "nfsclient/client.h"
#include "nfsclient/nfs4/operation_names.h"
#include "tests/fixtures/fake_mount.h"
#include "tests/fixtures/file_data.h"

namespace nfswalk {
namespace {

using fixtures::BytesOf;
using fixtures::Pattern;
using protocol::FakeFault;
using protocol::kOpCopy;
using Kind = FakeFault::Kind;

constexpr std::errc kReads = std::errc::operation_not_supported;

class CopyRangeTest : public FakeFile {
 protected:
  CopyRangeTest() : FakeFile(4, 2) {}
  void SetUp() override {
    options_.wsize = options_.rsize = kPiece;
    server_.Put("source", {.mode = 0666, .data = "0123456789"});
    Mount("abcdefghij");
    source_ = OpenSource();
  }
  std::unique_ptr<File> OpenSource(const Credential& who = kUser) {
    return std::move(*client_->Open("source", kMayRead | kMayWrite, who));
  }
  Result<uint64_t> Copy(uint64_t from = 0, uint64_t to = 0, uint64_t bytes = 1 << 20) {
    return file_->CopyFrom(*source_, from, to, bytes);
  }
  void Write(File& file, const std::string& text, uint64_t at = 0) {
    EXPECT_EQ(file.PWrite(BytesOf(text), at), text.size());
  }
  std::string target() { return server_.Find("f")->data; }

  std::unique_ptr<File> source_;
};

TEST_F(CopyRangeTest, ACopyIsSeenAtOnceWithItsSize) {
  EXPECT_EQ(ReadAll(*file_), "abcdefghij");
  EXPECT_EQ(Copy(2, 8, 5), 5u);
  EXPECT_EQ(ReadAll(*file_), "abcdefgh23456");
  EXPECT_EQ(file_->attributes().size_bytes, 13u);
  EXPECT_EQ(StatSize(), 13u);
  EXPECT_EQ(calls(kOpCopy), 1);
}

TEST_F(CopyRangeTest, ACopyEndsWhereItsSourceDoes) {
  EXPECT_EQ(Copy(8, 0, 5), 2u);
  EXPECT_EQ(Copy(10, 0, 5), 0u);
  EXPECT_EQ(Copy(99, 0, 5), 0u);
  EXPECT_EQ(Copy(0, 0, 0), 0u);
  EXPECT_EQ(target(), "89cdefghij");
  EXPECT_EQ(calls(kOpCopy), 1);
}

// WIRE-43. The server may lose what the source's WRITEs have brought it, the copy not.
TEST_F(CopyRangeTest, DataWrittenToTheSourceIsCopiedAndNotLost) {
  const std::string written = Pattern(5 * kPiece + 7, 1);
  Write(*source_, written);
  EXPECT_EQ(Copy(), written.size());
  server_.LoseUncommitted();
  EXPECT_EQ(target(), written);
  EXPECT_EQ(ReadAll(*file_), written);
}

TEST_F(CopyRangeTest, DataWrittenToTheTargetGoesBefore) {
  Write(*file_, Pattern(3 * kPiece, 2));
  EXPECT_EQ(Copy(0, 5, 10), 10u);
  Write(*file_, "XY", 6);
  const std::string whole = Pattern(3 * kPiece, 2);
  const std::string expected = whole.substr(0, 5) + "0XY3456789" + whole.substr(15);
  EXPECT_EQ(ReadAll(*file_), expected);
  EXPECT_EQ(file_->Sync(), kOk);
  EXPECT_EQ(target(), expected);
}

TEST_F(CopyRangeTest, ACopyWithinAFileMayNotOverlap) {
  const auto within = [this](uint64_t from, uint64_t to, uint64_t bytes) {
    return file_->CopyFrom(*file_, from, to, bytes);
  };
  EXPECT_EQ(within(0, 4, 5), std::unexpected(std::errc::invalid_argument));
  EXPECT_EQ(within(4, 0, 5), std::unexpected(std::errc::invalid_argument));
  EXPECT_EQ(within(0, 5, 5), 5u);
  EXPECT_EQ(target(), "abcdeabcde");
  EXPECT_EQ(within(0, 10, 1000), 10u) << "no more than there is";
  EXPECT_EQ(target(), "abcdeabcdeabcdeabcde");
}

// By another client, which this one has not noticed.
TEST_F(CopyRangeTest, ACutSourceEndsTheCopyOrIsRead) {
  ASSERT_EQ(Copy(0, 0, 1), 1u);
  server_.Truncate("source", 4);
  EXPECT_EQ(Copy(4, 0, 2), 0u) << "behind the end that it has now";
  server_.Truncate("source", 2);
  EXPECT_EQ(Copy(0, 0, 4), std::unexpected(kReads)) << "a part is there";
  EXPECT_EQ(Copy(0, 0, 4), 2u);
  server_.Truncate("source", 0);
  EXPECT_EQ(Copy(), 0u);
}

TEST_F(CopyRangeTest, AStaleSourceLeavesTheTargetAsItIs) {
  server_.Erase("source");
  EXPECT_EQ(Copy(), std::unexpected(kReads));
  EXPECT_EQ(Read(*source_, 0, 1), std::unexpected(protocol::kStale));
  EXPECT_EQ(ReadAll(*file_), "abcdefghij");
  Write(*file_, "X");
  EXPECT_EQ(file_->Sync(), kOk);
  EXPECT_EQ(target(), "Xbcdefghij");
}

TEST_F(CopyRangeTest, ARefusedCommitIsAnErrorBehindWhichTheServerIsAsked) {
  EXPECT_EQ(ReadAll(*file_), "abcdefghij");
  server_.Inject(op_.commit, {.status = op_.no_space});
  EXPECT_EQ(Copy(0, 8), std::unexpected(std::errc::io_error));
  EXPECT_EQ(StatSize(), 18u);
  EXPECT_EQ(ReadAll(*file_), target());
}

// Data that could not be written is not copied as if it had been.
TEST_F(CopyRangeTest, AnErrorOfTheSourceIsTheCopys) {
  server_.Inject(op_.write, {.status = op_.no_space});
  Write(*source_, "lost");
  EXPECT_EQ(Copy(), std::unexpected(std::errc::no_space_on_device));
  EXPECT_EQ(target(), "abcdefghij");
  EXPECT_EQ(source_->Sync(), std::errc::no_space_on_device) << "is told of still";
}

TEST_F(CopyRangeTest, ARefusalIsThatOfItsFiles) {
  const auto reader = std::move(*client_->Open("f", kMayRead, kUser));
  const auto writer = std::move(*client_->Open("source", kMayWrite, kUser));
  constexpr auto kBadFile = std::unexpected(std::errc::bad_file_descriptor);
  EXPECT_EQ(reader->CopyFrom(*source_, 0, 0, 1), kBadFile);
  EXPECT_EQ(file_->CopyFrom(*writer, 0, 0, 1), kBadFile);
  EXPECT_EQ(Copy(kFileBytesMax + 1, 0, 1), std::unexpected(std::errc::invalid_argument));
  EXPECT_EQ(Copy(0, kFileBytesMax + 1, 1), std::unexpected(std::errc::invalid_argument));
  EXPECT_EQ(Copy(0, kFileBytesMax, 1), std::unexpected(std::errc::file_too_large));
  const auto other = std::move(*Client::MountOver(Connect(), MountOptions()));
  const auto elsewhere = std::move(*other->Open("source", kMayRead, kUser));
  EXPECT_EQ(file_->CopyFrom(*elsewhere, 0, 0, 1), std::unexpected(std::errc::cross_device_link));
  EXPECT_EQ(calls(kOpCopy), 0);
}

// The server is asked by one identity for both files.
TEST_F(CopyRangeTest, AFileOfAnotherIdentityIsRead) {
  source_ = OpenSource(Credential(4711, 4711));
  EXPECT_EQ(Copy(), std::unexpected(kReads));
  EXPECT_EQ(calls(kOpCopy), 0);
}

// Later writes wait for the copy that was given up; the source stays open meanwhile.
TEST_F(CopyRangeTest, ACopyThatIsGivenUpIsMadeBeforeWhatFollows) {
  server_.Inject(kOpCopy, {.kind = Kind::kHold});
  {
    const Deadline deadline(Deadline::Clock::now() + std::chrono::milliseconds(200));
    EXPECT_EQ(Copy(), std::unexpected(std::errc::timed_out));
  }
  source_ = nullptr;
  server_.ExecuteHeld();
  Write(*file_, "X");
  EXPECT_EQ(file_->Sync(), kOk);
  EXPECT_EQ(target(), "X123456789");
  EXPECT_EQ(ReadAll(*file_), "X123456789");
  EXPECT_EQ(file_->Close(), kOk);
  file_ = nullptr;
  EXPECT_EQ(nfs4_.opens(), 0u);
}

}  // namespace
}  // namespace nfswalk
