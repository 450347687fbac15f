#include "nfsclient/nfs4/compound.h"

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nfsclient/nfs4/operation_names.h"
#include "nfsclient/nfs4/owner_names.h"
#include "nfsclient/rpc/internal_errors.h"
#include "tests/fixtures/fake_server.h"
#include "tests/fixtures/libnfs_raw.h"

namespace nfswalk::protocol {
namespace {

constexpr uint32_t Word(std::initializer_list<int> attributes) {
  uint32_t word = 0;
  for (const int attribute : attributes) word |= 1u << attribute % 32;
  return word;
}
constexpr uint32_t kFileWord0 =
    Word({FATTR4_TYPE, FATTR4_CHANGE, FATTR4_SIZE, FATTR4_FSID, FATTR4_FILEID});
constexpr uint32_t kFileWord1 =
    Word({FATTR4_MODE, FATTR4_NUMLINKS, FATTR4_OWNER, FATTR4_OWNER_GROUP, FATTR4_RAWDEV,
          FATTR4_SPACE_USED, FATTR4_TIME_ACCESS, FATTR4_TIME_METADATA, FATTR4_TIME_MODIFY});
constexpr uint32_t kEntryWord0 = Word({FATTR4_RDATTR_ERROR});

const std::string kEight = "verifier";
const StateId kState{7, {'t', 'w', 'e', 'l', 'v', 'e', ' ', 'b', 'y', 't', 'e', 's'}};

uint64_t Eight(const std::string& bytes) {
  uint64_t value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

Xdr State() { return Xdr().U32(7).Raw("twelve bytes"); }

std::string Text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// `bytes` and their padding.
std::string Padded(std::span<const std::byte> bytes) {
  return Text(bytes) + std::string(-bytes.size() % 4, '\0');
}

// Returns the bytes that are sent for `request`.
std::string Sent(const rpc::Request& request) {
  return Text(request.arguments) + Padded(request.data) + Text(request.tail);
}

const SetAttributes kEverything = {.mode = 0102755,  // the type bits are not sent
                                   .uid = 1000,
                                   .gid = 0,
                                   .size_bytes = 1ull << 32,
                                   .atime = SetTime{Time{-1, 5}},
                                   .mtime = SetTime{}};

Xdr Everything() {
  Xdr values = Xdr().U64(1ull << 32).U32(02755).Bytes("1000").Bytes("0");
  values.U32(SET_TO_CLIENT_TIME4).U64(~0ull).U32(5, SET_TO_SERVER_TIME4);
  const uint32_t word1 = Word({FATTR4_MODE, FATTR4_OWNER, FATTR4_OWNER_GROUP,
                               FATTR4_TIME_ACCESS_SET, FATTR4_TIME_MODIFY_SET});
  return Xdr().U32(2, Word({FATTR4_SIZE}), word1).Bytes(values);
}

OpenArguments Opening(OpenArguments::How how) {
  return {.sequence = 3,
          .client_id = 0x1122334455667788,
          .owner = "owner",
          .read = true,
          .write = true,
          .how = how,
          .attributes = kEverything,
          .exclusive_verifier = Eight(kEight),
          .name = "name"};
}

Xdr Opening(uint32_t access = OPEN4_SHARE_ACCESS_BOTH) {
  return Xdr().U32(OP_OPEN, 3, access, 0).U64(0x1122334455667788).Bytes("owner");
}

FileHandle HandleOfFive() {
  const std::vector<uint8_t> bytes{'h', 'a', 'n', 'd', 'l'};
  return FileHandle(bytes);
}

struct Row {
  std::function<void(Compound&)> build;
  Xdr encoded;
};

void ExpectEncoded(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    SCOPED_TRACE(XdrReader(row.encoded).U32());
    Compound compound;
    row.build(compound);
    const rpc::Request request = compound.Encode();
    EXPECT_EQ(request.procedure, NFSPROC4_COMPOUND);
    EXPECT_EQ(request.operations, 1u);
    EXPECT_EQ(Sent(request), row.encoded.str());
    EXPECT_EQ(compound.operations(), 1u);
    EXPECT_EQ(Padded(request.data).size() + compound.encoded_bytes(), row.encoded.str().size());
  }
}

std::array<std::byte, 1 << 20> memory;

TEST(Compound, EncodesLookupsAndReadsAsInTheRfc) {
  const uint32_t limits = Word({FATTR4_LEASE_TIME, FATTR4_ACLSUPPORT, FATTR4_CASE_INSENSITIVE,
                                FATTR4_MAXNAME, FATTR4_MAXREAD, FATTR4_MAXWRITE});
  const Xdr is_directory = Xdr().U32(2, Word({FATTR4_TYPE}), 0).Bytes(Xdr().U32(NF4DIR));
  const uint32_t plain_word0 = kEntryWord0 | Word({FATTR4_FILEID});
  const uint32_t plus_word0 = kFileWord0 | kEntryWord0 | Word({FATTR4_FILEHANDLE});
  const uint32_t mounted_on = Word({FATTR4_MOUNTED_ON_FILEID});
  const uint32_t files = Word({FATTR4_FILES_AVAIL, FATTR4_FILES_FREE, FATTR4_FILES_TOTAL});
  const uint32_t space = Word({FATTR4_SPACE_AVAIL, FATTR4_SPACE_FREE, FATTR4_SPACE_TOTAL});
  const ReadDirPosition position{9, Eight(kEight)};
  ExpectEncoded({
      {[](Compound& c) { c.PutRoot(); }, Xdr().U32(OP_PUTROOTFH)},
      {[](Compound& c) { c.PutHandle(HandleOfFive()); }, Xdr().U32(OP_PUTFH).Bytes("handl")},
      {[](Compound& c) { c.GetHandle(); }, Xdr().U32(OP_GETFH)},
      {[](Compound& c) { c.SaveHandle(); }, Xdr().U32(OP_SAVEFH)},
      {[](Compound& c) { c.RestoreHandle(); }, Xdr().U32(OP_RESTOREFH)},
      {[](Compound& c) { c.Lookup("lib64"); }, Xdr().U32(OP_LOOKUP).Bytes("lib64")},
      {[](Compound& c) { c.LookupParent(); }, Xdr().U32(OP_LOOKUPP)},
      {[](Compound& c) { c.GetAttributes(); }, Xdr().U32(OP_GETATTR, 2, kFileWord0, kFileWord1)},
      {[](Compound& c) { c.GetLimits(); }, Xdr().U32(OP_GETATTR, 2, limits, 0)},
      {[](Compound& c) { c.GetSpace(); }, Xdr().U32(OP_GETATTR, 2, files, space)},
      {[](Compound& c) { c.Access(0x3f); }, Xdr().U32(OP_ACCESS, 0x3f)},
      {[](Compound& c) { c.RequireDirectory(true); }, Xdr().U32(OP_VERIFY).Raw(is_directory)},
      {[](Compound& c) { c.RequireDirectory(false); }, Xdr().U32(OP_NVERIFY).Raw(is_directory)},
      {[](Compound& c) { c.ReadLink(); }, Xdr().U32(OP_READLINK)},
      {[](Compound& c) { c.Read(kState, 1ull << 40, std::span(memory).first(4096)); },
       Xdr().U32(OP_READ).Raw(State()).U64(1ull << 40).U32(4096)},
      {[&](Compound& c) { c.ReadDir(position, 32768, false); },
       Xdr().U32(OP_READDIR).U64(9).Raw(kEight).U32(32768, 32768, 2, plain_word0, mounted_on)},
      {[](Compound& c) { c.ReadDir({}, 512, true); },
       Xdr().U32(OP_READDIR).U64(0, 0).U32(512, 512, 2, plus_word0, kFileWord1 | mounted_on)},
  });
}

TEST(Compound, EncodesChangesAsInTheRfc) {
  static constexpr std::byte kData[] = {std::byte{1}, std::byte{2}, std::byte{3}};
  ExpectEncoded({
      {[](Compound& c) { c.Write(kState, 10, kData, Stability::kFileSync); },
       Xdr().U32(OP_WRITE).Raw(State()).U64(10).U32(FILE_SYNC4).Bytes("\1\2\3")},
      {[](Compound& c) { c.Write(kState, 10, kData, Stability::kUnstable); },
       Xdr().U32(OP_WRITE).Raw(State()).U64(10).U32(UNSTABLE4).Bytes("\1\2\3")},
      {[](Compound& c) { c.Commit(); }, Xdr().U32(OP_COMMIT).U64(0).U32(0)},
      {[](Compound& c) { c.Allocate(kState, {.offset_bytes = 7, .size_bytes = 9}); },
       Xdr().U32(kOpAllocate).Raw(State()).U64(7, 9)},
      {[](Compound& c) {
         c.Allocate(kState, {.offset_bytes = 7, .size_bytes = 9, .is_hole = true});
       },
       Xdr().U32(kOpDeallocate).Raw(State()).U64(7, 9)},
      {[](Compound& c) { c.Seek(kState, 7, Content::kHole); },
       Xdr().U32(kOpSeek).Raw(State()).U64(7).U32(1)},
      {[](Compound& c) { c.MakeDirectory("dir", kEverything); },
       Xdr().U32(OP_CREATE, NF4DIR).Bytes("dir").Raw(Everything())},
      {[](Compound& c) { c.MakeSymlink("link", "../target", {}); },
       Xdr().U32(OP_CREATE, NF4LNK).Bytes("../target").Bytes("link").U32(2, 0, 0, 0)},
      {[](Compound& c) {
         c.MakeNode("null", FileType::kCharacterDevice, {1, 3}, {});
       },
       Xdr().U32(OP_CREATE, NF4CHR, 1, 3).Bytes("null").U32(2, 0, 0, 0)},
      {[](Compound& c) { c.MakeNode("pipe", FileType::kFifo, {}, {}); },
       Xdr().U32(OP_CREATE, NF4FIFO).Bytes("pipe").U32(2, 0, 0, 0)},
      {[](Compound& c) { c.Remove("gone"); }, Xdr().U32(OP_REMOVE).Bytes("gone")},
      {[](Compound& c) { c.Rename("from", "t"); }, Xdr().U32(OP_RENAME).Bytes("from").Bytes("t")},
      {[](Compound& c) { c.Link("second"); }, Xdr().U32(OP_LINK).Bytes("second")},
      {[](Compound& c) { c.SetAttributesOf(kState, kEverything); },
       Xdr().U32(OP_SETATTR).Raw(State()).Raw(Everything())},
      {[](Compound& c) { c.SetAttributesOf({}, {}); },
       Xdr().U32(OP_SETATTR, 0).U64(0).U32(0, 2, 0, 0, 0)},
  });
}

TEST(Compound, EncodesOpensAndClientIdsAsInTheRfc) {
  using How = OpenArguments::How;
  OpenArguments reclaim = Opening(How::kNoCreate);
  reclaim.write = false;
  reclaim.claim = OpenArguments::Claim::kPrevious;
  OpenArguments by_handle = Opening(How::kNoCreate);
  by_handle.claim = OpenArguments::Claim::kFile;
  Xdr client = Xdr().U32(OP_SETCLIENTID).Raw(kEight).Bytes("we are").U32(0).Bytes("tcp");
  client.Bytes("0.0.0.0.0.0").U32(0);
  constexpr uint32_t kExclusive4Point1 = 3, kClaimFile = 4;  // RFC 8881 18.16.1
  const auto created = [](uint32_t mode, const Xdr& how) {
    return Opening().U32(OPEN4_CREATE, mode).Raw(how).U32(CLAIM_NULL).Bytes("name");
  };
  ExpectEncoded({
      {[](Compound& c) { c.SetClientId(Eight(kEight), "we are"); }, client},
      {[](Compound& c) { c.ConfirmClientId(17, Eight(kEight)); },
       Xdr().U32(OP_SETCLIENTID_CONFIRM).U64(17).Raw(kEight)},
      {[](Compound& c) { c.Renew(17); }, Xdr().U32(OP_RENEW).U64(17)},
      {[](Compound& c) { c.Open(Opening(How::kNoCreate)); },
       Opening().U32(OPEN4_NOCREATE, CLAIM_NULL).Bytes("name")},
      {[](Compound& c) { c.Open(Opening(How::kUnchecked)); }, created(UNCHECKED4, Everything())},
      {[](Compound& c) { c.Open(Opening(How::kGuarded)); }, created(GUARDED4, Everything())},
      {[](Compound& c) { c.Open(Opening(How::kExclusive)); },
       created(EXCLUSIVE4, Xdr().Raw(kEight))},
      {[](Compound& c) { c.Open(Opening(How::kExclusiveWithAttributes)); },
       created(kExclusive4Point1, Xdr().Raw(kEight).Raw(Everything()))},
      {[&](Compound& c) { c.Open(by_handle); }, Opening().U32(OPEN4_NOCREATE, kClaimFile)},
      {[&](Compound& c) { c.Open(reclaim); },
       Opening(OPEN4_SHARE_ACCESS_READ).U32(OPEN4_NOCREATE, CLAIM_PREVIOUS, OPEN_DELEGATE_NONE)},
      {[](Compound& c) { c.ConfirmOpen(kState, 4); },
       Xdr().U32(OP_OPEN_CONFIRM).Raw(State()).U32(4)},
      {[](Compound& c) { c.Close(kState, 5); }, Xdr().U32(OP_CLOSE, 5).Raw(State())},
  });
}

TEST(Compound, DataIsSentFromWhereItLiesBetweenTheOperationsAroundIt) {
  for (const size_t size : {0, 1, 3, 4, 1024 * 1024}) {
    const std::vector<std::byte> data(size, std::byte{'d'});
    Compound compound;
    compound.PutHandle(HandleOfFive()).Write(kState, 10, data, Stability::kFileSync).GetHandle();
    for (int times = 0; times < 2; ++times) {
      const rpc::Request request = compound.Encode();
      EXPECT_EQ(request.data.size(), size);
      EXPECT_TRUE(size == 0 || request.data.data() == data.data());
      Xdr expected = Xdr().U32(OP_PUTFH).Bytes("handl").U32(OP_WRITE).Raw(State()).U64(10);
      expected.U32(FILE_SYNC4).Bytes(Text(data)).U32(OP_GETFH);
      EXPECT_EQ(Sent(request), expected.str()) << size;
    }
  }
}

TEST(Compound, RepliesMayBeAsLongAsTheOperationsAskFor) {
  const auto results_bytes_max = [](const std::function<void(Compound&)>& build) {
    Compound compound;
    build(compound);
    return compound.Encode().results_bytes_max;
  };
  const uint32_t link = results_bytes_max([](Compound& c) { c.ReadLink(); });
  EXPECT_GT(link, 4096u);
  EXPECT_LT(link, 8192u);
  const uint32_t read = results_bytes_max([](Compound& c) { c.Read(kState, 0, memory); });
  EXPECT_EQ(read, link + (1 << 20));
  EXPECT_GE(results_bytes_max([](Compound& c) { c.ReadDir({}, 1 << 18, true); }), link + (1 << 18));
  EXPECT_EQ(
      results_bytes_max([](Compound& c) { c.Read(kState, 0, memory).GetAttributes(); }) - read,
      results_bytes_max([](Compound& c) { c.GetHandle().GetHandle(); }) - link);
}

TEST(Compound, IsEncodedTheSameEachTimeItIsSent) {
  Compound compound;
  compound.PutHandle(HandleOfFive()).SetAttributesOf(kState, kEverything).GetAttributes();
  const std::string first = Sent(compound.Encode());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Sent(compound.Encode()), first);
}

TEST(Compound, EncodesManyHandlesAndAttributes) {
  Compound compound;
  Xdr expected;
  for (uint32_t i = 0; i < 1000; ++i) {
    const std::vector<uint8_t> bytes(4, static_cast<uint8_t>(i));
    compound.PutHandle(FileHandle(bytes)).SetAttributesOf({}, {.mode = i});
    expected.U32(OP_PUTFH).Bytes(std::string(bytes.begin(), bytes.end()));
    expected.U32(OP_SETATTR, 0).U64(0).U32(0, 2, 0, 2).Bytes(Xdr().U32(i));
  }
  EXPECT_EQ(Sent(compound.Encode()), expected.str());
}

TEST(Compound, EncodesTextsOfAnyLength) {
  const std::string target(4096, 't');
  Compound compound;
  compound.MakeSymlink("link", target, {});
  Xdr expected = Xdr().U32(OP_CREATE, NF4LNK).Bytes(target).Bytes("link").U32(2, 0, 0, 0);
  EXPECT_EQ(Sent(compound.Encode()), expected.str());
}

TEST(Compound, SizeOfAStepIsThatOfItsOperations) {
  for (const size_t size : {1, 4, 5, 255}) {
    const std::string name(size, 'n');
    Compound compound;
    compound.Lookup(name).GetHandle().GetAttributes().Access(0x3f);
    EXPECT_EQ(compound.encoded_bytes(), Compound::EncodedBytesOfStep(name)) << size;
  }
}

TEST(Compound, EncodesOwnersAsNames) {
  const OwnerNames names("example.org");
  Compound compound;
  compound.SendOwnersAsNames(names).SetAttributesOf({}, {.uid = 0, .gid = 0});
  const std::string owner = Xdr().Bytes("root@example.org").str();
  EXPECT_NE(Sent(compound.Encode()).find(owner + owner), std::string::npos);
}

// A reply of `results`, whose bodies are empty, and its reader.
class Reading {
 public:
  using Results = std::vector<std::pair<int, uint32_t>>;  // operation and status

