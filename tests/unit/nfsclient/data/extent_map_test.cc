// The extents of one file: what is written, sent, committed, cut and read.
#include "nfsclient/data/extent_map.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace nfswalk::data {
namespace {

class ExtentMapTest : public testing::Test {
 protected:
  static constexpr size_t kPiece = 8;
  using Extent = ExtentMap::Extent;

  // An opener: the map compares contexts only.
  static ExtentMap::Context Opener() {
    const auto any = std::make_shared<int>();
    return {any, reinterpret_cast<const nfs::OpenContext*>(any.get())};
  }
  void Write(uint64_t at, std::string_view text, const ExtentMap::Context& by) {
    std::span<const std::byte> left = std::as_bytes(std::span(text));
    while (!left.empty()) {
      ASSERT_EQ(map_.FindObstacle(at, at + left.size(), by), nullptr);
      const size_t taken = map_.Write(at, left, by);
      at += taken;
      left = left.subspan(taken);
    }
  }
  void Write(uint64_t at, std::string_view text) { Write(at, text, me_); }
  // The reply to a WRITE of the first dirty extent.
  void Send(bool is_stable = false, uint64_t verifier = 1) {
    Extent* const extent = map_.NextDirty();
    ASSERT_NE(extent, nullptr);
    map_.StartWrite(*extent);
    map_.Written(*extent, extent->size, is_stable, verifier);
  }
  // Ends a READ that the server has answered with `server`, and returns what it shows.
  std::string End(ExtentMap::Read& read, std::string_view server, size_t bytes) {
    std::string text(server);
    text.resize(bytes, '?');
    text.resize(
        map_.EndRead(read, std::as_writable_bytes(std::span(text)), std::min(server.size(), bytes)));
    return text;
  }
  std::string Read(std::string_view server, uint64_t at, size_t bytes) {
    ExtentMap::Read read(at, bytes);
    map_.BeginRead(read);
    return End(read, server.substr(std::min<size_t>(at, server.size())), bytes);
  }
  bool HasAll(uint64_t at, size_t bytes, uint64_t file_end, bool only_ours = true) {
    ExtentMap::Read read(at, bytes);
    map_.BeginRead(read);
    const bool has_all = map_.HasAll(read, file_end, only_ours);
    std::string text(bytes, '?');
    (void)map_.EndRead(read, std::as_writable_bytes(std::span(text)), 0);
    return has_all;
  }

