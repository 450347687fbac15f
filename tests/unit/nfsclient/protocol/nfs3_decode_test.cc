#include "nfsclient/protocol/nfs3_decode.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs.h>
// clang-format on

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace nfswalk::protocol {
namespace {

fattr3 GoodAttributes() {
  fattr3 a{};
  a.type = NF3REG;
  a.mode = 0100644;
  a.nlink = 1;
  a.size = 7;
  a.ctime = {100, 5};
  a.mtime = {100, 5};
  return a;
}

post_op_attr Follows(const fattr3& attributes) {
  post_op_attr wire{};
  wire.attributes_follow = 1;
  wire.post_op_attr_u.attributes = attributes;
  return wire;
}

nfs_fh3 HandleOf(std::string& bytes) { return {{static_cast<u_int>(bytes.size()), bytes.data()}}; }

AttributesReply Decode(const fattr3& attributes) {
  GETATTR3res wire{};
  wire.GETATTR3res_u.resok.obj_attributes = attributes;
  AttributesReply reply;
  DecodeReply(wire, reply);
  return reply;
}

TEST(DecodeAttributes, KeepsPermissionBitsOnly) {
  const AttributesReply reply = Decode(GoodAttributes());
  EXPECT_EQ(reply.error, kOk);
  EXPECT_EQ(reply.attributes.mode, 0644u);
  EXPECT_EQ(reply.attributes.type, FileType::kRegular);
  EXPECT_EQ(reply.attributes.size_bytes, 7u);
}

TEST(DecodeAttributes, OfAnUnknownTypeIsAnError) {
  for (const int type : {0, 8, -1, 1 << 20}) {
    fattr3 a = GoodAttributes();
    a.type = static_cast<ftype3>(type);
    EXPECT_EQ(Decode(a).error, std::errc::io_error) << type;
  }
}

// WIRE-9.
TEST(DecodeAttributes, CutsImpossibleNanoseconds) {
  fattr3 a = GoodAttributes();
  a.mtime.nseconds = 0x3fffffff;
  EXPECT_EQ(Decode(a).attributes.mtime.nanoseconds, 999'999'999u);
}

// ATTR-5.
TEST(DecodeAttributes, ChangeDiffersWhereverCtimeMtimeOrSizeDiffer) {
  const uint64_t base = Decode(GoodAttributes()).attributes.change;
  EXPECT_EQ(base, Decode(GoodAttributes()).attributes.change);
  fattr3 later = GoodAttributes();  // a write sets both times to one instant
  later.mtime.nseconds = later.ctime.nseconds = 6;
  EXPECT_NE(Decode(later).attributes.change, base);
  fattr3 longer = GoodAttributes();
  longer.size = 8;
  EXPECT_NE(Decode(longer).attributes.change, base);
  fattr3 touched = GoodAttributes();
  touched.mtime.seconds = 99;
  EXPECT_NE(Decode(touched).attributes.change, base);
}

LookupReply DecodeLookup(std::string handle) {
  LOOKUP3res wire{};
  wire.LOOKUP3res_u.resok.object = HandleOf(handle);
  wire.LOOKUP3res_u.resok.obj_attributes = Follows(GoodAttributes());
  LookupReply reply;
  DecodeReply(wire, reply);
  return reply;
}

TEST(DecodeLookup, TakesHandlesOfOneToSixtyFourBytes) {
  EXPECT_EQ(DecodeLookup("x").handle.size(), 1u);
  EXPECT_EQ(DecodeLookup(std::string(64, 'x')).handle.size(), 64u);
}

// WIRE-7.
TEST(DecodeLookup, RefusesEmptyAndOverlongHandlesWithAnEmptyReply) {
  for (const size_t size : {0, 65, 128, 129, 100'000}) {
    const LookupReply reply = DecodeLookup(std::string(size, 'x'));
    EXPECT_EQ(reply.error, std::errc::io_error) << size;
    EXPECT_TRUE(reply.handle.empty());
    EXPECT_FALSE(reply.attributes.has_value());
  }
}

TEST(DecodeLookup, KeepsTheDirectoryAttributesOfAFailure) {
  LOOKUP3res wire{};
  wire.status = NFS3ERR_NOENT;
  wire.LOOKUP3res_u.resfail.dir_attributes = Follows(GoodAttributes());
  LookupReply reply;
  DecodeReply(wire, reply);
  EXPECT_EQ(reply.error, std::errc::no_such_file_or_directory);
  EXPECT_TRUE(reply.directory.has_value());
}

TEST(DecodeAccess, ReportsOnlyKnownBits) {
  ACCESS3res wire{};
  wire.ACCESS3res_u.resok.access = 0xffffffff;
  AccessReply reply;
  DecodeReply(wire, reply);
  EXPECT_EQ(reply.granted, kAccessAll);
}

ReadLinkReply DecodeLink(char* text) {
  READLINK3res wire{};
  wire.READLINK3res_u.resok.data = text;
  ReadLinkReply reply;
  DecodeReply(wire, reply);
  return reply;
}

TEST(DecodeReadLink, TakesUpToFourThousandAndNinetySixBytes) {
  std::string longest(4096, 'x');
  EXPECT_EQ(DecodeLink(longest.data()).target, longest);
}

TEST(DecodeReadLink, RefusesMissingEmptyAndOverlongText) {
  std::string too_long(4097, 'x');
  std::string empty;
  EXPECT_EQ(DecodeLink(too_long.data()).error, std::errc::io_error);
  EXPECT_EQ(DecodeLink(empty.data()).error, std::errc::io_error);
  EXPECT_EQ(DecodeLink(nullptr).error, std::errc::io_error);
}

ReadReply DecodeRead(std::string data, u_int count, bool eof, std::span<std::byte> into) {
  READ3res wire{};
  READ3resok& ok = wire.READ3res_u.resok;
  ok.count = count;
  ok.eof = eof;
  ok.data.data_len = static_cast<u_int>(data.size());
  ok.data.data_val = data.data();
  ReadReply reply;
  DecodeReply(wire, into, reply);
  return reply;
}

TEST(DecodeRead, CopiesTheData) {
  std::array<std::byte, 4> into{};
  const ReadReply reply = DecodeRead("abc", 3, true, into);
  EXPECT_EQ(reply.error, kOk);
  EXPECT_EQ(reply.count_bytes, 3u);
  EXPECT_EQ(into[2], std::byte{'c'});
}

TEST(DecodeRead, RefusesMoreThanRequestedAndWritesNothing) {
  std::array<std::byte, 4> into{};
  EXPECT_EQ(DecodeRead("abcde", 5, true, into).error, std::errc::io_error);
  EXPECT_EQ(into[0], std::byte{0});
}

TEST(DecodeRead, RefusesACountThatIsNotTheLengthOfTheData) {
  std::array<std::byte, 4> into{};
  EXPECT_EQ(DecodeRead("ab", 3, true, into).error, std::errc::io_error);
  EXPECT_EQ(DecodeRead("ab", 1, true, into).error, std::errc::io_error);
}

TEST(DecodeRead, RefusesAnEmptyReadBeforeEof) {
  std::array<std::byte, 4> into{};
  EXPECT_EQ(DecodeRead("", 0, false, into).error, std::errc::io_error);
  EXPECT_EQ(DecodeRead("", 0, true, into).error, kOk);
}

TEST(DecodeWrite, RefusesACountThatWasNotSentAndDataThatIsNotStable) {
  WRITE3res wire{};
  WRITE3resok& ok = wire.WRITE3res_u.resok;
  ok.committed = FILE_SYNC;
  ok.count = 5;
  WriteReply reply;
  DecodeReply(wire, 5, reply);
  EXPECT_EQ(reply.count_bytes, 5u);
  DecodeReply(wire, 4, reply);
  EXPECT_EQ(reply.error, std::errc::io_error);
  ok.committed = UNSTABLE;
  reply = {};
  DecodeReply(wire, 5, reply);
  EXPECT_EQ(reply.error, std::errc::io_error);
}

struct Entry {
  std::string name;
  uint64_t cookie;
};

ReadDirReply DecodeDirectory(std::vector<Entry> entries, bool eof, ReadDirPosition asked = {}) {
  std::vector<entryplus3> wires(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    wires[i].name = entries[i].name.data();
    wires[i].cookie = entries[i].cookie;
    wires[i].nextentry = i + 1 < entries.size() ? &wires[i + 1] : nullptr;
  }
  READDIRPLUS3res wire{};
  wire.READDIRPLUS3res_u.resok.reply.entries = wires.empty() ? nullptr : wires.data();
  wire.READDIRPLUS3res_u.resok.reply.eof = eof;
  ReadDirReply reply;
  DecodeReply(wire, asked, reply);
  return reply;
}

TEST(DecodeReadDir, KeepsEntriesInOrder) {
  const ReadDirReply reply = DecodeDirectory({{".", 1}, {"..", 2}, {"a", 3}}, false);
  ASSERT_EQ(reply.entries.size(), 3u);
  EXPECT_EQ(reply.entries[2].name, "a");
  EXPECT_EQ(reply.entries[2].cookie, 3u);
  EXPECT_FALSE(reply.eof);
}

TEST(DecodeReadDir, RefusesNamesThatAreEmptyOverlongOrHoldASlash) {
  for (const std::string& name :
       {std::string(), std::string("a/b"), std::string("/"), std::string(256, 'x')}) {
    const ReadDirReply reply = DecodeDirectory({{"good", 1}, {name, 2}}, true);
    EXPECT_EQ(reply.error, std::errc::io_error) << name;
    EXPECT_TRUE(reply.entries.empty());
  }
}

// WIRE-11.
TEST(DecodeReadDir, RefusesAChunkThatMakesNoProgress) {
  EXPECT_EQ(DecodeDirectory({}, false).error, std::errc::io_error);
  EXPECT_EQ(DecodeDirectory({{"a", 9}}, false, {9, 0}).error, std::errc::io_error);
  EXPECT_EQ(DecodeDirectory({}, true).error, kOk) << "an empty last chunk is fine";
}

TEST(DecodeReadDir, RefusesAnEntryWithABadHandle) {
  std::string name = "a";
  std::string handle(65, 'x');
  entryplus3 entry{};
  entry.name = name.data();
  entry.cookie = 1;
  entry.name_handle.handle_follows = 1;
  entry.name_handle.post_op_fh3_u.handle = HandleOf(handle);
  READDIRPLUS3res wire{};
  wire.READDIRPLUS3res_u.resok.reply = {&entry, 1};
  ReadDirReply reply;
  DecodeReply(wire, {}, reply);
  EXPECT_EQ(reply.error, std::errc::io_error);
}

TEST(DecodeCreated, HandleAndAttributesAreOptional) {
  CREATE3res wire{};
  CreateReply reply;
  DecodeReply(wire, reply);
  EXPECT_EQ(reply.error, kOk);
  EXPECT_FALSE(reply.handle.has_value());
}

TEST(DecodeCreated, KeepsWeakCacheConsistencyOfAFailure) {
  MKDIR3res wire{};
  wire.status = NFS3ERR_EXIST;
  wcc_data& wcc = wire.MKDIR3res_u.resfail.dir_wcc;
  wcc.before.attributes_follow = 1;
  wcc.before.pre_op_attr_u.attributes = {4096, {1, 2}, {3, 4}};
  wcc.after = Follows(GoodAttributes());
  CreateReply reply;
  DecodeReply(wire, reply);
  EXPECT_EQ(reply.error, std::errc::file_exists);
  ASSERT_TRUE(reply.directory.before.has_value());
  EXPECT_EQ(reply.directory.before->size_bytes, 4096u);
  EXPECT_EQ(reply.directory.before->ctime.seconds, 3);
  EXPECT_TRUE(reply.directory.after.has_value());
}

// WIRE-10.
TEST(DecodeLimits, AreClampedToTheTransport) {
  FSINFO3res wire{};
  wire.FSINFO3res_u.resok.rtmax = 64 * 1024 * 1024;
  wire.FSINFO3res_u.resok.dtpref = 8192;
  LimitsReply reply;
  DecodeReply(wire, reply);
  EXPECT_EQ(reply.limits.read_bytes_max, 1024u * 1024);
  EXPECT_EQ(reply.limits.write_bytes_max, 1024u);
  EXPECT_EQ(reply.limits.readdir_bytes_max, 8192u);
  PATHCONF3res names{};
  names.PATHCONF3res_u.resok.name_max = 4'000'000'000u;
  DecodeReply(names, reply);
  EXPECT_EQ(reply.limits.name_bytes_max, 255u);
}

}  // namespace
}  // namespace nfswalk::protocol