  Reading(uint32_t status, const Results& results) : Reading(Encoded(status, results)) {}
  explicit Reading(std::string_view reply) : Reading(std::as_bytes(std::span(reply))) {}
  CompoundReader* operator->() { return &reader_; }

 private:
  // In an allocation of the exact size, in which a sanitizer detects reads beyond the end.
  explicit Reading(std::span<const std::byte> reply)
      : bytes_(reply.begin(), reply.end()), results_(bytes_), reader_(results_) {}

  static std::string Encoded(uint32_t status, const Results& results) {
    Xdr xdr = Xdr().U32(status).Bytes("a tag").U32(results.size());
    for (const auto& [operation, result] : results) xdr.U32(operation, result);
    return xdr.str();
  }

  const std::vector<std::byte> bytes_;
  rpc::XdrReader results_;
  CompoundReader reader_;
};

TEST(CompoundReader, ReturnsResultsInOrder) {
  Reading reading(0, {{OP_PUTFH, 0}, {OP_LOOKUP, 0}});
  EXPECT_TRUE(reading->Next(OP_PUTFH));
  EXPECT_TRUE(reading->Next(OP_LOOKUP));
  EXPECT_EQ(reading->error(), kOk);
  EXPECT_EQ(reading->status(), 0);
}

// WIRE-14.
TEST(CompoundReader, EndsAtTheFailedOperationWithItsStatus) {
  Reading reading(NFS4ERR_NOENT, {{OP_PUTFH, 0}, {OP_LOOKUP, NFS4ERR_NOENT}});
  EXPECT_TRUE(reading->Next(OP_PUTFH));
  for (const int operation : {OP_LOOKUP, OP_GETFH}) {
    EXPECT_FALSE(reading->Next(operation));
    EXPECT_EQ(reading->error(), std::errc::no_such_file_or_directory);
    EXPECT_EQ(reading->status(), NFS4ERR_NOENT);
  }
}

TEST(CompoundReader, EveryStatusHasItsError) {
  const struct {
    int operation;
    uint32_t status;
    std::errc error;
  } rows[] = {{OP_OPEN, NFS4ERR_ACCESS, std::errc::permission_denied},
              {OP_REMOVE, NFS4ERR_DELAY, kJukebox},
              {OP_NVERIFY, NFS4ERR_SAME, std::errc::io_error},
              {OP_VERIFY, NFS4ERR_NOT_SAME, std::errc::invalid_argument},
              {OP_READDIR, NFS4ERR_TOOSMALL, kTooSmall},
              {OP_GETATTR, NFS4ERR_TOOSMALL, std::errc::io_error},
              {OP_SETATTR, NFS4ERR_BADOWNER, std::errc::invalid_argument},
              {OP_SETCLIENTID, NFS4ERR_CLID_INUSE, std::errc::io_error},
              {OP_LOOKUP, 0xffffffff, std::errc::io_error}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.status);
    Reading reading(row.status, {{row.operation, row.status}});
    EXPECT_FALSE(reading->Next(row.operation));
    EXPECT_EQ(reading->error(), row.error);
    EXPECT_EQ(reading->status(), static_cast<int>(row.status));
  }
}

