#include "nfsclient/protocol/nfs4_decode.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nfsclient/protocol/internal_errors.h"
#include "tests/unit/nfsclient/protocol/fake_server.h"
#include "tests/unit/nfsclient/protocol/wire_reply.h"

namespace nfswalk::protocol {
namespace {

const OwnerNames kOwners("example.org");

// Encoded attribute values by number.
using Values = std::map<int, std::string>;

std::string U32(uint32_t value) { return Xdr().U32(value).str(); }
std::string U64(uint64_t value) { return Xdr().U64(value).str(); }
std::string Text(std::string_view text) { return Xdr().Bytes(text).str(); }
std::string TimeOf(uint64_t seconds, uint32_t nanoseconds) {
  return Xdr().U64(seconds).U32(nanoseconds).str();
}

Values GoodValues() {
  return {{FATTR4_TYPE, U32(NF4DIR)},
          {FATTR4_CHANGE, U64(0x1122334455667788)},
          {FATTR4_SIZE, U64(1ull << 33)},
          {FATTR4_FSID, U64(3) + U64(4)},
          {FATTR4_FILEID, U64(99)},
          {FATTR4_MODE, U32(0102755)},
          {FATTR4_NUMLINKS, U32(2)},
          {FATTR4_OWNER, Text("1000")},
          {FATTR4_OWNER_GROUP, Text("root@EXAMPLE.org")},
          {FATTR4_RAWDEV, U32(8) + U32(1)},
          {FATTR4_SPACE_USED, U64(4096)},
          {FATTR4_TIME_ACCESS, TimeOf(~0ull, 1)},
          {FATTR4_TIME_METADATA, TimeOf(5, 6)},
          {FATTR4_TIME_MODIFY, TimeOf(7, 999'999'999)}};
}

// An encoded fattr4.
std::string Encoded(const std::vector<uint32_t>& mask, const std::string& values) {
  Xdr xdr = Xdr().U32(mask.size());
  for (const uint32_t word : mask) xdr.U32(word);
  return xdr.Bytes(values).str();
}
std::pair<std::vector<uint32_t>, std::string> MaskAndBytes(const Values& values) {
  std::vector<uint32_t> mask(2);
  std::string bytes;
  for (const auto& [number, value] : values) {
    mask.resize(std::max<size_t>(mask.size(), number / 32 + 1));
    mask[number / 32] |= 1u << number % 32;
    bytes += value;
  }
  return {mask, bytes};
}
std::string Encoded(const Values& values) {
  const auto [mask, bytes] = MaskAndBytes(values);
  return Encoded(mask, bytes);
}

bool Decodes(const std::string& encoded, FileAttributes& decoded) {
  const WireReply<fattr4> reply(encoded, zdr_fattr4);
  return reply.parsed() && DecodeFileAttributes(reply.wire(), kOwners, decoded);
}
bool Decodes(const std::string& encoded) {
  FileAttributes decoded;
  return Decodes(encoded, decoded);
}
FileAttributes AttributesOf(const Values& values) {
  FileAttributes decoded;
  EXPECT_TRUE(Decodes(Encoded(values), decoded));
  return decoded;
}
Values With(int number, std::string value) {
  Values values = GoodValues();
  values[number] = std::move(value);
  return values;
}

TEST(DecodeFileAttributes, ReadsEveryAttributeOfAFile) {
  const FileAttributes decoded = AttributesOf(GoodValues());
  const Attributes expected = {.type = FileType::kDirectory,
                               .mode = 02755,
                               .nlink = 2,
                               .uid = 1000,
                               .gid = 0,
                               .size_bytes = 1ull << 33,
                               .used_bytes = 4096,
                               .rdev_major = 8,
                               .rdev_minor = 1,
                               .fsid = 3ull << 32 | 4,
                               .fileid = 99,
                               .atime = {-1, 1},
                               .mtime = {7, 999'999'999},
                               .ctime = {5, 6},
                               .change = 0x1122334455667788};
  EXPECT_EQ(decoded.attributes, expected);
  EXPECT_TRUE(decoded.complete);
  EXPECT_FALSE(decoded.handle);
  EXPECT_EQ(decoded.mounted_on_fileid, 99u) << "as the file id if not sent";
}

TEST(DecodeFileAttributes, DecodesEveryFileType) {
  const std::map<int, FileType> types = {
      {NF4REG, FileType::kRegular},     {NF4DIR, FileType::kDirectory},
      {NF4BLK, FileType::kBlockDevice}, {NF4CHR, FileType::kCharacterDevice},
      {NF4LNK, FileType::kSymlink},     {NF4SOCK, FileType::kSocket},
      {NF4FIFO, FileType::kFifo}};
  for (const auto& [wire, type] : types) {
    EXPECT_EQ(AttributesOf(With(FATTR4_TYPE, U32(wire))).attributes.type, type) << wire;
  }
}

TEST(DecodeFileAttributes, RefusesUnknownTypesAndNamedAttributes) {
  for (const uint32_t type : {0u, 8u, 9u, 10u, ~0u}) {
    EXPECT_FALSE(Decodes(Encoded(With(FATTR4_TYPE, U32(type))))) << type;
  }
}

TEST(DecodeFileAttributes, CutsImpossibleNanoseconds) {
  for (const uint32_t nanoseconds : {1'000'000'000u, 0x3fffffffu, ~0u}) {
    const FileAttributes decoded = AttributesOf(With(FATTR4_TIME_MODIFY, TimeOf(1, nanoseconds)));
    EXPECT_EQ(decoded.attributes.mtime, (Time{1, 999'999'999}));
  }
}

TEST(DecodeFileAttributes, RefusesValuesThatDoNotEndWhereTheBitmapSays) {
  const auto [mask, values] = MaskAndBytes(GoodValues());
  EXPECT_TRUE(Decodes(Encoded(mask, values)));
  for (size_t size = 0; size < values.size(); ++size) {
    EXPECT_FALSE(Decodes(Encoded(mask, values.substr(0, size)))) << size;
  }
  for (const size_t more : {1, 4, 400}) {
    EXPECT_FALSE(Decodes(Encoded(mask, values + std::string(more, '\0')))) << more;
  }
}

TEST(DecodeFileAttributes, RefusesAttributesOfUnknownLength) {
  for (const int number : {FATTR4_ACL, FATTR4_FS_LOCATIONS, FATTR4_TIME_ACCESS_SET,
                           FATTR4_TIME_MODIFY_SET, 56, 63, 64, 75, 95}) {
    EXPECT_FALSE(Decodes(Encoded(With(number, U32(0))))) << number;
  }
}

TEST(DecodeFileAttributes, SkipsAttributesNotRequested) {
  const std::pair<std::string, std::vector<int>> rows[] = {
      {U32(0),
       {FATTR4_FH_EXPIRE_TYPE, FATTR4_LINK_SUPPORT, FATTR4_SYMLINK_SUPPORT, FATTR4_NAMED_ATTR,
        FATTR4_UNIQUE_HANDLES, FATTR4_LEASE_TIME, FATTR4_ACLSUPPORT, FATTR4_ARCHIVE,
        FATTR4_CANSETTIME, FATTR4_CASE_INSENSITIVE, FATTR4_CASE_PRESERVING, FATTR4_CHOWN_RESTRICTED,
        FATTR4_HIDDEN, FATTR4_HOMOGENEOUS, FATTR4_MAXLINK, FATTR4_MAXNAME, FATTR4_NO_TRUNC,
        FATTR4_SYSTEM}},
      {U64(0),
       {FATTR4_FILES_AVAIL, FATTR4_FILES_FREE, FATTR4_FILES_TOTAL, FATTR4_MAXFILESIZE,
        FATTR4_MAXREAD, FATTR4_MAXWRITE, FATTR4_QUOTA_AVAIL_HARD, FATTR4_QUOTA_AVAIL_SOFT,
        FATTR4_QUOTA_USED, FATTR4_SPACE_AVAIL, FATTR4_SPACE_FREE, FATTR4_SPACE_TOTAL}},
      {TimeOf(0, 0), {FATTR4_TIME_BACKUP, FATTR4_TIME_CREATE, FATTR4_TIME_DELTA}},
      {Xdr().U32(2).U64(0).str(), {FATTR4_SUPPORTED_ATTRS}},
      {Text("text/plain"), {FATTR4_MIMETYPE}}};
  Values values = GoodValues();
  const Attributes expected = AttributesOf(values).attributes;
  for (const auto& [value, numbers] : rows) {
    for (const int number : numbers) {
      EXPECT_EQ(AttributesOf(With(number, value)).attributes, expected) << number;
      values[number] = value;
    }
  }
  EXPECT_EQ(AttributesOf(values).attributes, expected) << "all of them at once";
}

// WIRE-8.
TEST(DecodeFileAttributes, RefusesLengthsBeyondTheValues) {
  for (const int number : {FATTR4_OWNER, FATTR4_OWNER_GROUP, FATTR4_FILEHANDLE, FATTR4_MIMETYPE,
                           FATTR4_SUPPORTED_ATTRS}) {
    for (const uint32_t length : {1u << 31, 0x7fffffffu, ~0u, ~0u - 3, 1000u}) {
      EXPECT_FALSE(Decodes(Encoded(With(number, U32(length) + "1000")))) << number << ' ' << length;
    }
  }
}

TEST(DecodeFileAttributes, AcceptsALongBitmapWithoutFurtherBits) {
  const std::string empty = Encoded(std::vector<uint32_t>(1000), "");
  EXPECT_TRUE(Decodes(empty));
  std::vector<uint32_t> mask(1000);
  mask[999] = 1;
  EXPECT_FALSE(Decodes(Encoded(mask, U32(0))));
  EXPECT_FALSE(Decodes(Encoded(std::vector<uint32_t>(1000, ~0u), std::string(4000, '\0'))));
}

TEST(DecodeFileAttributes, AreNotCompleteWithoutARequiredOne) {
  EXPECT_FALSE(AttributesOf({}).complete);
  for (const auto& [number, value] : GoodValues()) {
    Values values = GoodValues();
    values.erase(number);
    const bool has_stand_in =
        number == FATTR4_RAWDEV || number == FATTR4_SPACE_USED || number == FATTR4_TIME_ACCESS;
    EXPECT_EQ(AttributesOf(values).complete, has_stand_in) << number;
  }
}

TEST(DecodeFileAttributes, SubstitutesOptionalAttributes) {
  Values values = GoodValues();
  values.erase(FATTR4_RAWDEV);
  values.erase(FATTR4_SPACE_USED);
  values.erase(FATTR4_TIME_ACCESS);
  const Attributes attributes = AttributesOf(values).attributes;
  EXPECT_EQ(attributes.rdev_major, 0u);
  EXPECT_EQ(attributes.used_bytes, attributes.size_bytes);
  EXPECT_EQ(attributes.atime, attributes.mtime);
}

TEST(DecodeFileAttributes, FsidsOfDifferentFileSystemsDiffer) {
  constexpr uint64_t kParts[] = {0, 1, 152, 1ull << 31, 1ull << 32, 1ull << 63, ~0ull};
  std::set<uint64_t> ids;
  for (const uint64_t major : kParts) {
    for (const uint64_t minor : kParts) {
      const Values values = With(FATTR4_FSID, U64(major) + U64(minor));
      const uint64_t id = AttributesOf(values).attributes.fsid;
      EXPECT_TRUE(ids.insert(id).second) << major << ' ' << minor;
      EXPECT_EQ(AttributesOf(values).attributes.fsid, id);
    }
  }
}

TEST(DecodeFileAttributes, OwnersOfForeignDomainsAreNobody) {
  for (const char* owner : {"root@elsewhere", "", "-1", "4294967296"}) {
    EXPECT_EQ(AttributesOf(With(FATTR4_OWNER, Text(owner))).attributes.uid, kNobody) << owner;
    EXPECT_EQ(AttributesOf(With(FATTR4_OWNER_GROUP, Text(owner))).attributes.gid, kNobody) << owner;
  }
}

TEST(DecodeFileAttributes, AcceptsHandlesOfOneTo128Bytes) {
  for (const size_t size : {1, 64, 128, 0, 129, 1000}) {
    FileAttributes decoded;
    const bool good = size >= 1 && size <= 128;
    const Values values = With(FATTR4_FILEHANDLE, Text(std::string(size, 'h')));
    EXPECT_EQ(Decodes(Encoded(values), decoded), good) << size;
    EXPECT_EQ(decoded.handle.value_or(FileHandle()).size(), good ? size : 0) << size;
  }
}

bool DecodesServer(const Values& values, ServerAttributes& decoded) {
  const WireReply<fattr4> reply(Encoded(values), zdr_fattr4);
  return reply.parsed() && DecodeServerAttributes(reply.wire(), decoded);
}

TEST(DecodeServerAttributes, ClampsTheLimits) {
  ServerAttributes decoded;
  ASSERT_TRUE(DecodesServer({{FATTR4_LEASE_TIME, U32(90)},
                             {FATTR4_CASE_INSENSITIVE, U32(1)},
                             {FATTR4_MAXNAME, U32(1000)},
                             {FATTR4_MAXREAD, U64(1ull << 40)},
                             {FATTR4_MAXWRITE, U64(0)}},
                            decoded));
  EXPECT_EQ(decoded.lease_seconds, 90u);
  EXPECT_TRUE(decoded.limits.case_insensitive);
  EXPECT_EQ(decoded.limits.name_bytes_max, 255u);
  EXPECT_EQ(decoded.limits.read_bytes_max, 1024u * 1024);
  EXPECT_EQ(decoded.limits.readdir_bytes_max, 1024u * 1024);
  EXPECT_EQ(decoded.limits.write_bytes_max, 1024u);
}

TEST(DecodeServerAttributes, RequiresALeaseTimeOnly) {
  ServerAttributes decoded;
  EXPECT_FALSE(DecodesServer({{FATTR4_MAXREAD, U64(65536)}}, decoded));
  EXPECT_TRUE(DecodesServer({{FATTR4_LEASE_TIME, U32(0)}}, decoded));
  EXPECT_EQ(decoded.lease_seconds, 1u);
  EXPECT_FALSE(decoded.limits.case_insensitive);
  EXPECT_EQ(decoded.limits.name_bytes_max, 255u);
  EXPECT_EQ(decoded.limits.read_bytes_max, 64u * 1024);
}

constexpr std::errc kIo = std::errc::io_error;

// Runs `take` on a successful COMPOUND of one result, and returns its error.
template <class Take>
std::errc ErrorOf(int operation, const Xdr& body, Take take) {
  const std::string bytes = Xdr().U32(0).Bytes("").U32(1, operation, 0).Raw(body).str();
  const WireReply<COMPOUND4res> reply(bytes, zdr_COMPOUND4res);
  EXPECT_TRUE(reply.parsed());
  CompoundReader reader(reply.wire());
  const bool taken = take(reader);
  EXPECT_EQ(taken, reader.error() == kOk);
  return reader.error();
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

TEST(TakeWrite, RefusesUnstableDataAndCountsBeyondTheDataSent) {
  const struct {
    uint32_t count, committed;
    bool good;
  } rows[] = {{10, 2, true},  {1, 2, true},   {0, 2, false},  {11, 2, false},
              {10, 0, false}, {10, 1, false}, {10, 77, false}};
  for (const auto& row : rows) {
    size_t count = 0;
    EXPECT_EQ(ErrorOf(OP_WRITE, Xdr().U32(row.count, row.committed).U64(0),
                      [&](CompoundReader& r) { return TakeWrite(r, 10, count); }),
              row.good ? kOk : kIo);
    EXPECT_EQ(count, row.good ? row.count : 0);
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

TEST(Take, RefusesTheResultOfAnotherOperation) {
  FileHandle handle;
  Attributes attributes;
  ServerAttributes limits;
  uint32_t granted = 0;
  std::string target;
  ReadReply read;
  size_t count = 0;
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
      [&](CompoundReader& r) { return TakeWrite(r, 0, count); },
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
