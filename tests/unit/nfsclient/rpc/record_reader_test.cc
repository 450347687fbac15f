#include "nfsclient/rpc/record_reader.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fixtures/fake_server.h"

namespace nfswalk::rpc {
namespace {

using protocol::Xdr;
using Next = RecordReader::Next;

constexpr uint32_t kLast = 0x80000000;
constexpr size_t kBytesMax = 100'000;

std::string Fragment(std::string_view bytes, bool last) {
  return Xdr().U32((last ? kLast : 0) | bytes.size()).Raw(bytes).str();
}

std::string_view TextOf(const ReplySlice& record) {
  return {reinterpret_cast<const char*>(record.bytes().data()), record.bytes().size()};
}

// A stream's records, as they were received; "!" for a fragment that ends the
// stream, and "!" with its head for a record that is too long.
class Stream {
 public:
  void Receive(std::string_view bytes) {
    while (!bytes.empty() && !ended_) {
      const std::span<std::byte> space = reader_.Space();
      ASSERT_FALSE(space.empty());
      const size_t count = std::min(space.size(), bytes.size());
      std::memcpy(space.data(), bytes.data(), count);
      reader_.Received(count);
      bytes.remove_prefix(count);
      Take();
    }
  }
  std::vector<std::string> Texts() const {
    std::vector<std::string> texts;
    for (const ReplySlice& record : records_) texts.emplace_back(TextOf(record));
    if (ended_) texts.back().insert(0, "!");
    return texts;
  }
  void LetGo() { records_.clear(); }
  const ReplySlice& last() const { return records_.back(); }
  int limits_asked() const { return limits_asked_; }

 private:
  void Take() {
    for (;;) {
      ReplySlice record;
      const Next next = reader_.Take(record, [this] {
        ++limits_asked_;
        return kBytesMax;
      });
      if (next == Next::kIncomplete) return;
      ended_ = next != Next::kRecord;
      records_.push_back(std::move(record));
      if (ended_) return;
    }
  }

