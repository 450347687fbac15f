#include "nfsclient/protocol/nfs4_compound.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "nfsclient/protocol/internal_errors.h"
#include "nfsclient/protocol/nfs4_owner.h"
#include "nfsclient/protocol/rpc_channel.h"
#include "sunrpc_auth/auth_body.h"
#include "tests/unit/nfsclient/protocol/fake_server.h"
#include "tests/unit/nfsclient/protocol/libnfs_raw.h"

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

// Answers every COMPOUND with an empty success and keeps its arguments.
class Recorder {
 public:
  Recorder()
      : server_([this](const FakeCall& call) {
          if (call.procedure != 1) return FakeAnswer{};
          arguments_.push_back(call.arguments);
          return Reply(Xdr().U32(0, 0, 0));
        }),
        channel_(std::move(
            RpcChannel::Open({"127.0.0.1", server_.port(), 100003, 4}, std::chrono::seconds(60))
                .value())) {}

  CallOutcome Send(Compound& compound, const sunrpc_auth::AuthBody* auth = nullptr) {
    CallOf call([&](rpc_context* rpc, ReplyCallback callback,
                    void* data) { return compound.Issue(rpc, callback, data); },
                [](const void*) {});
    call.auth = auth;
    return channel_->Execute(call);
  }
  const std::vector<std::string>& arguments() const { return arguments_; }

 private:
  std::vector<std::string> arguments_;  // outlives the server, whose thread fills it
  FakeServer server_;
  std::unique_ptr<RpcChannel> channel_;
};

std::string WholeCall(uint32_t operations, const Xdr& encoded) {
  return Xdr().U32(0, 0, operations).Raw(encoded).str();
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
    Recorder recorder;
    Compound compound;
    row.build(compound);
    ASSERT_EQ(recorder.Send(compound), CallOutcome::kReplied);
    EXPECT_EQ(recorder.arguments().at(0), WholeCall(compound.operations(), row.encoded));
    EXPECT_EQ(compound.operations(), 1u);
    EXPECT_EQ(compound.encoded_bytes(), row.encoded.str().size());
  }
}

TEST(Compound, EncodesLookupsAndReadsAsInTheRfc) {
  const uint32_t limits = Word({FATTR4_LEASE_TIME, FATTR4_CASE_INSENSITIVE, FATTR4_MAXNAME,
                                FATTR4_MAXREAD, FATTR4_MAXWRITE});
  const Xdr is_directory = Xdr().U32(2, Word({FATTR4_TYPE}), 0).Bytes(Xdr().U32(NF4DIR));
  const uint32_t plain_word0 = kEntryWord0 | Word({FATTR4_FILEID});
  const uint32_t plus_word0 = kFileWord0 | kEntryWord0 | Word({FATTR4_FILEHANDLE});
  const uint32_t mounted_on = Word({FATTR4_MOUNTED_ON_FILEID});
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
      {[](Compound& c) { c.Access(0x3f); }, Xdr().U32(OP_ACCESS, 0x3f)},
      {[](Compound& c) { c.RequireDirectory(true); }, Xdr().U32(OP_VERIFY).Raw(is_directory)},
      {[](Compound& c) { c.RequireDirectory(false); }, Xdr().U32(OP_NVERIFY).Raw(is_directory)},
      {[](Compound& c) { c.ReadLink(); }, Xdr().U32(OP_READLINK)},
      {[](Compound& c) { c.Read(kState, 1ull << 40, 4096); },
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
      {[](Compound& c) { c.Write(kState, 10, kData); },
       Xdr().U32(OP_WRITE).Raw(State()).U64(10).U32(FILE_SYNC4).Bytes("\1\2\3")},
      {[](Compound& c) { c.MakeDirectory("dir", kEverything); },
       Xdr().U32(OP_CREATE, NF4DIR).Bytes("dir").Raw(Everything())},
      {[](Compound& c) { c.MakeSymlink("link", "../target", {}); },
       Xdr().U32(OP_CREATE, NF4LNK).Bytes("../target").Bytes("link").U32(2, 0, 0, 0)},
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
  reclaim.reclaim = true;
  Xdr client = Xdr().U32(OP_SETCLIENTID).Raw(kEight).Bytes("we are").U32(0).Bytes("tcp");
  client.Bytes("0.0.0.0.0.0").U32(0);
  const auto created = [](createmode4 mode, const Xdr& how) {
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
      {[&](Compound& c) { c.Open(reclaim); },
       Opening(OPEN4_SHARE_ACCESS_READ).U32(OPEN4_NOCREATE, CLAIM_PREVIOUS, OPEN_DELEGATE_NONE)},
      {[](Compound& c) { c.ConfirmOpen(kState, 4); },
       Xdr().U32(OP_OPEN_CONFIRM).Raw(State()).U32(4)},
      {[](Compound& c) { c.Close(kState, 5); }, Xdr().U32(OP_CLOSE, 5).Raw(State())},
  });
}