TEST(CompoundReader, ReportsTheStatusOfARefusedCompound) {
  Reading reading(NFS4ERR_RESOURCE, {});
  EXPECT_FALSE(reading->Next(OP_PUTFH));
  EXPECT_EQ(reading->error(), std::errc{EREMOTEIO});
  EXPECT_EQ(reading->status(), NFS4ERR_RESOURCE);
}

TEST(CompoundReader, FailsOnMissingResultsOfASuccess) {
  Reading reading(0, {{OP_PUTFH, 0}});
  EXPECT_TRUE(reading->Next(OP_PUTFH));
  EXPECT_FALSE(reading->Next(OP_GETATTR));
  EXPECT_EQ(reading->error(), std::errc::io_error);
  EXPECT_EQ(reading->status(), 0);
}

TEST(CompoundReader, FailsOnTheResultOfAnotherOperation) {
  for (const int operation : {int{OP_GETFH}, int{OP_ILLEGAL}, 0, -1}) {
    Reading reading(0, {{operation, NFS4ERR_DELAY}});
    EXPECT_FALSE(reading->Next(OP_LOOKUP)) << operation;
    EXPECT_EQ(reading->error(), std::errc::io_error) << operation;
    EXPECT_EQ(reading->status(), 0) << operation;
  }
}