  RecordReader reader_;
  std::vector<ReplySlice> records_;
  bool ended_ = false;
  int limits_asked_ = 0;
};

// WIRE-8.
TEST(RecordReader, RecordsComeOutHoweverTheyAreCut) {
  const std::string large(9'000, 'x');
  const struct {
    std::string stream;
    std::vector<std::string> records;
  } rows[] = {
      {Fragment("abcdefgh", true), {"abcdefgh"}},
      {Fragment("", true), {""}},
      {Fragment("one", true) + Fragment("two2", true), {"one", "two2"}},
      {Fragment("ab", false) + Fragment("cd", false) + Fragment("e", true), {"abcde"}},
      {Fragment("ab", false) + Fragment("", true), {"ab"}},
      {Fragment("a", false) + Fragment("b", true) + Fragment("c", false) + Fragment("d", true),
       {"ab", "cd"}},
      {Fragment(large, false) + Fragment("end", true) + Fragment("z", true), {large + "end", "z"}},
      {Fragment("", false), {"!"}},
      {Fragment("ab", true) + Fragment("c", false) + Fragment("", false), {"ab", "!"}},
      {Xdr().U32(kLast | (kBytesMax + 1)).Raw("xid_type").str() + large, {"!xid_type"}},
      {Xdr().U32(0x7fffffff).Raw("xid_type").str(), {"!xid_type"}},
      {Xdr().U32(0xffffffff).Raw("xid_typ").str(), {}},
      {Fragment("xid_", false) + Xdr().U32(0xffffffff).Raw("type").str(), {"!xid_type"}},
      {Fragment(large, false) + Xdr().U32(kLast | (kBytesMax - 8'999)).str(), {"!" + large}},
  };
  for (const auto& row : rows) {
    for (const size_t piece : {size_t{1}, size_t{2}, size_t{3}, size_t{7}, size_t{100'000}}) {
      Stream stream;
      for (size_t at = 0; at < row.stream.size(); at += piece) {
        stream.Receive(std::string_view(row.stream).substr(at, piece));
      }
      EXPECT_EQ(stream.Texts(), row.records) << "in pieces of " << piece;
    }
  }
}

TEST(RecordReader, AnEndlessRecordOfOneByteFragmentsEndsAtTheLimit) {
  Stream stream;
  std::string fragments;
  for (size_t i = 0; i <= kBytesMax; ++i) fragments += Fragment("x", false);
  stream.Receive(fragments);
  EXPECT_EQ(stream.Texts(), std::vector<std::string>{"!" + std::string(kBytesMax, 'x')});
}

TEST(RecordReader, ARecordThatIsHeldIsNotOverwritten) {
  Stream stream;
  std::vector<std::string> sent;
  for (int i = 0; i < 600; ++i) {
    sent.push_back(std::string(5'000, static_cast<char>('a' + i % 26)));
    stream.Receive(Fragment(sent.back(), true));
  }
  EXPECT_EQ(stream.Texts(), sent);
}

TEST(RecordReader, ABufferThatNobodyHoldsIsUsedAgain) {
  Stream stream;
  stream.Receive(Fragment("first", true));
  const std::byte* const first = stream.last().bytes().data();
  stream.LetGo();
  stream.Receive(Fragment("other", true));
  EXPECT_EQ(stream.last().bytes().data(), first);
}

TEST(RecordReader, TheFirstBufferIsSmallUntilALongRecordComes) {
  RecordReader reader;
  ReplySlice record;
  const auto take = [&](const std::string& bytes) {
    std::memcpy(reader.Space().data(), bytes.data(), bytes.size());
    reader.Received(bytes.size());
    return reader.Take(record, [] { return RecordReader::kBufferBytes; });
  };
  EXPECT_EQ(reader.Space().size(), RecordReader::kFirstBufferBytes);
  EXPECT_EQ(take(Fragment("short", true)), Next::kRecord);
  record = {};
  EXPECT_EQ(reader.Space().size(), RecordReader::kFirstBufferBytes);
  EXPECT_EQ(take(Xdr().U32(kLast | RecordReader::kFirstBufferBytes).str()), Next::kIncomplete);
  EXPECT_EQ(reader.Space().size(), RecordReader::kBufferBytes);
}

// nfs-ganesha sends a reply to a READ so.
TEST(RecordReader, ALongRecordOfTwoFragmentsFitsIntoABufferOfTheUsualSize) {
  RecordReader reader;
  ReplySlice record;
  const auto take = [&](std::string_view bytes) {
    Next next = Next::kIncomplete;
    while (!bytes.empty()) {
      const std::span<std::byte> space = reader.Space();
      const size_t count = std::min(space.size(), bytes.size());
      std::memcpy(space.data(), bytes.data(), count);
      reader.Received(count);
      bytes.remove_prefix(count);
      next = reader.Take(record, [] { return RecordReader::kBufferBytes; });
    }
    return next;
  };
  const std::string data(1 << 20, 'x'), end(5'000, 'y');
  EXPECT_EQ(take(Fragment(std::string(60'000, 'a'), true)), Next::kRecord);  // the usual size
  record = {};
  EXPECT_EQ(take(Fragment(std::string(14'000, 'a'), true)), Next::kRecord);
  const ReplySlice before = record.Part(0, 1);
  EXPECT_EQ(take(Fragment(data, false) + Xdr().U32(kLast | end.size()).str()), Next::kIncomplete);
  EXPECT_LE(reader.Space().size(), RecordReader::kBufferBytes - data.size());
  EXPECT_EQ(take(end), Next::kRecord);
  EXPECT_EQ(TextOf(record), data + end);
}

#ifndef __SANITIZE_ADDRESS__
// malloc(3) keeps it for the thread that made it.
TEST(RecordReader, TheBufferOfALongRecordGoesBackToTheSystem) {
  ReplySlice buffer = ReplySlice::Allocate(RecordReader::kBufferBytes);
  void* const page = buffer.bytes().data();
  EXPECT_EQ(msync(page, 1, MS_ASYNC), 0);
  buffer = {};
  EXPECT_EQ(msync(page, 1, MS_ASYNC), -1);
  EXPECT_EQ(errno, ENOMEM);
}
#endif

// The limit is found by a walk over all calls in flight.
TEST(RecordReader, TheLimitOfARecordOfManyFragmentsIsAskedForOnce) {
  Stream stream;
  for (int i = 0; i < 2; ++i) {
    for (int fragments = 0; fragments < 20'000; ++fragments) stream.Receive(Fragment("x", false));
    stream.Receive(Fragment("y", true));
  }
  EXPECT_EQ(stream.Texts().size(), 2u);
  EXPECT_EQ(stream.limits_asked(), 2);
}

}  // namespace
}  // namespace nfswalk::rpc
