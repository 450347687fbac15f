#include "nfsclient/protocol/nfs3_decode.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "nfsclient/protocol/nfs3_encode.h"
#include "tests/unit/nfsclient/protocol/libnfs_raw.h"

namespace nfswalk::protocol {
namespace {

template <class Reply, class Wire, class... Request>
Reply Decoded(const Wire& wire, Request... request) {
  Reply reply;
  DecodeReply(wire, request..., reply);
  return reply;
}

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

// Decodes good attributes after `edit`.
AttributesReply Edited(const std::function<void(fattr3&)>& edit) {
  GETATTR3res wire{};
  fattr3& attributes = wire.GETATTR3res_u.resok.obj_attributes = GoodAttributes();
  edit(attributes);
  return Decoded<AttributesReply>(wire);
}

TEST(DecodeAttributes, KeepsPermissionBitsOnly) {
  const AttributesReply reply = Edited([](fattr3&) {});
  EXPECT_EQ(reply.error, kOk);
  EXPECT_EQ(reply.attributes.mode, 0644u);
  EXPECT_EQ(reply.attributes.type, FileType::kRegular);
  EXPECT_EQ(reply.attributes.size_bytes, 7u);
}

TEST(DecodeAttributes, OfAnUnknownTypeIsAnError) {
  for (const int type : {0, 8, -1, 1 << 20}) {
    const AttributesReply reply = Edited([type](fattr3& a) { a.type = static_cast<ftype3>(type); });
    EXPECT_EQ(reply.error, std::errc::io_error) << type;
  }
}

// WIRE-9.
TEST(DecodeAttributes, CutsImpossibleNanoseconds) {
  const AttributesReply reply = Edited([](fattr3& a) { a.mtime.nseconds = 0x3fffffff; });
  EXPECT_EQ(reply.attributes.mtime.nanoseconds, 999'999'999u);
}

// ATTR-5.
TEST(DecodeAttributes, ChangeDiffersWhereverCtimeMtimeOrSizeDiffer) {
  const auto change = [](const auto& edit) { return Edited(edit).attributes.change; };
  const uint64_t base = change([](fattr3&) {});
  EXPECT_EQ(change([](fattr3&) {}), base);
  EXPECT_NE(change([](fattr3& a) { a.mtime.nseconds = a.ctime.nseconds = 6; }), base) << "a write";
  EXPECT_NE(change([](fattr3& a) { a.size = 8; }), base);
  EXPECT_NE(change([](fattr3& a) { a.mtime.seconds = 99; }), base);
}

// WIRE-7.
TEST(DecodeLookup, TakesHandlesOfOneToSixtyFourBytesAndNothingOfOthers) {
  for (const size_t size : {1, 64, 0, 65, 128, 129, 100'000}) {
    std::string handle(size, 'x');
    LOOKUP3res wire{};
    wire.LOOKUP3res_u.resok.object = HandleOf(handle);
    wire.LOOKUP3res_u.resok.obj_attributes = Follows(GoodAttributes());
    const auto reply = Decoded<LookupReply>(wire);
    const bool good = size >= 1 && size <= 64;
    EXPECT_EQ(reply.error, good ? kOk : std::errc::io_error) << size;
    EXPECT_EQ(reply.handle.size(), good ? size : 0);
    EXPECT_EQ(reply.attributes.has_value(), good);
  }
}

TEST(DecodeLookup, KeepsTheDirectoryAttributesOfAFailure) {
  LOOKUP3res wire{};
  wire.status = NFS3ERR_NOENT;
  wire.LOOKUP3res_u.resfail.dir_attributes = Follows(GoodAttributes());
  const auto reply = Decoded<LookupReply>(wire);
  EXPECT_EQ(reply.error, std::errc::no_such_file_or_directory);
  EXPECT_TRUE(reply.directory.has_value());
}

TEST(DecodeAccess, ReportsOnlyKnownBits) {
  ACCESS3res wire{};
  wire.ACCESS3res_u.resok.access = 0xffffffff;
  EXPECT_EQ(Decoded<AccessReply>(wire).granted, kAccessAll);
}

TEST(DecodeReadLink, RefusesMissingEmptyAndOverlongText) {
  std::string longest(4096, 'x'), too_long(4097, 'x'), empty;
  for (char* text : {longest.data(), too_long.data(), empty.data(), static_cast<char*>(nullptr)}) {
    READLINK3res wire{};
    wire.READLINK3res_u.resok.data = text;
    const auto reply = Decoded<ReadLinkReply>(wire);
    const bool good = text == longest.data();
    EXPECT_EQ(reply.error, good ? kOk : std::errc::io_error);
    EXPECT_EQ(reply.target, good ? longest : "");
  }
}

TEST(DecodeRead, RefusesWrongCountsAndAnEmptyReadBeforeEof) {
  const struct {
    std::string data;
    u_int count;
    bool eof, good;
  } rows[] = {{"abc", 3, true, true}, {"", 0, true, true},    {"abcde", 5, true, false},
              {"ab", 3, true, false}, {"ab", 1, true, false}, {"", 0, false, false}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.data + std::to_string(row.count));
    std::array<std::byte, 4> into{};
    READ3res wire{};
    READ3resok& ok = wire.READ3res_u.resok;
    ok.count = row.count;
    ok.eof = row.eof;
    ok.data = {static_cast<u_int>(row.data.size()), const_cast<char*>(row.data.data())};
    const auto reply = Decoded<ReadReply>(wire, std::span<std::byte>(into));
    EXPECT_EQ(reply.error, row.good ? kOk : std::errc::io_error);
    EXPECT_EQ(reply.count_bytes, row.good ? row.count : 0);
    const std::string expected = row.good ? row.data : "";
    EXPECT_STREQ(reinterpret_cast<const char*>(into.data()), expected.c_str());
  }
}

TEST(DecodeWrite, RefusesACountThatWasNotSentAndDataThatIsNotStable) {
  const struct {
    stable_how committed;
    size_t sent;
    bool good;
  } rows[] = {{FILE_SYNC, 5, true}, {FILE_SYNC, 4, false}, {UNSTABLE, 5, false}};
  for (const auto& row : rows) {
    WRITE3res wire{};
    wire.WRITE3res_u.resok.committed = row.committed;
    wire.WRITE3res_u.resok.count = 5;
    const auto reply = Decoded<WriteReply>(wire, row.sent);
    EXPECT_EQ(reply.error, row.good ? kOk : std::errc::io_error) << row.committed << row.sent;
    EXPECT_EQ(reply.count_bytes, row.good ? 5u : 0u);
  }
}

struct Entry {
  std::string name;
  uint64_t cookie;
  std::string handle = {};
};

ReadDirReply DecodeDirectory(std::vector<Entry> entries, bool eof, ReadDirPosition asked = {}) {
  std::vector<entryplus3> wires(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    wires[i].name = entries[i].name.data();
    wires[i].cookie = entries[i].cookie;
    wires[i].name_handle.handle_follows = !entries[i].handle.empty();
    wires[i].name_handle.post_op_fh3_u.handle = HandleOf(entries[i].handle);
    wires[i].nextentry = i + 1 < entries.size() ? &wires[i + 1] : nullptr;
  }
  READDIRPLUS3res wire{};
  wire.READDIRPLUS3res_u.resok.reply.entries = wires.empty() ? nullptr : wires.data();
  wire.READDIRPLUS3res_u.resok.reply.eof = eof;
  return Decoded<ReadDirReply>(wire, asked);
}

TEST(DecodeReadDir, KeepsEntriesInOrder) {
  const ReadDirReply reply = DecodeDirectory({{".", 1}, {"..", 2}, {"a", 3}}, false);
  ASSERT_EQ(reply.entries.size(), 3u);
  EXPECT_EQ(reply.entries[2].name, "a");
  EXPECT_EQ(reply.entries[2].cookie, 3u);
  EXPECT_FALSE(reply.eof);
}

TEST(DecodeReadDir, RefusesInvalidNamesAndHandles) {
  for (const Entry& bad : {Entry{"", 2}, Entry{"a/b", 2}, Entry{"/", 2},
                           Entry{std::string(256, 'x'), 2}, Entry{"a", 2, std::string(65, 'x')}}) {
    const ReadDirReply reply = DecodeDirectory({{"good", 1}, bad}, true);
    EXPECT_EQ(reply.error, std::errc::io_error) << bad.name;
    EXPECT_TRUE(reply.entries.empty());
  }
}

// WIRE-11.
TEST(DecodeReadDir, RefusesAChunkThatMakesNoProgress) {
  EXPECT_EQ(DecodeDirectory({}, false).error, std::errc::io_error);
  EXPECT_EQ(DecodeDirectory({{"a", 9}}, false, {9, 0}).error, std::errc::io_error);
  EXPECT_EQ(DecodeDirectory({}, true).error, kOk) << "an empty last chunk is fine";
}

TEST(DecodeCreated, HandleAndAttributesAreOptional) {
  const auto reply = Decoded<CreateReply>(CREATE3res{});
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
  const auto reply = Decoded<CreateReply>(wire);
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
  const ServerLimits limits = Decoded<LimitsReply>(wire).limits;
  EXPECT_EQ(limits.read_bytes_max, 1024u * 1024);
  EXPECT_EQ(limits.write_bytes_max, 1024u);
  EXPECT_EQ(limits.readdir_bytes_max, 8192u);
  PATHCONF3res names{};
  names.PATHCONF3res_u.resok.name_max = 4'000'000'000u;
  EXPECT_EQ(Decoded<LimitsReply>(names).limits.name_bytes_max, 255u);
}

TEST(WireName, RefusesOverlongAndInvalidNames) {
  const std::string longest(255, 'x');
  const WireName name(longest);
  EXPECT_EQ(name.error(), kOk);
  EXPECT_EQ(name.c_str(), longest);
  EXPECT_EQ(WireName(longest + "x").error(), std::errc::filename_too_long);
  for (const std::string_view bad : {std::string_view(""), {"a/b"}, {"a\0b", 3}}) {
    EXPECT_EQ(WireName(bad).error(), std::errc::invalid_argument) << bad;
  }
}

TEST(CheckHandle, RefusesEmptyAndOverlongHandles) {
  const std::vector<uint8_t> bytes(65, 1);
  EXPECT_EQ(CheckHandle(FileHandle()), kStale);
  EXPECT_EQ(CheckHandle(FileHandle(bytes)), kStale);
  EXPECT_EQ(CheckHandle(FileHandle(std::span(bytes).first(64))), kOk);
}

}  // namespace
}  // namespace nfswalk::protocol