TEST(CompoundReader, KeepsTheErrorOfFail) {
  Reading reading(0, {{OP_PUTFH, 0}, {OP_LOOKUP, 0}});
  EXPECT_TRUE(reading->Next(OP_PUTFH));
  reading->Fail(kTooSmall);
  EXPECT_FALSE(reading->Next(OP_LOOKUP));
  EXPECT_EQ(reading->error(), kTooSmall);
}

// RFC 7530 16.32: the only body that is not looked at.
TEST(CompoundReader, SkipsTheAttributesThatSetattrHasSet) {
  for (const uint32_t words : {0u, 1u, 2u, 3u}) {
    Xdr reply = Xdr().U32(0).Bytes("").U32(2, OP_SETATTR, 0, words);
    for (uint32_t word = 0; word < words; ++word) reply.U32(~0u);
    Reading reading(reply.U32(OP_GETFH, 0));
    EXPECT_TRUE(reading->Next(OP_SETATTR));
    EXPECT_TRUE(reading->Next(OP_GETFH)) << words;
  }
  for (const uint32_t words : {2u, 0x40000000u, 0x7fffffffu, ~0u}) {
    Reading reading(Xdr().U32(0).Bytes("").U32(2, OP_SETATTR, 0, words, 0));
    EXPECT_FALSE(reading->Next(OP_SETATTR)) << words;
    EXPECT_EQ(reading->error(), std::errc::io_error);
  }
}

