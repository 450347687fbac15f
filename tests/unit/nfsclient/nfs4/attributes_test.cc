// DecodeFileAttributes() and DecodeServerAttributes().
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "nfsclient/nfs4/decode.h"
#include "tests/unit/nfsclient/nfs4/encoded_attributes.h"

namespace nfswalk::protocol {
namespace {

bool Decodes(const std::string& encoded, FileAttributes& decoded) {
  return ReadFrom(encoded, [&](rpc::XdrReader& results) {
    OwnerWait wait;
    const bool good = DecodeFileAttributes(results, kOwners, wait, decoded);
    EXPECT_TRUE(!good || (results.good() && results.bytes_left() == 0));
    return good;
  });
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
  return ReadFrom(Encoded(values), [&](rpc::XdrReader& results) {
    return DecodeServerAttributes(results, decoded);
  });
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

TEST(DecodeSpace, TakesWhatTheServerSends) {
  const auto decode = [](const Values& values, FileSystemSpace& space) {
    return ReadFrom(Encoded(values),
                    [&](rpc::XdrReader& results) { return DecodeSpace(results, space); });
  };
  FileSystemSpace space;
  ASSERT_TRUE(decode({{FATTR4_FILES_AVAIL, U64(1)},
                      {FATTR4_FILES_FREE, U64(2)},
                      {FATTR4_FILES_TOTAL, U64(3)},
                      {FATTR4_SPACE_AVAIL, U64(4)},
                      {FATTR4_SPACE_FREE, U64(5)},
                      {FATTR4_SPACE_TOTAL, U64(1ull << 60)}},
                     space));
  EXPECT_EQ(space.available_files, 1u);
  EXPECT_EQ(space.free_files, 2u);
  EXPECT_EQ(space.total_files, 3u);
  EXPECT_EQ(space.available_bytes, 4u);
  EXPECT_EQ(space.free_bytes, 5u);
  EXPECT_EQ(space.total_bytes, 1ull << 60);
  FileSystemSpace none;
  EXPECT_TRUE(decode({}, none));
  EXPECT_EQ(none.total_bytes, 0u);
  EXPECT_FALSE(decode({{FATTR4_SPACE_FREE, U32(1)}}, none)) << "four bytes are none of eight";
}

}  // namespace
}  // namespace nfswalk::protocol
