#include "nfsclient/nfs3/decode.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "nfsclient/rpc/internal_errors.h"
#include "tests/fixtures/nfs3_results.h"

namespace nfswalk::protocol {

namespace {

constexpr uint32_t kManyBytes[] = {100, 0x7fffffff, 0x80000000, 0xfffffffc, 0xffffffff};
const std::string kHandle(64, 'h');

// From an allocation of the exact size, in which a sanitizer detects reads beyond the end.
template <typename Reply, typename Decode>
Reply DecodedBy(Decode decode, std::string_view bytes) {
  const auto view = std::as_bytes(std::span(bytes));
  const std::vector<std::byte> exact(view.begin(), view.end());
  rpc::XdrReader in(exact);
  Reply reply;
  decode(in, reply);
  return reply;
}

template <typename Reply, typename... Request>
Reply Decoded(std::string_view bytes, Request... request) {
  return DecodedBy<Reply>(
      [&](rpc::XdrReader& in, Reply& reply) { DecodeReply(in, request..., reply); }, bytes);
}

struct Procedure {
  std::string name;
  Xdr success;  // behind the status, as `failure`
  Xdr failure;
  std::function<std::errc(std::string_view)> decode;
};

template <typename Reply, typename... Request>
Procedure Of(std::string name, Xdr success, Xdr failure, Request... request) {
  return {std::move(name), std::move(success), std::move(failure),
          [=](std::string_view bytes) { return Decoded<Reply>(bytes, request...).error; }};
}

template <void (*decode)(rpc::XdrReader&, LimitsReply&)>
Procedure OfLimits(std::string name, Xdr success) {
  return {std::move(name), std::move(success), PostOp(),
          [](std::string_view bytes) { return DecodedBy<LimitsReply>(decode, bytes).error; }};
}

Xdr FsInfo(uint32_t rtmax, uint32_t wtmax, uint32_t dtpref) {
  return PostOp().U32(rtmax, 0, 0, wtmax, 0, 0, dtpref).U64(0, 0).U32(0);
}
// tbytes, fbytes, abytes, tfiles, ffiles, afiles, invarsec.
Xdr FsStat() { return PostOp().U64(6, 5).U64(4, 3).U64(2, 1).U32(30); }
Xdr PathConf(uint32_t name_max) { return PostOp().U32(1, name_max, 1, 1, 1, 1); }
Xdr Listing(const Xdr& entries, bool eof) {
  return PostOp().U64(9).Raw(entries).U32(0, eof ? 1 : 0);
}
Xdr Entry(std::string_view name, uint64_t cookie) {
  return Xdr().U32(1).U64(4711).Bytes(name).U64(cookie);
}
Xdr EntryPlus(std::string_view name, uint64_t cookie, size_t handle_bytes = 24) {
  return Entry(name, cookie).Raw(PostOp()).Raw(PostOpHandle(handle_bytes));
}
Xdr ReadOk(std::string_view data, uint32_t count, bool eof) {
  return PostOp().U32(count, eof ? 1 : 0).Bytes(data);
}
// Tag, id, rights: of the owner, user 1000, the group, the mask and all others.
Xdr AclEntries(uint32_t flag = 0) {
  return Xdr()
      .U32(5, 5, 0x20 | flag, 0, 4, 0x10 | flag, 0, 0xfe, 4 | flag, 7, 5)
      .U32(2 | flag, 1000, 6, 1 | flag, 7, 7);
}
Xdr AclsOk(const Xdr& access, const Xdr& inherited) {
  return PostOp().U32(0xf).Raw(access).Raw(inherited);
}
Xdr WriteOk(uint32_t count, uint32_t committed) { return Wcc().U32(count, committed).U64(0); }

const std::vector<Procedure>& Procedures() {
  static std::array<std::byte, 16> into;
  static const Xdr created = PostOpHandle().Raw(PostOp()).Raw(Wcc());
  static const Xdr attributes_and_wcc = PostOp().Raw(Wcc());
  static const Xdr two_wccs = Wcc().Raw(Wcc());
  static const std::vector<Procedure> all = {
      Of<AttributesReply>("GETATTR", WireAttributes().xdr(), {}),
      Of<FileChangeReply>("SETATTR", Wcc(), Wcc()),
      Of<LookupReply>("LOOKUP", Xdr().Bytes(kHandle).Raw(PostOp()).Raw(PostOp()), PostOp()),
      Of<AccessReply>("ACCESS", PostOp().U32(0x1f), PostOp()),
      Of<ReadLinkReply>("READLINK", PostOp(NF3LNK).Bytes("target"), PostOp()),
      Of<ReadReply>("READ", ReadOk("data", 4, true), PostOp(), std::span<std::byte>(into)),
      Of<UnstableWriteReply>("WRITE", WriteOk(5, FILE_SYNC), Wcc(), size_t{5},
                             Stability::kFileSync),
      Of<CommitReply>("COMMIT", Wcc().U64(1), Wcc()),
      Of<CreateReply>("CREATE, MKDIR, SYMLINK, MKNOD", created, Wcc()),
      Of<RemoveReply>("REMOVE, RMDIR", Wcc(), Wcc()),
      Of<RenameReply>("RENAME", two_wccs, two_wccs),
      Of<LinkReply>("LINK", attributes_and_wcc, attributes_and_wcc),
      Of<ReadDirReply>("READDIR", Listing(Entry("a", 1).Raw(Entry("b", 2)), true), PostOp(), false,
                       ReadDirPosition{}),
      Of<ReadDirReply>("READDIRPLUS", Listing(EntryPlus("a", 1).Raw(EntryPlus("b", 2)), true),
                       PostOp(), true, ReadDirPosition{}),
      Of<SpaceReply>("FSSTAT", FsStat(), PostOp()),
      OfLimits<DecodeFsInfo>("FSINFO", FsInfo(1, 1, 1)),
      OfLimits<DecodePathConf>("PATHCONF", PathConf(255)),
      Of<AclsReply>("GETACL", AclsOk(AclEntries(), AclEntries(0x1000)), {}),
      {"SETACL",
       PostOp(),
       {},
       [](std::string_view
              bytes) { return DecodedBy<FileChangeReply>(DecodeSetAcl, bytes).error; }},
      Of<ExportReply>("MNT", Xdr().Bytes(kHandle).U32(2, 6, 1), {})};
  return all;
}

TEST(DecodeReply, TakesTheErrorFromTheStatus) {
  constexpr std::pair<int, std::errc> kRows[] = {
      {NFS3ERR_ACCES, std::errc::permission_denied},
      {NFS3ERR_STALE, kStale},
      {NFS3ERR_BADHANDLE, kStale},
      {NFS3ERR_JUKEBOX, kJukebox},
      {NFS3ERR_TOOSMALL, kTooSmall},
      {12345, std::errc::io_error},
      {-1, std::errc::io_error},
  };
  for (const Procedure& procedure : Procedures()) {
    SCOPED_TRACE(procedure.name);
    EXPECT_EQ(procedure.decode(Xdr().U32(0).Raw(procedure.success)), kOk);
    for (const auto& [status, error] : kRows) {
      EXPECT_EQ(procedure.decode(Xdr().U32(status).Raw(procedure.failure)), error) << status;
    }
  }
}

TEST(DecodeReply, RefusesEveryPrefix) {
  for (const Procedure& procedure : Procedures()) {
    for (const Xdr& whole :
         {Xdr().U32(0).Raw(procedure.success), Xdr().U32(NFS3ERR_ACCES).Raw(procedure.failure)}) {
      for (size_t size = 0; size < whole.str().size(); ++size) {
        EXPECT_EQ(procedure.decode(whole.str().substr(0, size)), std::errc::io_error)
            << procedure.name << " cut to " << size;
      }
    }
  }
}

TEST(DecodeReply, IgnoresWhatFollows) {
  for (const Procedure& procedure : Procedures()) {
    EXPECT_EQ(procedure.decode(Xdr().U32(0).Raw(procedure.success).U32(1, 2)), kOk)
        << procedure.name;
  }
}

// WIRE-8.
TEST(DecodeReply, SurvivesAnyLengthAnywhere) {
  for (const Procedure& procedure : Procedures()) {
    const std::string whole = Xdr().U32(0).Raw(procedure.success).str();
    for (size_t at = 0; at < whole.size(); at += 4) {
      for (const uint32_t bytes : kManyBytes) {
        std::string hostile = whole;
        (void)procedure.decode(hostile.replace(at, 4, Xdr().U32(bytes).str()));
      }
    }
  }
}

AttributesReply DecodedAttributes(const WireAttributes& attributes) {
  return Decoded<AttributesReply>(Xdr().U32(0).Raw(attributes.xdr()));
}

TEST(DecodeAttributes, KeepsPermissionBitsOnly) {
  const AttributesReply reply = DecodedAttributes({});
  EXPECT_EQ(reply.error, kOk);
  const Attributes expected{.mode = 0644,
                            .nlink = 1,
                            .uid = 1000,
                            .gid = 100,
                            .size_bytes = 7,
                            .used_bytes = 4096,
                            .fsid = 77,
                            .fileid = 4711,
                            .atime = {1, 2},
                            .mtime = {3, 5},
                            .ctime = {3, 5},
                            .change = reply.attributes.change};
  EXPECT_TRUE(reply.attributes == expected);
}

TEST(DecodeAttributes, HasATypeOfRfc1813) {
  constexpr std::pair<uint32_t, FileType> kTypes[] = {
      {NF3REG, FileType::kRegular},     {NF3DIR, FileType::kDirectory},
      {NF3BLK, FileType::kBlockDevice}, {NF3CHR, FileType::kCharacterDevice},
      {NF3LNK, FileType::kSymlink},     {NF3SOCK, FileType::kSocket},
      {NF3FIFO, FileType::kFifo}};
  for (const auto& [wire, type] : kTypes) {
    EXPECT_EQ(DecodedAttributes({.type = wire}).attributes.type, type) << wire;
  }
  for (const uint32_t wire : {0u, 8u, 1u << 20, 0xffffffffu}) {
    EXPECT_EQ(DecodedAttributes({.type = wire}).error, std::errc::io_error) << wire;
  }
}

// WIRE-9.
TEST(DecodeAttributes, CutsImpossibleNanoseconds) {
  const AttributesReply reply = DecodedAttributes({.mtime_nanoseconds = 0x3fffffff});
  EXPECT_EQ(reply.attributes.mtime.nanoseconds, 999'999'999u);
}

// ATTR-5.
TEST(DecodeAttributes, ChangeDiffersWhereverCtimeMtimeOrSizeDiffer) {
  const auto change = [](const WireAttributes& attributes) {
    return DecodedAttributes(attributes).attributes.change;
  };
  const uint64_t base = change({});
  EXPECT_EQ(change({}), base);
  EXPECT_NE(change({.mtime_nanoseconds = 6, .ctime_nanoseconds = 6}), base) << "a write";
  EXPECT_NE(change({.size = 8}), base);
  EXPECT_NE(change({.mtime = 2}), base);
}

// WIRE-7.
TEST(DecodeLookup, TakesHandlesOfOneToSixtyFourBytesAndNothingOfOthers) {
  for (const size_t size : {1, 64, 0, 65, 128, 129, 100'000}) {
    const Xdr handle = Xdr().U32(0).Bytes(std::string(size, 'x'));
    const auto reply = Decoded<LookupReply>(Xdr(handle).Raw(PostOp()).Raw(PostOp()));
    const bool good = size >= 1 && size <= 64;
    EXPECT_EQ(reply.error, good ? kOk : std::errc::io_error) << size;
    EXPECT_EQ(reply.handle.size(), good ? size : 0);
    EXPECT_EQ(reply.attributes.has_value(), good);
    EXPECT_EQ(Decoded<LookupReply>(handle).handle.size(), 0u) << "nothing of half a reply";
  }
}

TEST(DecodeLookup, KeepsTheDirectoryAttributesOfAFailure) {
  const auto reply = Decoded<LookupReply>(Xdr().U32(NFS3ERR_NOENT).Raw(PostOp(NF3DIR)));
  EXPECT_EQ(reply.error, std::errc::no_such_file_or_directory);
  EXPECT_TRUE(reply.directory.has_value());
}

TEST(DecodeAccess, ReportsOnlyKnownBits) {
  EXPECT_EQ(Decoded<AccessReply>(Xdr().U32(0).Raw(PostOp()).U32(0xffffffff)).granted, kAccessAll);
}

// WIRE-7.
TEST(DecodeReadLink, RefusesEmptyAndOverlongTextAndNul) {
  const std::string longest(4096, 'x');
  for (const std::string& text :
       {longest, longest + "x", std::string(), std::string("a\0b", 3), std::string(1 << 20, 'x')}) {
    const auto reply = Decoded<ReadLinkReply>(Xdr().U32(0).Raw(PostOp()).Bytes(text));
    const bool good = text == longest;
    EXPECT_EQ(reply.error, good ? kOk : std::errc::io_error) << text.size();
    EXPECT_EQ(reply.target, good ? longest : "");
    EXPECT_EQ(reply.attributes.has_value(), good);
  }
}

// WIRE-7, WIRE-11.
TEST(DecodeRead, RefusesWrongCountsAndAnEmptyReadBeforeEof) {
  const struct {
    std::string data;
    uint32_t count;
    bool eof, good;
  } rows[] = {{"abc", 3, true, true},   {"", 0, true, true},    {"abcde", 5, true, false},
              {"ab", 3, true, false},   {"ab", 1, true, false}, {"", 0, false, false},
              {"abcde", 4, true, false}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.data + std::to_string(row.count));
    std::array<std::byte, 5> into{};  // the last byte is not asked for
    const auto reply = Decoded<ReadReply>(Xdr().U32(0).Raw(ReadOk(row.data, row.count, row.eof)),
                                          std::span<std::byte>(into).first(4));
    EXPECT_EQ(reply.error, row.good ? kOk : std::errc::io_error);
    EXPECT_EQ(reply.count_bytes, row.good ? row.count : 0);
    EXPECT_EQ(reply.attributes.has_value(), row.good);
    if (row.good) {
      EXPECT_STREQ(reinterpret_cast<const char*>(into.data()), row.data.c_str());
    }
    EXPECT_EQ(into.back(), std::byte{});
  }
}

TEST(DecodeWrite, RefusesACountThatWasNotSentAndDataThatIsLessStableThanAsked) {
  const struct {
    uint32_t count, committed;
    size_t sent;
    bool good;
    Stability requested = Stability::kFileSync;
  } rows[] = {{5, FILE_SYNC, 5, true},
              {5, FILE_SYNC, 4, false},
              {5, UNSTABLE, 5, false},
              {5, DATA_SYNC, 5, false},
              {5, 0xffffffff, 5, false},
              {0, FILE_SYNC, 5, false},
              {0, FILE_SYNC, 0, true},
              {0xffffffff, FILE_SYNC, 5, false},
              {5, UNSTABLE, 5, true, Stability::kUnstable},
              {5, DATA_SYNC, 5, true, Stability::kUnstable},
              {5, FILE_SYNC, 5, true, Stability::kUnstable},
              {5, 3, 5, false, Stability::kUnstable}};
  for (const auto& row : rows) {
    const auto reply = Decoded<UnstableWriteReply>(
        Xdr().U32(0).Raw(WriteOk(row.count, row.committed)), row.sent, row.requested);
    EXPECT_EQ(reply.error, row.good ? kOk : std::errc::io_error)
        << row.count << " " << row.committed << " " << row.sent;
    EXPECT_EQ(reply.count_bytes, row.good ? row.count : 0u);
    if (row.good) {
      EXPECT_EQ(reply.committed, Stability{row.committed});
    }
  }
}

ReadDirReply DecodedListing(const Xdr& entries, bool eof, bool plus = true,
                            ReadDirPosition requested = {}) {
  return Decoded<ReadDirReply>(Xdr().U32(0).Raw(Listing(entries, eof)), plus, requested);
}

TEST(DecodeReadDir, KeepsEntriesInOrder) {
  for (const bool plus : {false, true}) {
    Xdr entries;
    for (const auto& [name, cookie] : {std::pair{".", 1}, {"..", 2}, {"a", 3}}) {
      entries.Raw(plus ? EntryPlus(name, cookie) : Entry(name, cookie));
    }
    const ReadDirReply reply = DecodedListing(entries, false, plus);
    ASSERT_EQ(reply.entries.size(), 3u);
    EXPECT_EQ(reply.entries[0].name, ".");
    EXPECT_EQ(reply.entries[2].name, "a");
    EXPECT_EQ(reply.entries[2].cookie, 3u);
    EXPECT_EQ(reply.entries[2].fileid, 4711u);
    EXPECT_EQ(reply.entries[2].handle.has_value(), plus);
    EXPECT_EQ(reply.entries[2].attributes.has_value(), plus);
    EXPECT_FALSE(reply.eof);
    EXPECT_TRUE(reply.directory.has_value());
    EXPECT_NE(reply.verifier, 0u);
  }
}

// WIRE-7.
TEST(DecodeReadDir, RefusesInvalidNamesAndHandles) {
  for (const std::string& name : {std::string(), std::string("a/b"), std::string("/"),
                                  std::string("../a"), std::string("a\0b", 3), std::string(1, '\0'),
                                  std::string(256, 'x'), std::string(100'000, 'x')}) {
    for (const bool plus : {false, true}) {
      const Xdr bad = plus ? EntryPlus(name, 2) : Entry(name, 2);
      const Xdr good = plus ? EntryPlus("good", 1) : Entry("good", 1);
      const ReadDirReply reply = DecodedListing(Xdr(good).Raw(bad), true, plus);
      EXPECT_EQ(reply.error, std::errc::io_error) << name;
      EXPECT_TRUE(reply.entries.empty());
    }
  }
  for (const size_t bytes : {0, 65}) {
    EXPECT_EQ(DecodedListing(EntryPlus("a", 1, bytes), true).error, std::errc::io_error) << bytes;
  }
}

// WIRE-11.
TEST(DecodeReadDir, RefusesAChunkThatMakesNoProgress) {
  EXPECT_EQ(DecodedListing({}, false).error, std::errc::io_error);
  EXPECT_EQ(DecodedListing(EntryPlus("a", 9), false, true, {9, 0}).error, std::errc::io_error);
  EXPECT_EQ(DecodedListing({}, true).error, kOk) << "an empty last chunk is fine";
}

// WIRE-8.
TEST(DecodeReadDir, AllocatesForEntriesThatTheReplyCanHold) {
  const auto allocated = [](const Xdr& entries, bool plus) {
    return DecodedListing(entries, true, plus).entries.capacity();
  };
  constexpr size_t kEntries = 1000;
  Xdr entries;
  for (size_t i = 0; i < kEntries; ++i) entries.Raw(Entry("name", i));
  EXPECT_LE(allocated(entries, false), kEntries + 1) << "no larger than all of them";
  // One short entry and then long ones: no more than short ones would have been.
  Xdr lies = Entry("a", 1).U32(0, 0);
  for (size_t i = 0; i < 100; ++i) lies.Raw(EntryPlus(std::string(255, 'x'), i));
  EXPECT_LE(allocated(lies, true), lies.str().size() / 36 + 10);
}

// ATTR-21.
TEST(DecodeReadDir, LeavesOutAttributesOfAnotherFileSystem) {
  const auto entry = [](const std::string& name, uint32_t type, uint64_t fsid) {
    return Entry(name, name[0])
        .U32(1)
        .Raw(WireAttributes{.type = type, .fsid = fsid}.xdr())
        .Raw(PostOpHandle());
  };
  const auto file = Xdr().Raw(entry("a", NF3REG, 0)).Raw(entry("b", NF3REG, WireAttributes().fsid));
  const auto others = Xdr().Raw(entry("c", NF3DIR, 0)).Raw(entry("d", NF3LNK, 0));
  const ReadDirReply reply = DecodedListing(Xdr(file).Raw(others), true);
  ASSERT_EQ(reply.entries.size(), 4u);
  EXPECT_FALSE(reply.entries[0].attributes);
  EXPECT_TRUE(reply.entries[0].handle) << "the name is good";
  EXPECT_TRUE(reply.entries[1].attributes);
  EXPECT_FALSE(reply.entries[2].attributes) << "where one is mounted, LOOKUP crosses";
  EXPECT_FALSE(reply.entries[3].attributes);
}

// ATTR-21.
TEST(DecodeLookup, LeavesOutAttributesOfAnotherFileSystem) {
  for (const uint32_t type : {NF3REG, NF3DIR}) {
    for (const uint64_t fsid : {WireAttributes().fsid, uint64_t{0}}) {
      const Xdr object = Xdr().U32(1).Raw(WireAttributes{.type = type, .fsid = fsid}.xdr());
      const auto reply =
          Decoded<LookupReply>(Xdr().U32(NFS3_OK).Bytes("handle").Raw(object).Raw(PostOp(NF3DIR)));
      EXPECT_EQ(reply.error, std::errc{});
      EXPECT_EQ(reply.attributes.has_value(), fsid != 0) << type;
    }
  }
}

TEST(DecodeReadDir, RemovedDirectoryIsESTALE) {
  const Xdr gone = Xdr().U32(NFS3ERR_NOENT).Raw(PostOp(NF3DIR));
  for (const bool plus : {false, true}) {
    EXPECT_EQ(Decoded<ReadDirReply>(gone, plus, ReadDirPosition{}).error, kStale);
  }
}

TEST(DecodeCreated, HandleAndAttributesAreOptional) {
  const auto reply = Decoded<CreateReply>(Xdr().U32(0, 0, 0, 0, 0));
  EXPECT_EQ(reply.error, kOk);
  EXPECT_FALSE(reply.handle.has_value());
}

TEST(DecodeCreated, KeepsWeakCacheConsistencyOfAFailure) {
  const auto reply = Decoded<CreateReply>(Xdr().U32(NFS3ERR_EXIST).Raw(Wcc()));
  EXPECT_EQ(reply.error, std::errc::file_exists);
  ASSERT_TRUE(reply.directory.before.has_value());
  EXPECT_TRUE(reply.directory.after.has_value());
}

// The change id of wcc_attr is that of fattr3 with the same size and times.
TEST(DecodeCreated, AttributesBeforeAChangeMatchThoseOfTheSameState) {
  const Xdr before = Xdr().U32(1).U64(4096).U32(1, 2, 3, 4);
  const WireAttributes same{.size = 4096,
                            .mtime = 1,
                            .mtime_nanoseconds = 2,
                            .ctime = 3,
                            .ctime_nanoseconds = 4};
  const auto matches = [&](const WireAttributes& after) {
    const Xdr wcc = Xdr(before).U32(1).Raw(after.xdr());
    const auto reply = Decoded<CreateReply>(Xdr().U32(NFS3ERR_EXIST).Raw(wcc));
    return reply.directory.before->Matches(*reply.directory.after);
  };
  EXPECT_TRUE(matches(same));
  for (const auto field : {&WireAttributes::mtime, &WireAttributes::mtime_nanoseconds,
                           &WireAttributes::ctime, &WireAttributes::ctime_nanoseconds}) {
    WireAttributes other = same;
    other.*field += 1;
    EXPECT_FALSE(matches(other));
  }
  WireAttributes longer = same;
  longer.size += 1;
  EXPECT_FALSE(matches(longer));
}

// WIRE-10.
TEST(DecodeLimits, AreClampedToTheTransport) {
  constexpr uint32_t kMiB = 1024 * 1024;
  constexpr std::pair<uint32_t, uint32_t> kRows[] = {
      {0, 1024}, {8192, 8192}, {64 * kMiB, kMiB}, {0xffffffff, kMiB}};
  for (const auto& [wire, expected] : kRows) {
    const auto sizes =
        DecodedBy<LimitsReply>(DecodeFsInfo, Xdr().U32(0).Raw(FsInfo(wire, wire, wire))).limits;
    EXPECT_EQ(sizes.read_bytes_max, expected);
    EXPECT_EQ(sizes.write_bytes_max, expected);
    EXPECT_EQ(sizes.readdir_bytes_max, expected);
    const auto names =
        DecodedBy<LimitsReply>(DecodePathConf, Xdr().U32(0).Raw(PathConf(wire))).limits;
    EXPECT_EQ(names.name_bytes_max, wire == 0 ? 1u : 255u);
    EXPECT_TRUE(names.case_insensitive);
  }
}

TEST(DecodeSpace, KeepsTheOrderOfTheRfc) {
  const FileSystemSpace space = Decoded<SpaceReply>(Xdr().U32(0).Raw(FsStat())).space;
  EXPECT_EQ(space.total_bytes, 6u);
  EXPECT_EQ(space.free_bytes, 5u);
  EXPECT_EQ(space.available_bytes, 4u);
  EXPECT_EQ(space.total_files, 3u);
  EXPECT_EQ(space.free_files, 2u);
  EXPECT_EQ(space.available_files, 1u);
}

// WIRE-18.
TEST(DecodeExport, AdmitsUsByAnyOfItsFlavors) {
  const struct {
    Xdr flavors;
    bool admits;
  } rows[] = {{Xdr().U32(0), true},
              {Xdr().U32(1, 1), true},
              {Xdr().U32(1, 0), true},
              {Xdr().U32(1, 6), false},
              {Xdr().U32(3, 390003, 390004, 1), true}};
  for (const auto& [flavors, admits] : rows) {
    const auto reply = Decoded<ExportReply>(Xdr().U32(0).Bytes(kHandle).Raw(flavors));
    EXPECT_EQ(reply.error, kOk);
    EXPECT_EQ(reply.flavor_ok, admits) << flavors.str().size();
    EXPECT_EQ(reply.root.size(), kHandle.size());
  }
}

// WIRE-8.
TEST(DecodeExport, CountsFlavorsAgainstWhatIsLeft) {
  for (const uint32_t flavors : kManyBytes) {
    const auto reply = Decoded<ExportReply>(Xdr().U32(0).Bytes(kHandle).U32(flavors, 1, 1));
    EXPECT_EQ(reply.error, std::errc::io_error) << flavors;
    EXPECT_FALSE(reply.flavor_ok);
    EXPECT_TRUE(reply.root.empty());
  }
}

// In any order, with more bits in the mask than there are, as Solaris sends it.
TEST(DecodeReply, PosixAclsAreSorted) {
  using Ace = PosixAce;
  const PosixAcl expected{{Ace::kUserObj, 7},
                          {Ace::kUser, 6, 1000},
                          {Ace::kGroupObj, 5},
                          {Ace::kMask, 6},
                          {Ace::kOther, 4}};
  const Xdr none = Xdr().U32(0, 0);
  const auto both =
      Decoded<AclsReply>(Xdr().U32(0).Raw(AclsOk(AclEntries(), AclEntries(0x1000))).str());
  EXPECT_EQ(both.error, kOk);
  EXPECT_EQ(both.access, expected);
  EXPECT_EQ(both.inherited, expected);
  EXPECT_TRUE(both.file.has_value());
  const auto empty = Decoded<AclsReply>(Xdr().U32(0).Raw(AclsOk(none, none)).str());
  EXPECT_EQ(empty.error, kOk);
  EXPECT_TRUE(empty.access.empty() && empty.inherited.empty());
}

// A list that was left out is not an empty one, but files have no default.
TEST(DecodeReply, AnAclThatWasNotSentIsAnError) {
  const Xdr none = Xdr().U32(0, 0);
  for (const uint32_t type : {NF3REG, NF3DIR}) {
    for (uint32_t sent = 0; sent < 16; ++sent) {
      const Xdr reply = Xdr().U32(0).Raw(PostOp(type)).U32(sent).Raw(AclEntries()).Raw(none);
      const uint32_t needed = type == NF3DIR ? 15 : 3;
      EXPECT_EQ(Decoded<AclsReply>(reply.str()).error,
                (sent & needed) == needed ? kOk : std::errc::io_error)
          << type << " " << sent;
    }
  }
}

// A server adds it where there are the three entries of a mode.
TEST(DecodeReply, AMaskThatSaysNoMoreThanTheModeIsLeftOut) {
  for (const uint32_t mask : {5u, 4u}) {
    const Xdr acl = Xdr().U32(4, 4, 1, 0, 7, 4, 0, 5).U32(0x10, 0, mask, 0x20, 0, 4);
    const auto reply = Decoded<AclsReply>(Xdr().U32(0).Raw(AclsOk(acl, Xdr().U32(0, 0))).str());
    EXPECT_EQ(reply.error, kOk);
    EXPECT_EQ(IsAsMode(reply.access), mask == 5) << mask;
  }
}

TEST(DecodeReply, BytesThatAreNoPosixAclAreRefused) {
  const Xdr none = Xdr().U32(0, 0);
  const Xdr rows[] = {
      Xdr().U32(1, 1, 1, 0, 7),                           // the owner alone
      Xdr().U32(3, 3, 1, 0, 8, 4, 0, 5).U32(0x20, 0, 4),  // more rights than there are
      Xdr().U32(3, 3, 1, 0, 7, 4, 0, 5).U32(0x40, 0, 4),  // an unknown tag
      Xdr().U32(3, 3, 1, 0, 7, 4, 0, 5).U32(0x10020, 0, 4),
      Xdr().U32(4, 4, 1, 0, 7, 4, 0, 5).U32(0x20, 0, 4, 0x20, 0, 4),
      Xdr().U32(4, 4, 1, 0, 7, 4, 0, 5).U32(2, 9, 4, 0x20, 0, 4),  // a user without a mask
  };
  for (const Xdr& row : rows) {
    SCOPED_TRACE(&row - rows);
    EXPECT_EQ(Decoded<AclsReply>(Xdr().U32(0).Raw(AclsOk(row, none)).str()).error,
              std::errc::io_error);
    EXPECT_EQ(Decoded<AclsReply>(Xdr().U32(0).Raw(AclsOk(none, row)).str()).error,
              std::errc::io_error);
  }
  for (const uint32_t count : kManyBytes) {
    const Xdr endless = Xdr().U32(count, count);
    EXPECT_EQ(Decoded<AclsReply>(Xdr().U32(0).Raw(AclsOk(endless, none)).str()).error,
              std::errc::io_error);
  }
}

}  // namespace
}  // namespace nfswalk::protocol