TEST(Compound, IsEncodedTheSameEachTimeItIsSent) {
  Recorder recorder;
  Compound compound;
  compound.PutHandle(HandleOfFive()).SetAttributesOf(kState, kEverything).GetAttributes();
  for (int i = 0; i < 3; ++i) ASSERT_EQ(recorder.Send(compound), CallOutcome::kReplied);
  EXPECT_EQ(recorder.arguments().at(1), recorder.arguments().at(0));
  EXPECT_EQ(recorder.arguments().at(2), recorder.arguments().at(0));
}

TEST(Compound, EncodesManyHandlesAndAttributes) {
  Recorder recorder;
  Compound compound;
  Xdr expected;
  for (uint32_t i = 0; i < 40; ++i) {
    const std::vector<uint8_t> bytes(4, static_cast<uint8_t>(i));
    compound.PutHandle(FileHandle(bytes)).SetAttributesOf({}, {.mode = i});
    expected.U32(OP_PUTFH).Bytes(std::string(bytes.begin(), bytes.end()));
    expected.U32(OP_SETATTR, 0).U64(0).U32(0, 2, 0, 2).Bytes(Xdr().U32(i));
  }
  ASSERT_EQ(recorder.Send(compound), CallOutcome::kReplied);
  EXPECT_EQ(recorder.arguments().at(0), WholeCall(80, expected));
}

TEST(Compound, OfMaximalSizeFitsBesideTheLargestCredential) {
  std::vector<uint32_t> groups(sunrpc_auth::kAuthSysGroupsMax);
  std::iota(groups.begin(), groups.end(), 1000);
  const auto auth = sunrpc_auth::MarshalAuthBody(
      Credential(1, 2, groups), std::string(sunrpc_auth::kMachineNameBytesMax, 'm'), 0);
  ASSERT_TRUE(auth);
  Recorder recorder;
  Compound compound;
  const std::string name(255, 'n');
  while (compound.encoded_bytes() + Compound::EncodedBytesOfStep(name) <=
         Compound::kEncodedBytesMax) {
    compound.Lookup(name).GetHandle().GetAttributes().Access(0x3f);
  }
  const std::string rest(Compound::kEncodedBytesMax - compound.encoded_bytes() - 8, 'r');
  compound.Lookup(rest);
  ASSERT_EQ(compound.encoded_bytes(), Compound::kEncodedBytesMax);
  EXPECT_EQ(recorder.Send(compound, &*auth), CallOutcome::kReplied);
}

TEST(Compound, OfMoreThanLibnfsEncodesIsNotSent) {
  Recorder recorder;
  Compound compound;
  const std::string target(4096, 't');
  compound.MakeSymlink("link", target, {});
  EXPECT_EQ(recorder.Send(compound), CallOutcome::kNotEncodable);
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
  Recorder recorder;
  Compound compound;
  compound.SendOwnersAsNames(names).SetAttributesOf({}, {.uid = 0, .gid = 0});
  ASSERT_EQ(recorder.Send(compound), CallOutcome::kReplied);
  const std::string owner = Xdr().Bytes("root@example.org").str();
  EXPECT_NE(recorder.arguments().at(0).find(owner + owner), std::string::npos);
}

struct Result {
  int operation;
  int status;
};

