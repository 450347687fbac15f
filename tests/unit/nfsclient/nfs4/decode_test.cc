#include "nfsclient/nfs4/decode.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nfsclient/nfs4/operation_names.h"
#include "nfsclient/rpc/internal_errors.h"
#include "tests/unit/nfsclient/nfs4/encoded_attributes.h"

namespace nfswalk::protocol {
namespace {

constexpr std::errc kIo = std::errc::io_error;

// Runs `take` on a COMPOUND of one successful result, and returns its error. What it accepts it has
// read to the end, and accepts of no shorter reply. `body`: of the result.
template <class Take>
std::errc ErrorOf(int operation, const Xdr& body, Take take) {
  const std::string bytes = Xdr().U32(0).Bytes("").U32(2, operation, 0).Raw(body).str();
  const auto error_of = [&](std::string_view reply, bool is_whole) {
    return ReadFrom(reply, [&](rpc::XdrReader& results) {
      CompoundReader reader(results);
      const bool taken = take(reader);
      EXPECT_EQ(taken, reader.error() == kOk);
      if (is_whole && taken) {
        EXPECT_TRUE(reader.Next(OP_PUTFH)) << "where the next result begins";
      }
      return reader.error();
    });
  };
  const std::errc error = error_of(Xdr().Raw(bytes).U32(OP_PUTFH, 0), true);
  for (size_t size = 0; error == kOk && size < bytes.size(); ++size) {
    EXPECT_EQ(error_of(std::string_view(bytes).substr(0, size), false), kIo) << size;
  }
  return error;
}

TEST(TakeHandle, AcceptsOneTo128Bytes) {
  for (const size_t size : {0, 1, 128, 129}) {
    FileHandle handle;
    const bool good = size >= 1 && size <= 128;
    EXPECT_EQ(ErrorOf(OP_GETFH, Xdr().Bytes(std::string(size, 'h')),
                      [&](CompoundReader& r) { return TakeHandle(r, handle); }),
              good ? kOk : kIo);
    EXPECT_EQ(handle.size(), good ? size : 0);
  }
}

TEST(TakeAttributes, RequiresAllAttributes) {
  Attributes attributes;
  const auto take = [&](CompoundReader& r) { return TakeAttributes(r, kOwners, attributes); };
  Values values = GoodValues();
  EXPECT_EQ(ErrorOf(OP_GETATTR, Xdr().Raw(Encoded(values)), take), kOk);
  EXPECT_EQ(attributes.fileid, 99u);
  values.erase(FATTR4_TYPE);
  EXPECT_EQ(ErrorOf(OP_GETATTR, Xdr().Raw(Encoded(values)), take), kIo);
}

TEST(TakeOptionalAttributes, AreNoneOfAResultThatIsRefused) {
  OptionalAttributes attributes;
  const auto take = [&](CompoundReader& r) {
    attributes = TakeOptionalAttributes(r, kOwners);
    return attributes.has_value();
  };
  EXPECT_EQ(ErrorOf(OP_GETATTR, Xdr().Raw(Encoded(With(FATTR4_TYPE, U32(9)))), take), kIo);
  EXPECT_FALSE(attributes);
}

TEST(TakeLimits, ReadsTheServersLimits) {
  ServerAttributes decoded;
  const auto take = [&](CompoundReader& r) { return TakeLimits(r, decoded); };
  const Values lease = {{FATTR4_LEASE_TIME, U32(60)}};
  EXPECT_EQ(ErrorOf(OP_GETATTR, Xdr().Raw(Encoded(lease)), take), kOk);
  EXPECT_EQ(decoded.lease_seconds, 60u);
  EXPECT_EQ(ErrorOf(OP_GETATTR, Xdr().Raw(Encoded(Values{})), take), kIo);
}

TEST(TakeAccess, GrantsOnlySupportedRights) {
  uint32_t granted = 0;
  EXPECT_EQ(ErrorOf(OP_ACCESS, Xdr().U32(0xffffff1f, 0xffffffff),
                    [&](CompoundReader& r) { return TakeAccess(r, granted); }),
            kOk);
  EXPECT_EQ(granted, 0x1fu);
}

TEST(TakeLinkText, RefusesNulEmptyAndOverlongText) {
  const std::pair<std::string, std::errc> rows[] = {{"../a/b", kOk},
                                                    {std::string(4096, 'l'), kOk},
                                                    {"", kIo},
                                                    {std::string(4097, 'l'), kIo},
                                                    {std::string("a\0b", 3), kIo}};
  for (const auto& [text, error] : rows) {
    std::string target;
    EXPECT_EQ(ErrorOf(OP_READLINK, Xdr().Bytes(text),
                      [&](CompoundReader& r) { return TakeLinkText(r, target); }),
              error);
    EXPECT_EQ(target, error == kOk ? text : "");
  }
}

TEST(TakeRead, RefusesMoreThanRequestedAndAnEmptyReadBeforeEof) {
  const struct {
    bool eof;
    std::string data;
    std::errc error;
  } rows[] = {{true, "abc", kOk}, {false, "abc", kOk}, {true, "abcde", kIo}, {false, "", kIo}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.data);
    std::array<std::byte, 4> into{};
    ReadReply reply;
    EXPECT_EQ(ErrorOf(OP_READ, Xdr().U32(row.eof).Bytes(row.data),
                      [&](CompoundReader& r) { return TakeRead(r, into, reply); }),
              row.error);
    EXPECT_EQ(reply.count_bytes, row.error == kOk ? row.data.size() : 0);
    if (row.error != kOk) continue;
    EXPECT_EQ(reply.eof, row.eof);
    EXPECT_EQ(std::memcmp(into.data(), "abc", 4), 0);
  }
}

TEST(TakeWrite, RefusesDataThatIsLessStableThanAskedAndCountsBeyondTheDataSent) {
  const struct {
    uint32_t count, committed;
    bool good;
    Stability requested = Stability::kFileSync;
  } rows[] = {{10, 2, true},
              {1, 2, true},
              {0, 2, false},
              {11, 2, false},
              {10, 0, false},
              {10, 1, false},
              {10, 77, false},
              {10, 0, true, Stability::kUnstable},
              {10, 2, true, Stability::kUnstable},
              {10, 3, false, Stability::kUnstable}};
  for (const auto& row : rows) {
    UnstableWriteReply reply;
    EXPECT_EQ(ErrorOf(OP_WRITE, Xdr().U32(row.count, row.committed).U64(7),
                      [&](CompoundReader& r) { return TakeWrite(r, 10, row.requested, reply); }),
              row.good ? kOk : kIo);
    EXPECT_EQ(reply.count_bytes, row.good ? row.count : 0);
    EXPECT_EQ(reply.verifier != 0, row.good);
  }
}

struct Entry {
  std::string name = "name";
  uint64_t cookie = 3;
  std::string attributes = Encoded(GoodValues());
};

ReadDirReply Listed(const std::vector<Entry>& entries, bool eof, ReadDirPosition asked = {}) {
  Xdr xdr = Xdr().Raw("verifier");
  for (const Entry& entry : entries) {
    xdr.U32(1).U64(entry.cookie).Bytes(entry.name).Raw(entry.attributes);
  }
  ReadDirReply reply;
  reply.error = ErrorOf(OP_READDIR, xdr.U32(0, eof),
                        [&](CompoundReader& r) { return TakeEntries(r, kOwners, asked, reply); });
  EXPECT_TRUE(reply.error == kOk || reply.entries.empty());
  return reply;
}

TEST(TakeEntries, ReturnsNamesAttributesAndHandles) {
  Values values = GoodValues();
  values[FATTR4_RDATTR_ERROR] = U32(0);
  values[FATTR4_FILEHANDLE] = Text("handle");
  values[FATTR4_MOUNTED_ON_FILEID] = U64(77);
  const ReadDirReply reply = Listed({{"a", 3, Encoded(values)}, {"b", 4, Encoded(Values{})}}, true);
  EXPECT_TRUE(reply.eof);
  EXPECT_EQ(std::memcmp(&reply.verifier, "verifier", 8), 0);
  ASSERT_EQ(reply.entries.size(), 2u);
  const DirectoryEntry& entry = reply.entries[0];
  EXPECT_EQ(entry.name, "a");
  EXPECT_EQ(entry.cookie, 3u);
  EXPECT_EQ(entry.fileid, 77u) << "as readdir(3) has it: of what is mounted on";
  ASSERT_TRUE(entry.attributes && entry.handle);
  EXPECT_EQ(entry.attributes->fileid, 99u);
  EXPECT_FALSE(reply.entries[1].attributes || reply.entries[1].handle);
}

TEST(TakeEntries, KeepsAnEntryWithRdattrError) {
  const Values values = {{FATTR4_RDATTR_ERROR, U32(NFS4ERR_ACCESS)},
                         {FATTR4_MOUNTED_ON_FILEID, U64(5)}};
  const ReadDirReply reply = Listed({{"secret", 3, Encoded(values)}}, true);
  EXPECT_EQ(reply.entries.at(0).name, "secret");
  EXPECT_EQ(reply.entries.at(0).fileid, 5u);
  EXPECT_FALSE(reply.entries.at(0).attributes);
}

TEST(TakeEntries, RefusesInvalidNames) {
  using namespace std::string_literals;
  for (const std::string& name :
       {""s, "."s, ".."s, "a/b"s, "/"s, "a\0b"s, "\0"s, std::string(256, 'n')}) {
    EXPECT_EQ(Listed({{"good", 3}, {name, 4}}, true).error, std::errc::io_error) << name;
  }
  for (const std::string& name : {"..."s, ".a"s, std::string(255, 'n')}) {
    EXPECT_EQ(Listed({{name, 3}}, true).error, kOk) << name;
  }
}

TEST(TakeEntries, RefusesBrokenAttributesAndAListingWithoutProgress) {
  const std::string broken = Encoded(With(FATTR4_TYPE, U32(9)));
  EXPECT_EQ(Listed({{"a", 3}, {"b", 4, broken}}, true).error, std::errc::io_error);
  EXPECT_EQ(Listed({{"a", 9}}, false, {9, 1}).error, std::errc::io_error);
  EXPECT_EQ(Listed({{"a", 9}}, true, {9, 1}).error, kOk);
  EXPECT_EQ(Listed({{"a", 0}}, false, {9, 1}).error, std::errc::io_error);
  EXPECT_EQ(Listed({}, false).error, kTooSmall);
  EXPECT_EQ(Listed({}, true).error, kOk);
}

Xdr Change(bool atomic, uint64_t before, uint64_t after) {
  return Xdr().U32(atomic).U64(before, after);
}

void ExpectChange(const ChangeInfo& change, bool atomic, uint64_t before, uint64_t after) {
  EXPECT_EQ(change.atomic, atomic);
  EXPECT_EQ(change.before, before);
  EXPECT_EQ(change.after, after);
}

TEST(TakeChanges, ReturnTheChangeInfoOfEachOperation) {
  const struct {
    nfs_opnum4 operation;
    bool (*take)(CompoundReader&, ChangeInfo&);
  } rows[] = {{OP_CREATE, TakeCreated}, {OP_REMOVE, TakeRemoved}, {OP_LINK, TakeLinked}};
  ChangeInfo change, to;
  for (const auto& row : rows) {
    for (const bool atomic : {true, false}) {
      SCOPED_TRACE(row.operation);
      Xdr body = Change(atomic, 3, 4);
      if (row.operation == OP_CREATE) body.U32(0);
      EXPECT_EQ(
          ErrorOf(row.operation, body, [&](CompoundReader& r) { return row.take(r, change); }),
          kOk);
      ExpectChange(change, atomic, 3, 4);
    }
  }
  EXPECT_EQ(ErrorOf(OP_RENAME, Change(true, 7, 8).Raw(Change(false, 9, 10)),
                    [&](CompoundReader& r) { return TakeRenamed(r, change, to); }),
            kOk);
  ExpectChange(change, true, 7, 8);
  ExpectChange(to, false, 9, 10);
}

TEST(Consistency, IsAtomicOnlyIfNoOtherClientCanHaveChangedTheDirectory) {
  Attributes now;
  now.change = 2;
  const auto before = Consistency({true, 1, 2}, now).before;
  ASSERT_TRUE(before);
  EXPECT_EQ(before->change, 1u);
  EXPECT_EQ(Consistency({true, 1, 2}, now).after, now);
  EXPECT_TRUE(Consistency({true, 1, 2}, now).atomic);
  EXPECT_FALSE(Consistency({false, 1, 2}, now).atomic) << "others may have come in between";
  EXPECT_FALSE(Consistency({true, 1, 3}, now).atomic) << "others came later";
  EXPECT_FALSE(Consistency({true, 1, 3}, now).after) << "which is not to be taken for ours";
  EXPECT_FALSE(Consistency({true, 1, 2}, std::nullopt).atomic);
}

TEST(TakeState, ReturnsTheStateOfEachOperation) {
  ClientIdGrant client;
  EXPECT_EQ(ErrorOf(OP_SETCLIENTID, Xdr().U64(17).Raw("verifier"),
                    [&](CompoundReader& r) { return TakeClientId(r, client); }),
            kOk);
  EXPECT_EQ(client.client_id, 17u);
  EXPECT_EQ(std::memcmp(&client.verifier, "verifier", 8), 0);

  const StateId expected{7, {'t', 'w', 'e', 'l', 'v', 'e', ' ', 'b', 'y', 't', 'e', 's'}};
  const Xdr state = Xdr().U32(7).Raw("twelve bytes");
  for (const uint32_t flags : {0u, 2u, 4u, 6u}) {
    OpenGrant grant;
    EXPECT_EQ(ErrorOf(OP_OPEN, Xdr(state).Raw(Change(true, 1, 2)).U32(flags, 0, 0),
                      [&](CompoundReader& r) { return TakeOpen(r, grant); }),
              kOk);
    EXPECT_EQ(grant.state, expected);
    EXPECT_EQ(grant.directory.after, 2u);
    EXPECT_EQ(grant.must_confirm, (flags & OPEN4_RESULT_CONFIRM) != 0);
  }
  StateId confirmed;
  EXPECT_EQ(ErrorOf(OP_OPEN_CONFIRM, state,
                    [&](CompoundReader& r) { return TakeConfirmed(r, confirmed); }),
            kOk);
  EXPECT_EQ(confirmed, expected);
  EXPECT_EQ(ErrorOf(OP_CLOSE, state, TakeClosed), kOk);
}

// DELEG-7.
TEST(TakeDirectoryDelegation, TakesWhatIsGrantedAndNothingElse) {
  const Xdr state = Xdr().U32(7).Raw("twelve bytes");
  const auto granted = [&](const Xdr& bitmaps) {
    return Xdr().U32(0).U64(0x1234).Raw(state).Raw(bitmaps);
  };
  const struct {
    Xdr body;
    std::errc error;
    bool is_granted;
  } rows[] = {{granted(Xdr().U32(0, 0, 0)), kOk, true},
              {granted(Xdr().U32(1, 8, 2, ~0u, ~0u, 1, 1)), kOk, true},
              {granted(Xdr().U32(0, 0)), kIo, false},
              {granted(Xdr().U32(0x40000000, 0, 0)), kIo, false},
              {granted(Xdr().U32(~0u, 0, 0)), kIo, false},
              {Xdr().U32(0).U64(0), kIo, false},
              {Xdr().U32(1, 0), kOk, false},
              {Xdr().U32(1, 1), kOk, false},
              {Xdr().U32(2, 0), kIo, false},
              {Xdr().U32(~0u, 0), kIo, false},
              {Xdr(), kIo, false}};
  for (const auto& row : rows) {
    SCOPED_TRACE(&row - rows);
    std::optional<DelegationGrant> grant;
    EXPECT_EQ(ErrorOf(kOpGetDirDelegation, row.body,
                      [&](CompoundReader& r) { return TakeDirectoryDelegation(r, grant); }),
              row.error);
    ASSERT_EQ(grant.has_value(), row.is_granted);
    if (!grant) continue;
    EXPECT_TRUE(grant->of_directory);
    EXPECT_FALSE(grant->is_recalled);
    EXPECT_EQ(grant->state.sequence, 7u);
  }
}

// None is asked for; one that is granted all the same is skipped.
TEST(TakeOpen, SkipsDelegations) {
  const Xdr state = Xdr().U32(7).Raw("twelve bytes");
  const Xdr ace = Xdr().U32(0, 0, 1).Bytes("who@example.org");
  const Xdr none = Xdr().U32(OPEN_DELEGATE_NONE);
  const auto read = [&](const Xdr& entry) {
    return Xdr().U32(OPEN_DELEGATE_READ).Raw(state).U32(1).Raw(entry);
  };
  const auto write = [&](uint32_t limit) {
    return Xdr().U32(OPEN_DELEGATE_WRITE).Raw(state).U32(0, limit).U64(1).Raw(ace);
  };
  const struct {
    Xdr delegation;
    std::errc error;
  } rows[] = {{none, kOk},
              {read(ace), kOk},
              {read(Xdr().U32(0, 0, 1).Bytes(std::string(1024, 'w'))), kOk},
              {read(Xdr().U32(0, 0, 1).Bytes(std::string(1025, 'w'))), kIo},
              {read(Xdr().U32(0, 0, 1, 0x80000000)), kIo},
              {write(NFS_LIMIT_SIZE), kOk},
              {write(NFS_LIMIT_BLOCKS), kOk},
              {write(0), kIo},
              {write(3), kIo},
              {Xdr().U32(3), kIo},
              {Xdr().U32(3, 0), kOk},
              {Xdr().U32(3, 8), kOk},
              {Xdr().U32(3, 1, 1), kOk},
              {Xdr().U32(3, 2, 0), kOk},
              {Xdr().U32(~0u), kIo}};
  for (const auto& row : rows) {
    for (const uint32_t words : {0u, 2u, 5u}) {
      SCOPED_TRACE(&row - rows);
      Xdr body = Xdr(state).Raw(Change(true, 1, 2)).U32(OPEN4_RESULT_CONFIRM, words);
      for (uint32_t word = 0; word < words; ++word) body.U32(~0u);
      OpenGrant grant;
      EXPECT_EQ(ErrorOf(OP_OPEN, body.Raw(row.delegation),
                        [&](CompoundReader& r) { return TakeOpen(r, grant); }),
                row.error);
      EXPECT_EQ(grant.must_confirm, row.error == kOk);
    }
  }
}

// WIRE-8. As the first word of each length or count, before which nothing else is wrong.
TEST(Take, RefusesLengthsAndCountsBeyondTheReply) {
  FileHandle handle;
  Attributes attributes;
  std::string target;
  std::array<std::byte, 4> into;
  ReadReply read;
  ReadDirReply entries;
  ChangeInfo change;
  OpenGrant open;
  const Xdr state = Xdr().U32(7).Raw("twelve bytes");
  const struct {
    int operation;
    Xdr before;
    std::function<bool(CompoundReader&)> take;
  } rows[] = {
      {OP_GETFH, {}, [&](CompoundReader& r) { return TakeHandle(r, handle); }},
      {OP_GETATTR, {}, [&](CompoundReader& r) { return TakeAttributes(r, kOwners, attributes); }},
      {OP_GETATTR, Xdr().U32(2, 0, 0),
       [&](CompoundReader& r) { return TakeAttributes(r, kOwners, attributes); }},
      {OP_READLINK, {}, [&](CompoundReader& r) { return TakeLinkText(r, target); }},
      {OP_READ, Xdr().U32(1), [&](CompoundReader& r) { return TakeRead(r, into, read); }},
      {OP_READDIR, Xdr().Raw("verifier").U32(1).U64(3),
       [&](CompoundReader& r) { return TakeEntries(r, kOwners, {}, entries); }},
      {OP_READDIR, Xdr().Raw("verifier").U32(1).U64(3).Bytes("name"),
       [&](CompoundReader& r) { return TakeEntries(r, kOwners, {}, entries); }},
      {OP_CREATE, Change(true, 1, 2), [&](CompoundReader& r) { return TakeCreated(r, change); }},
      {OP_OPEN, Xdr(state).Raw(Change(true, 1, 2)).U32(0),
       [&](CompoundReader& r) { return TakeOpen(r, open); }}};
  for (const auto& row : rows) {
    for (const uint32_t huge : {0x3fffffffu, 0x40000000u, 0x7fffffffu, 0x80000000u, ~0u - 3, ~0u}) {
      const Xdr body = Xdr(row.before).U32(huge).Raw(std::string(64, '\0'));
      EXPECT_EQ(ErrorOf(row.operation, body, row.take), kIo) << &row - rows << ' ' << huge;
    }
  }
}

// An endless list is not believed: each entry is read from what arrived.
TEST(TakeEntries, EndsWhereTheReplyDoes) {
  Xdr xdr = Xdr().Raw("verifier");
  for (uint64_t cookie = 1; cookie < 1000; ++cookie) {
    xdr.U32(1).U64(cookie).Bytes("n").Raw(Encoded(Values{}));
  }
  ReadDirReply reply;
  const auto take = [&](CompoundReader& r) { return TakeEntries(r, kOwners, {}, reply); };
  EXPECT_EQ(ErrorOf(OP_READDIR, Xdr(xdr).U32(1), take), kIo);
  EXPECT_TRUE(reply.entries.empty());
  EXPECT_EQ(ReadFrom(Xdr().U32(0, 0, 1, OP_READDIR, 0).Raw(xdr).U32(0, 1),
                     [&](auto& results) {
                       CompoundReader reader(results);
                       return take(reader);
                     }),
            true);
  EXPECT_EQ(reply.entries.size(), 999u);
}

TEST(Take, RefusesTheResultOfAnotherOperation) {
  FileHandle handle;
  Attributes attributes;
  ServerAttributes limits;
  uint32_t granted = 0;
  std::string target;
  ReadReply read;
  UnstableWriteReply written;
  uint64_t verifier = 0;
  ReadDirReply entries;
  ChangeInfo change;
  ClientIdGrant client;
  OpenGrant open;
  StateId state;
  const std::function<bool(CompoundReader&)> takes[] = {
      [&](CompoundReader& r) { return TakeHandle(r, handle); },
      [&](CompoundReader& r) { return TakeAttributes(r, kOwners, attributes); },
      [&](CompoundReader& r) { return TakeLimits(r, limits); },
      [&](CompoundReader& r) { return TakeAccess(r, granted); },
      [&](CompoundReader& r) { return TakeLinkText(r, target); },
      [&](CompoundReader& r) { return TakeRead(r, {}, read); },
      [&](CompoundReader& r) { return TakeWrite(r, 0, Stability::kFileSync, written); },
      [&](CompoundReader& r) { return TakeCommit(r, verifier); },
      [&](CompoundReader& r) { return TakeEntries(r, kOwners, {}, entries); },
      [&](CompoundReader& r) { return TakeCreated(r, change); },
      [&](CompoundReader& r) { return TakeRemoved(r, change); },
      [&](CompoundReader& r) { return TakeLinked(r, change); },
      [&](CompoundReader& r) { return TakeRenamed(r, change, change); },
      [&](CompoundReader& r) { return TakeClientId(r, client); },
      [&](CompoundReader& r) { return TakeOpen(r, open); },
      [&](CompoundReader& r) { return TakeConfirmed(r, state); },
      [&](CompoundReader& r) { return TakeClosed(r); }};
  for (const auto& take : takes) {
    EXPECT_EQ(ErrorOf(OP_PUTFH, {}, take), kIo) << &take - takes;
  }
}

}  // namespace
}  // namespace nfswalk::protocol
