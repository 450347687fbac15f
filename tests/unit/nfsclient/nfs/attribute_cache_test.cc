// Freshness of attributes: for each state what RCU-walk answers, what ref-walk answers, and the
// calls that takes.
#include "nfsclient/nfs/attribute_cache.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <system_error>

#include "nfsclient/superblock/nfs_inode.h"
#include "rcu/byte_pool.h"
#include "tests/exits/exits.h"

namespace nfswalk::icache {
struct InodeInternals {
  static void Store(Inode& inode, const protocol::Attributes& attributes) {
    inode.StoreAttributes(attributes);
  }
};
}  // namespace nfswalk::icache

namespace nfswalk::exits {
namespace {

// A time that an inode keeps, and what stat shows of it.
TEST(CachedTime, IsExactFor272YearsAndKeepsItsSecondsBeyondThem) {
  constexpr int64_t kFirst = -(int64_t{1} << 31), kEnd = kFirst + (int64_t{1} << 33);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  constexpr uint32_t kNs = 999'999'999;
  struct Row {
    protocol::Time time, shown;
  };
  constexpr auto kRows = std::to_array<Row>({
      {{0, 0}, {0, 0}},
      {{0, kNs}, {0, kNs}},
      {{-1, 1}, {-1, 1}},
      {{kFirst, 1}, {kFirst, 1}},
      {{kEnd - 1, kNs}, {kEnd - 1, kNs}},
      {{uint32_t{0xffffffff}, kNs}, {uint32_t{0xffffffff}, kNs}},  // the last of version 3
      {{kFirst - 1, kNs}, {kFirst - 1, 0}},
      {{kEnd, 1}, {kEnd, 0}},
      {{1, kNs + 1}, {1, 0}},  // not a time
      {{kMost, 1}, {(int64_t{1} << 62) - 1, 0}},
      {{kLeast, 1}, {-(int64_t{1} << 62), 0}},
  });
  for (const auto& [time, shown] : kRows) {
    EXPECT_EQ(icache::UnpackTime(icache::PackTime(time)), shown) << time.seconds;
    EXPECT_EQ(icache::PackTime(time), icache::PackTime(shown)) << time.seconds;
  }
}

// ATTR-5.
TEST(CachedTime, RoundedIsNoChangeOfTheFile) {
  const protocol::Time late{.seconds = int64_t{1} << 40, .nanoseconds = 7};
  protocol::Attributes reply;
  reply.fileid = 1;
  reply.mtime = reply.ctime = late;
  icache::Inode inode;
  inode.fileid = reply.fileid;
  icache::InodeInternals::Store(inode, reply);
  protocol::Attributes cached;
  inode.LoadAttributes(cached);
  EXPECT_NE(cached, reply);
  EXPECT_FALSE(nfs::ContentChanged(cached, reply));
  cached.ctime.seconds += 1;
  EXPECT_TRUE(nfs::ContentChanged(cached, reply));
}

TEST(CachedAttributes, AreThoseOfTheReply) {
  for (const auto type :
       {protocol::FileType::kFifo, protocol::FileType::kCharacterDevice,
        protocol::FileType::kDirectory, protocol::FileType::kBlockDevice,
        protocol::FileType::kRegular, protocol::FileType::kSymlink, protocol::FileType::kSocket}) {
    const bool device = icache::IsDevice(type);
    const protocol::Attributes reply{.type = type,
                                     .mode = 07755,
                                     .nlink = 0xfffffffe,
                                     .uid = 0xfffffffd,
                                     .gid = 0xfffffffc,
                                     .size_bytes = ~uint64_t{1},
                                     .used_bytes = ~uint64_t{2},
                                     .rdev_major = device ? 0xfffffffb : 0,
                                     .rdev_minor = device ? 0xfffffffa : 0,
                                     .fsid = ~uint64_t{3},
                                     .fileid = ~uint64_t{4},
                                     .atime = {1, 2},
                                     .mtime = {3, 4},
                                     .ctime = {5, 6},
                                     .change = ~uint64_t{5}};
    icache::Inode inode;
    rcu::BytePool bytes;
    const protocol::FileHandle handle(std::array<uint8_t, 28>{1});
    nfs::FileIdentity identity(handle, reply.fileid, type, bytes);
    ASSERT_EQ(identity.Set(inode), std::errc{});
    icache::InodeInternals::Store(inode, reply);
    protocol::Attributes shown;
    inode.LoadAttributes(shown);
    EXPECT_EQ(shown, reply) << static_cast<int>(type);
  }
}

using AttributesFresh = Exits;

// ATTR-1.
TEST_F(AttributesFresh, TheLastNanosecondIsFreshAndTheNextIsNot) {
  options_.acregmin_s = options_.acregmax_s = 3;
  Mount();
  Warm(StatOf("d/f"));
  SteeredClock::Pass(3 * kSecond - 1);
  Answered(StatOf("d/f"));
  SteeredClock::Pass(1);
  Left(StatOf("d/f"), NeedRef::kGetattrRpc, kOk, {"GETATTR 3"});
  Answered(StatOf("d/f"));
}

TEST_F(AttributesFresh, AClockBeforeTheBeginningIsTooLate) {
  Mount();
  Warm(StatOf("d/f"));
  SteeredClock::Set(SteeredClock::Now() - 1);
  Left(StatOf("d/f"), NeedRef::kGetattrRpc, kOk, {"GETATTR 1", "GETATTR 2", "GETATTR 3"});
  Answered(StatOf("d/f"));
}

// ATTR-4.
TEST_F(AttributesFresh, NoacIsNeverFresh) {
  options_.acregmin_s = options_.acregmax_s = options_.acdirmin_s = options_.acdirmax_s = 0;
  Mount();
  Warm(StatOf("d/f"));
  Left(StatOf("d/f"), NeedRef::kGetattrRpc, kOk,
       {"ACCESS 1", "GETATTR 1", "ACCESS 2", "GETATTR 2", "GETATTR 3"});
  Left(StatOf("/"), NeedRef::kGetattrRpc, kOk, {"GETATTR 1"});
}

// NAME-5. Replies that come once an open has begun, to requests that were sent before it and after.
TEST_F(AttributesFresh, AreAsOfTheirRequestToAnOpen) {
  Mount();
  const icache::InodeRef directory = InodeOf("d");
  protocol::Attributes reply;
  const auto is_newer = [&](bool changes, bool is_sent_before, auto&& take_in) {
    nfs::CopyAttributes(*directory, reply);
    if (changes) ++reply.change;
    nfs::SendStamp sent = nfs::Stamp(superblock());
    const nfs::SendStamp opened = nfs::Stamp(superblock());
    if (!is_sent_before) sent = nfs::Stamp(superblock());
    take_in(sent);
    return nfs::IsNewerThan(*directory, opened);
  };
  const auto get = [&](nfs::SendStamp sent) {
    EXPECT_EQ(nfs::UpdateAttributes(superblock(), *directory, reply, sent), kOk);
  };
  const auto change = [&](nfs::SendStamp sent) {
    (void)nfs::UpdateAfterOwnChange(superblock(), *directory, {.before = {}, .after = reply}, sent);
  };
  EXPECT_FALSE(is_newer(false, true, get));
  EXPECT_TRUE(is_newer(false, false, get));
  EXPECT_FALSE(is_newer(true, true, get)) << "the change of another client";
  EXPECT_TRUE(is_newer(false, false, get));
  EXPECT_FALSE(is_newer(true, true, change)) << "a change of our own";
  EXPECT_TRUE(is_newer(false, false, get));
}

// ATTR-9. The listing's reply is older than one that has been taken in, and shows a change; a
// LOOKUP that was sent in between was answered before the change.
TEST_F(AttributesFresh, AreNotWhatAReplySaysThatWasSentBeforeAnOlderOneShowedAChange) {
  Mount();
  const icache::InodeRef directory = InodeOf("d");
  protocol::Attributes before;
  nfs::CopyAttributes(*directory, before);
  protocol::Attributes after = before;
  ++after.change;
  const nfs::SendStamp listing = nfs::Stamp(superblock()), getattr = nfs::Stamp(superblock()),
                       lookup = nfs::Stamp(superblock());
  const auto take_in = [&](const protocol::Attributes& reply, nfs::SendStamp sent) {
    EXPECT_EQ(nfs::UpdateAttributes(superblock(), *directory, reply, sent), kOk);
    return nfs::AttributesFresh(superblock(), *directory, SteeredClock::Now());
  };
  EXPECT_TRUE(take_in(before, getattr));
  EXPECT_FALSE(take_in(after, listing));
  EXPECT_FALSE(take_in(before, lookup));
  const uint64_t change_id = directory->change_id.load();
  EXPECT_TRUE(take_in(after, nfs::Stamp(superblock())));
  EXPECT_NE(directory->change_id.load(), change_id);
}

// ATTR-9. What is valid is never older than what a reply that came earlier has shown: the second
// change is known when the reply from between the two comes.
TEST_F(AttributesFresh, AreNotThoseBetweenTwoChanges) {
  Mount();
  const icache::InodeRef directory = InodeOf("d");
  protocol::Attributes before;
  nfs::CopyAttributes(*directory, before);
  protocol::Attributes between = before, after = before;
  between.change += 1;
  after.change += 2;
  const auto take_in = [&](const protocol::Attributes& reply, nfs::SendStamp sent) {
    EXPECT_EQ(nfs::UpdateAttributes(superblock(), *directory, reply, sent), kOk);
    return nfs::AttributesFresh(superblock(), *directory, SteeredClock::Now());
  };
  const nfs::SendStamp first = nfs::Stamp(superblock()), second = nfs::Stamp(superblock()),
                       third = nfs::Stamp(superblock());
  EXPECT_TRUE(take_in(before, third));
  EXPECT_FALSE(take_in(between, first));
  const nfs::SendStamp asked_between = nfs::Stamp(superblock());
  EXPECT_FALSE(take_in(after, second));
  EXPECT_FALSE(take_in(between, asked_between));
  EXPECT_TRUE(take_in(after, nfs::Stamp(superblock())));
}

// ATTR-9. Replies that are in flight do not keep those of later requests from being taken in.
TEST_F(AttributesFresh, AreThoseOfARequestThatWasSentBehindTheFirstContradiction) {
  Mount();
  const icache::InodeRef directory = InodeOf("d");
  protocol::Attributes before;
  nfs::CopyAttributes(*directory, before);
  protocol::Attributes after = before;
  ++after.change;
  const auto take_in = [&](const protocol::Attributes& reply, nfs::SendStamp sent) {
    EXPECT_EQ(nfs::UpdateAttributes(superblock(), *directory, reply, sent), kOk);
    return nfs::AttributesFresh(superblock(), *directory, SteeredClock::Now());
  };
  const nfs::SendStamp first = nfs::Stamp(superblock()), second = nfs::Stamp(superblock()),
                       third = nfs::Stamp(superblock());
  EXPECT_TRUE(take_in(before, second));
  EXPECT_FALSE(take_in(after, first));
  const nfs::SendStamp again = nfs::Stamp(superblock());
  EXPECT_FALSE(take_in(after, third));
  EXPECT_TRUE(take_in(after, again));
}

// ATTR-9. There are always two requests in flight, and each reply shows another change.
TEST_F(AttributesFresh, AreThoseOfSomeReplyAlthoughTheFileChangesAllTheTime) {
  Mount();
  const icache::InodeRef file = InodeOf("d/f");
  protocol::Attributes reply;
  nfs::CopyAttributes(*file, reply);
  const auto stamp = [&] { return nfs::Stamp(superblock()); };
  const auto take_in = [&](nfs::SendStamp sent) {
    ++reply.change;
    EXPECT_EQ(nfs::UpdateAttributes(superblock(), *file, reply, sent), kOk);
    return !nfs::HasValidityBits(*file, icache::kInvalidChange);
  };
  nfs::SendStamp first = stamp(), second = stamp();
  EXPECT_TRUE(take_in(first));
  int taken_in = 0;
  constexpr int kReplies = 60;
  for (int i = 0; i < kReplies; ++i) {
    first = second;
    second = stamp();
    taken_in += take_in(first);
  }
  EXPECT_GE(taken_in, kReplies / 10);
}

// ATTR-21.
TEST_F(AttributesFresh, AreNotThoseOfAnotherFileSystemBeforeTwoRepliesInARowShowIt) {
  Mount();
  const icache::InodeRef inode = InodeOf("d/f");
  const auto shown = [&] {
    protocol::Attributes attributes;
    nfs::CopyAttributes(*inode, attributes);
    return attributes;
  };
  const protocol::Attributes known = shown();
  protocol::Attributes other = known;
  other.fsid += 1;
  other.mtime.seconds += 1;
  const auto fresh = [&] {
    return nfs::AttributesFresh(superblock(), *inode, SteeredClock::Now());
  };
  const auto take_in = [&](const protocol::Attributes& reply) {
    EXPECT_EQ(nfs::UpdateAttributes(superblock(), *inode, reply, nfs::Stamp(superblock())), kOk);
    return fresh();
  };
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(take_in(other));
    EXPECT_EQ(shown(), known);
    EXPECT_TRUE(take_in(known));
  }
  (void)nfs::UpdateAfterOwnChange(superblock(), *inode, {.before = {}, .after = other},
                                  nfs::Stamp(superblock()));
  EXPECT_FALSE(fresh());
  EXPECT_EQ(shown(), known);
  EXPECT_TRUE(take_in(known));
  nfs::UpdateAfterOwnWrites(superblock(), *inode, nfs::ChangedBy::kUs, other,
                            nfs::Stamp(superblock()), 0, 0);
  EXPECT_FALSE(fresh());
  EXPECT_EQ(shown(), known);
  EXPECT_FALSE(take_in(other));
  EXPECT_TRUE(take_in(other));
  EXPECT_EQ(shown(), other);
}

// DELEG-1. The GETATTR was sent behind the OPEN, and answered before a change of another client
// that the OPEN has seen, and that was known before.
TEST_F(AttributesFresh, AreNoneFromBeforeTheGrantOfADelegation) {
  Mount();
  const icache::InodeRef file = InodeOf("d/f");
  protocol::Attributes known;
  nfs::CopyAttributes(*file, known);
  protocol::Attributes older = known;
  --older.change;
  const auto take_in = [&](const protocol::Attributes& reply, nfs::SendStamp sent,
                           nfs::ReplyContext* context) {
    EXPECT_EQ(nfs::UpdateAttributes(superblock(), *file, reply, sent, context), kOk);
  };
  const auto is_valid = [&] { return !nfs::HasValidityBits(*file, icache::kInvalidChange); };
  for (const bool comes_before_the_grant : {false, true}) {
    SCOPED_TRACE(comes_before_the_grant);
    take_in(known, nfs::Stamp(superblock()), nullptr);
    EXPECT_TRUE(is_valid());
    const nfs::SendStamp open = nfs::Stamp(superblock()), getattr = nfs::Stamp(superblock());
    nfs::ReplyContext granted;
    take_in(known, open, &granted);
    if (comes_before_the_grant) take_in(older, getattr, nullptr);
    EXPECT_TRUE(is_valid());
    nfs::BeginDelegation(superblock(), *file, granted);
    EXPECT_EQ(is_valid(), !comes_before_the_grant);
    if (!comes_before_the_grant) take_in(older, getattr, nullptr);
    EXPECT_FALSE(is_valid());
    nfs::EndDelegation(superblock(), *file);
  }
}

// ATTR-1, ATTR-2.
TEST_F(AttributesFresh, LastFromTheirRequestUpToAndWithoutTheirEnd) {
  Mount();
  icache::Inode inode;
  inode.read_at_ns = 1000;
  inode.lifetime_s = 10;
  EXPECT_FALSE(nfs::AttributesFresh(superblock(), inode, 999)) << "a clock that stepped back";
  EXPECT_FALSE(nfs::AttributesFresh(superblock(), inode, 1));
  EXPECT_TRUE(nfs::AttributesFresh(superblock(), inode, 1000));
  EXPECT_TRUE(nfs::AttributesFresh(superblock(), inode, 1000 + 10 * kSecond - 1));
  EXPECT_FALSE(nfs::AttributesFresh(superblock(), inode, 1000 + 10 * kSecond));
  EXPECT_FALSE(nfs::AttributesFresh(superblock(), inode, ~0ull));
  inode.lifetime_s = 0;
  EXPECT_FALSE(nfs::AttributesFresh(superblock(), inode, 1000));
  inode.lifetime_s = 10;
  inode.cache_validity = icache::kInvalidChange;
  EXPECT_FALSE(nfs::AttributesFresh(superblock(), inode, 1000));
}

// DELEG-1, DELEG-5.
TEST_F(AttributesFresh, LastForAsLongAsTheLeaseWhereTheFileIsDelegated) {
  Mount();
  const uint64_t until = 20 * kSecond;
  server_->delegations_until = until;
  icache::Inode inode;
  inode.read_at_ns = 1000;
  const auto is_fresh = [&](uint64_t now_ns) {
    EXPECT_EQ(nfs::IsDelegated(superblock(), inode, now_ns),
              now_ns < until && inode.cache_validity != 0);
    return nfs::AttributesFresh(superblock(), inode, now_ns);
  };
  EXPECT_FALSE(is_fresh(until - 1));
  inode.cache_validity = icache::kDelegated;
  EXPECT_TRUE(is_fresh(until - 1));
  EXPECT_TRUE(is_fresh(1));
  EXPECT_FALSE(is_fresh(until));
  inode.lifetime_s = 60;
  EXPECT_TRUE(is_fresh(until)) << "as those of other files";
  inode.cache_validity = icache::kDelegated | icache::kInvalidChange;
  EXPECT_FALSE(is_fresh(until - 1)) << "a change of our own";
}

// ATTR-10.
TEST_F(AttributesFresh, AreNotWhatRepliesSayThatWereSentBeforeTheInodeLeftMemory) {
  Mount();
  protocol::Attributes before;
  nfs::CopyAttributes(*InodeOf("d/f"), before);
  const nfs::SendStamp first = nfs::Stamp(superblock()), second = nfs::Stamp(superblock());
  icache::Inode inode;
  inode.fileid = before.fileid;
  inode.type = before.type;
  superblock().departed_inodes.Note(before.fileid, nfs::Stamp(superblock()).generation);
  (void)nfs::InitializeAttributes(superblock(), inode, before, first);
  EXPECT_FALSE(nfs::AttributesFresh(superblock(), inode, SteeredClock::Now()));
  EXPECT_EQ(nfs::UpdateAttributes(superblock(), inode, before, second), kOk);
  EXPECT_FALSE(nfs::AttributesFresh(superblock(), inode, SteeredClock::Now()));
  EXPECT_EQ(nfs::UpdateAttributes(superblock(), inode, before, nfs::Stamp(superblock())), kOk);
  EXPECT_TRUE(nfs::AttributesFresh(superblock(), inode, SteeredClock::Now()));
}

// ACCESS-1.
TEST_F(AttributesFresh, CallsWithoutAttributesSendNoGetattr) {
  Mount();
  Warm(AccessTo("d/f", 0));
  InvalidateAttributes("d/f");
  Answered(AccessTo("d/f", 0));
  Answered(TextOf("d/f"), std::errc::invalid_argument);
}

}  // namespace
}  // namespace nfswalk::exits