  std::atomic<size_t> charged_{0};
  ExtentMap map_{kPiece, charged_};
  const ExtentMap::Context me_ = Opener();
};

TEST_F(ExtentMapTest, AReadShowsTheLastVersionOfEachByte) {
  Write(0, "aaaa");
  Write(2, "bbbb");
  Send();
  Write(1, "c");
  EXPECT_EQ(Read("xxxxxxxxxx", 0, 10), "acbbbbxxxx");
  EXPECT_EQ(Read("", 0, 10), "acbbbb");
}

TEST_F(ExtentMapTest, BytesBetweenTheServersEndAndOwnDataAreZeros) {
  Write(6, "ab");
  EXPECT_EQ(Read("xx", 0, 10), std::string("xx\0\0\0\0ab", 8));
}

TEST_F(ExtentMapTest, ExtentsThatTouchAreJoinedAndOthersAreNot) {
  Write(4, "bb");
  Write(0, "aa");
  Write(2, "cc");
  Write(7, "d");
  map_.JoinDirty();
  EXPECT_EQ(map_.dirty_extents(), 2u);
  EXPECT_EQ(map_.NextDirty()->size, 6u);
  EXPECT_EQ(map_.dirty_bytes(), 7u);
}

TEST_F(ExtentMapTest, NoExtentIsLongerThanAPiece) {
  Write(0, "0123456789abcdef0123");
  EXPECT_EQ(map_.dirty_extents(), 3u);
  map_.JoinDirty();
  for (Extent* extent = map_.NextDirty(); extent != nullptr;
       extent = map_.NextDirty(extent->end())) {
    EXPECT_LE(extent->size, kPiece);
  }
}

TEST_F(ExtentMapTest, DataInFlightAndDataOfAnotherOpenerAreObstacles) {
  Write(0, "aaaa");
  const auto other = Opener();
  EXPECT_EQ(map_.FindObstacle(0, 4, me_), nullptr);
  EXPECT_NE(map_.FindObstacle(3, 9, other), nullptr);
  EXPECT_EQ(map_.FindObstacle(4, 9, other), nullptr);
  Extent& extent = *map_.NextDirty();
  map_.StartWrite(extent);
  EXPECT_EQ(map_.FindObstacle(0, 1, me_), &extent);
  map_.Written(extent, 4, false, 1);
  EXPECT_EQ(map_.FindObstacle(0, 1, me_), nullptr);
  EXPECT_EQ(map_.FindObstacle(0, 1, other), &extent);
}

TEST_F(ExtentMapTest, RestOfAShortWriteIsDirty) {
  Write(0, "abcdef");
  Extent& extent = *map_.NextDirty();
  map_.StartWrite(extent);
  map_.Written(extent, 2, false, 1);
  EXPECT_EQ(map_.unstable_bytes(), 2u);
  ASSERT_EQ(map_.dirty_bytes(), 4u);
  EXPECT_EQ(map_.NextDirty()->begin, 2u);
  EXPECT_EQ(Read("", 0, 9), "abcdef");
}

TEST_F(ExtentMapTest, ACommitVouchesForWritesOfItsVerifierThatWereAnsweredBefore) {
  Write(0, "aaaaaaaa");
  Send(false, 1);
  Write(8, "bbbbbbbb");
  Send(false, 2);
  const uint64_t sent_at = map_.last_written();
  Write(16, "cccccccc");
  Send(false, 2);
  map_.Committed(sent_at, 2);
  ASSERT_EQ(map_.dirty_bytes(), 8u);  // lost by a restart
  EXPECT_EQ(map_.NextDirty()->begin, 0u);
  EXPECT_TRUE(map_.NextDirty()->must_be_stable);
  EXPECT_EQ(map_.unstable_bytes(), 8u);  // sent after the COMMIT
  EXPECT_EQ(map_.live_extents(), 2u);
}

// WIRE-32.
TEST_F(ExtentMapTest, StableDataIsKeptForReadsThatOverlapIt) {
  Write(0, "aaaaaaaa");
  Write(8, "bbbbbbbb");
  ExtentMap::Read read(0, 4);
  map_.BeginRead(read);
  Send(true);
  Send(true);
  EXPECT_EQ(map_.live_extents(), 0u);
  const size_t kept = charged_.load();
  EXPECT_GT(kept, 0u);
  EXPECT_EQ(End(read, "", 4), "aaaa");
  EXPECT_TRUE(map_.is_empty());
  EXPECT_EQ(charged_.load(), 0u);
}

TEST_F(ExtentMapTest, StableDataIsNotShownByReadsThatBeginLater) {
  Write(0, "aaaa");
  ExtentMap::Read before(0, 4), later(0, 4);
  map_.BeginRead(before);
  Send(true);
  map_.BeginRead(later);
  EXPECT_EQ(End(later, "new!", 4), "new!");
  EXPECT_EQ(End(before, "", 4), "aaaa");
}

TEST_F(ExtentMapTest, APartThatNoReadNeedsAnyMoreIsNotKept) {
  Write(0, "aaaaaaaa");
  ExtentMap::Read read(0, 2);
  map_.BeginRead(read);
  Send(true);
  Write(1, "b");
  EXPECT_EQ(End(read, "", 2), "ab");
  Send(true);
  EXPECT_TRUE(map_.is_empty());
}

TEST_F(ExtentMapTest, AReadEndsNoSoonerThanWhatWasWrittenBeforeIt) {
  Write(0, "aa");
  Write(6, "bb");
  ExtentMap::Read read(0, 4);
  map_.BeginRead(read);
  EXPECT_EQ(End(read, "", 4), std::string("aa\0\0", 4));
}

TEST_F(ExtentMapTest, ATruncationTakesWhatIsBehindIt) {
  Write(0, "aaaa");
  ExtentMap::Read read(0, 8);
  map_.BeginRead(read);
  Send(true);
  map_.Truncate(2);
  EXPECT_EQ(End(read, "", 8), "aa");
}

TEST_F(ExtentMapTest, NothingIsReadFromTheServerOnlyWhereAllIsHereOrBehindTheEnd) {
  Write(2, "aaaa");
  EXPECT_TRUE(HasAll(2, 4, 100));
  EXPECT_TRUE(HasAll(2, 100, 6));
  EXPECT_TRUE(HasAll(6, 1, 6));
  EXPECT_FALSE(HasAll(1, 4, 100));
  EXPECT_FALSE(HasAll(2, 5, 100));
}

// WIRE-29.
TEST_F(ExtentMapTest, UnsentHolesBehindTheEndAreZeros) {
  map_.SetFileEnd(2);
  Write(6, "aa");
  Write(12, "bb");
  EXPECT_TRUE(HasAll(2, 12, 14));
  EXPECT_TRUE(HasAll(3, 100, 14));
  EXPECT_FALSE(HasAll(1, 12, 14));  // a byte that the server has
  EXPECT_FALSE(HasAll(2, 12, 14, /*only_ours=*/false));
  Extent& first = *map_.NextDirty();
  map_.StartWrite(first);
  EXPECT_FALSE(HasAll(2, 12, 14));
  EXPECT_TRUE(HasAll(8, 6, 14));
}

TEST_F(ExtentMapTest, GapsAreBesideDirtyDataWhereTheFileHasNothing) {
  map_.SetFileEnd(2);
  Write(0, "aaaa");
  Write(20, "cc");
  Write(10, "bb");
  const auto gaps = map_.FindGaps(10, 12, me_);
  ASSERT_TRUE(gaps[0] && gaps[1]);
  EXPECT_EQ(gaps[0]->begin, 4u);
  EXPECT_EQ(gaps[0]->end, 10u);
  EXPECT_EQ(gaps[1]->begin, 12u);
  EXPECT_EQ(gaps[1]->end, 20u);
  EXPECT_FALSE(map_.FindGaps(10, 12, Opener())[0]);
  for (const auto& gap : map_.FindGaps(1, 2, me_)) EXPECT_FALSE(gap);  // amid own data
  map_.StartWrite(*map_.NextDirty(10));
  EXPECT_FALSE(map_.FindGaps(16, 17, me_)[0]);
  EXPECT_TRUE(map_.FindGaps(16, 17, me_)[1]);
}

TEST_F(ExtentMapTest, RefusedDataIsGoneAndSoIsItsEnd) {
  Write(0, "aaaaaaaa");
  Write(8, "bb");
  map_.StartWrite(*map_.NextDirty());
  Extent& second = *map_.NextDirty();
  map_.StartWrite(second);
  map_.Refused(second);
  EXPECT_EQ(Read("", 0, 16), "aaaaaaaa");
  EXPECT_EQ(map_.live_extents(), 1u);
}

// A write that replaces the middle of another one leaves both ends.
TEST_F(ExtentMapTest, EachPartOfASplitExtentIsWhatItWas) {
  Write(0, "abcdefgh");
  Send(false, 7);
  Write(3, "XY");
  EXPECT_EQ(map_.unstable_bytes(), 6u);
  EXPECT_EQ(map_.dirty_bytes(), 2u);
  EXPECT_EQ(Read("", 0, 8), "abcXYfgh");
  map_.Committed(map_.last_written(), 7);
  EXPECT_EQ(map_.unstable_bytes(), 0u);
  EXPECT_EQ(Read("abc??fgh", 0, 8), "abcXYfgh");
}

}  // namespace
}  // namespace nfswalk::data