// A decoded COMPOUND of `results`, and its reader.
class Reading {
 public:
  Reading(int status, const std::vector<Result>& results) : results_(results.size()) {
    for (size_t i = 0; i < results.size(); ++i) {
      results_[i].resop = static_cast<nfs_opnum4>(results[i].operation);
      results_[i].nfs_resop4_u.opillegal.status = static_cast<nfsstat4>(results[i].status);
    }
    wire_.status = static_cast<nfsstat4>(status);
    wire_.resarray = {static_cast<u_int>(results_.size()), results_.data()};
    reader_.emplace(wire_);
  }
  CompoundReader* operator->() { return &*reader_; }
  // As libnfs may return them.
  void Unalign() {
    packed_.resize(4 + results_.size() * sizeof(nfs_resop4));
    const char* address = packed_.data() + 4;
    std::memcpy(packed_.data() + 4, results_.data(), packed_.size() - 4);
    std::memcpy(&wire_.resarray.resarray_val, &address, sizeof address);
    reader_.emplace(wire_);
  }

 private:
  std::vector<nfs_resop4> results_;
  std::vector<char> packed_;
  COMPOUND4res wire_{};
  std::optional<CompoundReader> reader_;
};

TEST(CompoundReader, ReturnsAlignedAndUnalignedResultsInOrder) {
  for (const bool aligned : {true, false}) {
    Reading reading(0, {{OP_PUTFH, 0}, {OP_LOOKUP, 0}});
    if (!aligned) reading.Unalign();
    EXPECT_NE(reading->Next(OP_PUTFH), nullptr);
    EXPECT_NE(reading->Next(OP_LOOKUP), nullptr);
    EXPECT_EQ(reading->error(), kOk);
    EXPECT_EQ(reading->status(), 0);
  }
}

// WIRE-14.
TEST(CompoundReader, EndsAtTheFailedOperationWithItsStatus) {
  Reading reading(NFS4ERR_NOENT, {{OP_PUTFH, 0}, {OP_LOOKUP, NFS4ERR_NOENT}});
  EXPECT_NE(reading->Next(OP_PUTFH), nullptr);
  for (const int operation : {OP_LOOKUP, OP_GETFH}) {
    EXPECT_EQ(reading->Next(operation), nullptr);
    EXPECT_EQ(reading->error(), std::errc::no_such_file_or_directory);
    EXPECT_EQ(reading->status(), NFS4ERR_NOENT);
  }
}

TEST(CompoundReader, ReportsTheStatusOfARefusedCompound) {
  Reading reading(NFS4ERR_RESOURCE, {});
  EXPECT_EQ(reading->Next(OP_PUTFH), nullptr);
  EXPECT_EQ(reading->error(), std::errc{EREMOTEIO});
  EXPECT_EQ(reading->status(), NFS4ERR_RESOURCE);
}

TEST(CompoundReader, FailsOnMissingResultsOfASuccess) {
  Reading reading(0, {{OP_PUTFH, 0}});
  EXPECT_NE(reading->Next(OP_PUTFH), nullptr);
  EXPECT_EQ(reading->Next(OP_GETATTR), nullptr);
  EXPECT_EQ(reading->error(), std::errc::io_error);
  EXPECT_EQ(reading->status(), 0);
}

TEST(CompoundReader, FailsOnTheResultOfAnotherOperation) {
  for (const int operation : {int{OP_GETFH}, int{OP_ILLEGAL}, 0, -1}) {
    Reading reading(0, {{operation, NFS4ERR_DELAY}});
    EXPECT_EQ(reading->Next(OP_LOOKUP), nullptr) << operation;
    EXPECT_EQ(reading->error(), std::errc::io_error) << operation;
  }
}

TEST(CompoundReader, KeepsTheErrorOfFail) {
  Reading reading(0, {{OP_PUTFH, 0}, {OP_LOOKUP, 0}});
  EXPECT_NE(reading->Next(OP_PUTFH), nullptr);
  reading->Fail(kTooSmall);
  EXPECT_EQ(reading->Next(OP_LOOKUP), nullptr);
  EXPECT_EQ(reading->error(), kTooSmall);
}

}  // namespace
}  // namespace nfswalk::protocol