TEST(CompoundReader, RefusesAReplyThatIsCutAnywhere) {
  const std::string reply =
      Xdr().U32(0).Bytes("a tag").U32(3, OP_PUTFH, 0, OP_SETATTR, 0, 1, 16, OP_GETFH, 0).str();
  const auto read_all = [](Reading& reading) {
    return reading->Next(OP_PUTFH) && reading->Next(OP_SETATTR) && reading->Next(OP_GETFH);
  };
  for (size_t size = 0; size <= reply.size(); ++size) {
    Reading reading(reply.substr(0, size));
    EXPECT_EQ(read_all(reading), size == reply.size()) << size;
    EXPECT_EQ(reading->error(), size == reply.size() ? kOk : std::errc::io_error) << size;
  }
}

// WIRE-8.
TEST(CompoundReader, LengthsAndCountsBeyondTheReplyAreErrors) {
  for (const uint32_t huge : {100u, 0x7fffffffu, 0x80000000u, 0xfffffffdu, ~0u}) {
    Reading tagged(Xdr().U32(0, huge).Raw("a tag").U32(1, OP_PUTFH, 0));
    EXPECT_FALSE(tagged->Next(OP_PUTFH)) << huge;
    EXPECT_EQ(tagged->error(), std::errc::io_error);
    Reading counted(Xdr().U32(0).Bytes("").U32(huge, OP_PUTFH, 0));
    EXPECT_TRUE(counted->Next(OP_PUTFH));
    EXPECT_FALSE(counted->Next(OP_PUTFH)) << huge;
    EXPECT_EQ(counted->error(), std::errc::io_error);
  }
}

}  // namespace
}  // namespace nfswalk::protocol
