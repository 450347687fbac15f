#include "nfsclient/protocol/nfs4_compound.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "nfsclient/protocol/internal_errors.h"
#include "nfsclient/protocol/nfs4_owner.h"
#include "nfsclient/protocol/rpc_channel.h"
#include "sunrpc_auth/auth_body.h"
#include "tests/fixtures/fake_server.h"

namespace nfswalk::protocol {
namespace {

using fixtures::FakeAnswer;
using fixtures::FakeCall;
using fixtures::FakeServer;
using fixtures::Xdr;

// RFC 7530 5.6, 5.7: type, change, size, fsid, fileid; mode, numlinks, owner, owner_group, rawdev,
// space_used, the times of access, metadata and modification.
constexpr uint32_t kFileWord0 = 1u << 1 | 1u << 3 | 1u << 4 | 1u << 8 | 1u << 20;
constexpr uint32_t kFileWord1 =
    1u << 1 | 1u << 3 | 1u << 4 | 1u << 5 | 1u << 9 | 1u << 13 | 1u << 15 | 1u << 20 | 1u << 21;
constexpr uint32_t kRdattrError = 1u << 11;
constexpr uint32_t kFilehandle = 1u << 19;
constexpr uint32_t kFileid = 1u << 20;
constexpr uint32_t kMountedOnFileid = 1u << 23;

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
          return FakeAnswer{FakeAnswer::Kind::kReply, Xdr().U32(0).U32(0).U32(0).str(), 0};
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

std::string WholeCall(uint32_t operations, const std::string& encoded) {
  return Xdr().U32(0).U32(0).U32(operations).Raw(encoded).str();
}

struct Row {
  std::string name;
  std::function<void(Compound&)> build;
  Xdr encoded;
};

class CompoundOperation : public testing::TestWithParam<Row> {};

TEST_P(CompoundOperation, IsEncodedAsInTheRfcAndItsSizeIsExact) {
  Recorder recorder;
  Compound compound;
  GetParam().build(compound);
  ASSERT_EQ(recorder.Send(compound), CallOutcome::kReplied);
  const std::string& encoded = GetParam().encoded.str();
  EXPECT_EQ(recorder.arguments().at(0), WholeCall(compound.operations(), encoded));
  EXPECT_EQ(compound.operations(), 1u);
  EXPECT_EQ(compound.encoded_bytes(), encoded.size());
}

const SetAttributes kEverything = {.mode = 0102755,  // the type bits are not sent
                                   .uid = 1000,
                                   .gid = 0,
                                   .size_bytes = 1ull << 32,
                                   .atime = SetTime{Time{-1, 5}},
                                   .mtime = SetTime{}};

Xdr& PutEverything(Xdr& xdr) {
  const std::string values = Xdr()
                                 .U64(1ull << 32)
                                 .U32(02755)
                                 .Bytes("1000")
                                 .Bytes("0")
                                 .U32(1)
                                 .U64(~0ull)
                                 .U32(5)
                                 .U32(0)
                                 .str();
  return xdr.U32(2)
      .U32(1u << 4)
      .U32(1u << 1 | 1u << 4 | 1u << 5 | 1u << 16 | 1u << 22)
      .Bytes(values);
}

Xdr With(Xdr before, const std::function<void(Xdr&)>& rest) {
  rest(before);
  return before;
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

Xdr Opening() { return Xdr().U32(18).U32(3).U32(3).U32(0).U64(0x1122334455667788).Bytes("owner"); }

FileHandle HandleOfFive() {
  const std::vector<uint8_t> bytes{'h', 'a', 'n', 'd', 'l'};
  return FileHandle(bytes);
}

INSTANTIATE_TEST_SUITE_P(
    Looking, CompoundOperation,
    testing::Values(
        Row{"PutRoot", [](Compound& c) { c.PutRoot(); }, Xdr().U32(24)},
        Row{"PutHandle", [](Compound& c) { c.PutHandle(HandleOfFive()); },
            Xdr().U32(22).Bytes("handl")},
        Row{"GetHandle", [](Compound& c) { c.GetHandle(); }, Xdr().U32(10)},
        Row{"SaveHandle", [](Compound& c) { c.SaveHandle(); }, Xdr().U32(32)},
        Row{"RestoreHandle", [](Compound& c) { c.RestoreHandle(); }, Xdr().U32(31)},
        Row{"Lookup", [](Compound& c) { c.Lookup("lib64"); }, Xdr().U32(15).Bytes("lib64")},
        Row{"LookupParent", [](Compound& c) { c.LookupParent(); }, Xdr().U32(16)},
        Row{"GetAttributes", [](Compound& c) { c.GetAttributes(); },
            Xdr().U32(9).U32(2).U32(kFileWord0).U32(kFileWord1)},
        // lease_time, case_insensitive, maxname, maxread, maxwrite
        Row{"GetLimits", [](Compound& c) { c.GetLimits(); },
            Xdr().U32(9).U32(2).U32(1u << 10 | 1u << 16 | 1u << 29 | 1u << 30 | 1u << 31).U32(0)},
        Row{"Access", [](Compound& c) { c.Access(0x3f); }, Xdr().U32(3).U32(0x3f)},
        Row{"RequireDirectory", [](Compound& c) { c.RequireDirectory(true); },
            Xdr().U32(37).U32(2).U32(1u << 1).U32(0).Bytes(Xdr().U32(2).str())},
        Row{"RequireNoDirectory", [](Compound& c) { c.RequireDirectory(false); },
            Xdr().U32(17).U32(2).U32(1u << 1).U32(0).Bytes(Xdr().U32(2).str())},
        Row{"ReadLink", [](Compound& c) { c.ReadLink(); }, Xdr().U32(27)},
        Row{"Read", [](Compound& c) { c.Read(kState, 1ull << 40, 4096); },
            Xdr().U32(25).Raw(State().str()).U64(1ull << 40).U32(4096)},
        Row{"ReadDir",
            [](Compound& c) {
              c.ReadDir({9, Eight(kEight)}, 32768, false);
            },
            Xdr()
                .U32(26)
                .U64(9)
                .Raw(kEight)
                .U32(32768)
                .U32(32768)
                .U32(2)
                .U32(kRdattrError | kFileid)
                .U32(kMountedOnFileid)},
        Row{"ReadDirPlus", [](Compound& c) { c.ReadDir({}, 512, true); },
            Xdr()
                .U32(26)
                .U64(0)
                .U64(0)
                .U32(512)
                .U32(512)
                .U32(2)
                .U32(kFileWord0 | kRdattrError | kFilehandle)
                .U32(kFileWord1 | kMountedOnFileid)}),
    [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Changing, CompoundOperation,
    testing::Values(
        Row{"Write",
            [](Compound& c) {
              static constexpr std::byte kData[] = {std::byte{1}, std::byte{2}, std::byte{3}};
              c.Write(kState, 10, kData);
            },
            Xdr().U32(38).Raw(State().str()).U64(10).U32(2).Bytes("\1\2\3")},
        Row{"MakeDirectory", [](Compound& c) { c.MakeDirectory("dir", kEverything); },
            With(Xdr().U32(6).U32(2).Bytes("dir"), PutEverything)},
        Row{"MakeSymlink", [](Compound& c) { c.MakeSymlink("link", "../target", {}); },
            Xdr().U32(6).U32(5).Bytes("../target").Bytes("link").U32(2).U32(0).U32(0).U32(0)},
        Row{"Remove", [](Compound& c) { c.Remove("gone"); }, Xdr().U32(28).Bytes("gone")},
        Row{"Rename", [](Compound& c) { c.Rename("from", "t"); },
            Xdr().U32(29).Bytes("from").Bytes("t")},
        Row{"Link", [](Compound& c) { c.Link("second"); }, Xdr().U32(11).Bytes("second")},
        Row{"SetAttributesOf", [](Compound& c) { c.SetAttributesOf(kState, kEverything); },
            With(Xdr().U32(34).Raw(State().str()), PutEverything)},
        Row{"SetAttributesOfNothing", [](Compound& c) { c.SetAttributesOf({}, {}); },
            Xdr().U32(34).U32(0).U64(0).U32(0).U32(2).U32(0).U32(0).U32(0)}),
    [](const auto& row) { return row.param.name; });

using How = OpenArguments::How;
INSTANTIATE_TEST_SUITE_P(
    State, CompoundOperation,
    testing::Values(Row{"SetClientId", [](Compound& c) { c.SetClientId(Eight(kEight), "we are"); },
                        Xdr()
                            .U32(35)
                            .Raw(kEight)
                            .Bytes("we are")
                            .U32(0)
                            .Bytes("tcp")
                            .Bytes("0.0.0.0.0.0")
                            .U32(0)},
                    Row{"ConfirmClientId",
                        [](Compound& c) { c.ConfirmClientId(17, Eight(kEight)); },
                        Xdr().U32(36).U64(17).Raw(kEight)},
                    Row{"Renew", [](Compound& c) { c.Renew(17); }, Xdr().U32(30).U64(17)},
                    Row{"OpenWhatIsThere", [](Compound& c) { c.Open(Opening(How::kNoCreate)); },
                        Opening().U32(0).U32(0).Bytes("name")},
                    Row{"OpenUnchecked", [](Compound& c) { c.Open(Opening(How::kUnchecked)); },
                        With(Opening().U32(1).U32(0), PutEverything).U32(0).Bytes("name")},
                    Row{"OpenGuarded", [](Compound& c) { c.Open(Opening(How::kGuarded)); },
                        With(Opening().U32(1).U32(1), PutEverything).U32(0).Bytes("name")},
                    Row{"OpenExclusive", [](Compound& c) { c.Open(Opening(How::kExclusive)); },
                        Opening().U32(1).U32(2).Raw(kEight).U32(0).Bytes("name")},
                    Row{"OpenAgain",
                        [](Compound& c) {
                          OpenArguments again = Opening(How::kNoCreate);
                          again.write = false;
                          again.reclaim = true;
                          c.Open(again);
                        },
                        Xdr()
                            .U32(18)
                            .U32(3)
                            .U32(1)
                            .U32(0)
                            .U64(0x1122334455667788)
                            .Bytes("owner")
                            .U32(0)
                            .U32(1)
                            .U32(0)},
                    Row{"ConfirmOpen", [](Compound& c) { c.ConfirmOpen(kState, 4); },
                        Xdr().U32(20).Raw(State().str()).U32(4)},
                    Row{"Close", [](Compound& c) { c.Close(kState, 5); },
                        Xdr().U32(4).U32(5).Raw(State().str())}),
    [](const auto& row) { return row.param.name; });

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
    expected.U32(22).Bytes(std::string(bytes.begin(), bytes.end()));
    expected.U32(34).U32(0).U64(0).U32(0).U32(2).U32(0).U32(2).Bytes(Xdr().U32(i).str());
  }
  ASSERT_EQ(recorder.Send(compound), CallOutcome::kReplied);
  EXPECT_EQ(recorder.arguments().at(0), WholeCall(80, expected.str()));
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

nfs_resop4 Result(int operation, int status) {
  nfs_resop4 result{};
  result.resop = static_cast<nfs_opnum4>(operation);
  result.nfs_resop4_u.opillegal.status = static_cast<nfsstat4>(status);
  return result;
}

COMPOUND4res Results(int status, std::vector<nfs_resop4>& results) {
  COMPOUND4res wire{};
  wire.status = static_cast<nfsstat4>(status);
  wire.resarray.resarray_len = results.size();
  wire.resarray.resarray_val = results.data();
  return wire;
}

TEST(CompoundReader, ReturnsResultsInOrder) {
  std::vector<nfs_resop4> results = {Result(OP_PUTFH, 0), Result(OP_LOOKUP, 0)};
  const COMPOUND4res wire = Results(0, results);
  CompoundReader reader(wire);
  EXPECT_NE(reader.Next(OP_PUTFH), nullptr);
  EXPECT_NE(reader.Next(OP_LOOKUP), nullptr);
  EXPECT_EQ(reader.error(), kOk);
  EXPECT_EQ(reader.status(), 0);
}

TEST(CompoundReader, ReadsUnalignedResults) {
  std::vector<nfs_resop4> results = {Result(OP_PUTFH, 0), Result(OP_LOOKUP, 0)};
  std::vector<char> packed(4 + results.size() * sizeof(nfs_resop4));
  std::memcpy(packed.data() + 4, results.data(), packed.size() - 4);
  COMPOUND4res wire = Results(0, results);
  const char* address = packed.data() + 4;
  std::memcpy(&wire.resarray.resarray_val, &address, sizeof address);
  CompoundReader reader(wire);
  EXPECT_NE(reader.Next(OP_PUTFH), nullptr);
  EXPECT_NE(reader.Next(OP_LOOKUP), nullptr);
}

// WIRE-14.
TEST(CompoundReader, EndsAtTheFailedOperationWithItsStatus) {
  std::vector<nfs_resop4> results = {Result(OP_PUTFH, 0), Result(OP_LOOKUP, NFS4ERR_NOENT)};
  const COMPOUND4res wire = Results(NFS4ERR_NOENT, results);
  CompoundReader reader(wire);
  EXPECT_NE(reader.Next(OP_PUTFH), nullptr);
  EXPECT_EQ(reader.Next(OP_LOOKUP), nullptr);
  EXPECT_EQ(reader.error(), std::errc::no_such_file_or_directory);
  EXPECT_EQ(reader.status(), NFS4ERR_NOENT);
  EXPECT_EQ(reader.Next(OP_GETFH), nullptr);
  EXPECT_EQ(reader.error(), std::errc::no_such_file_or_directory);
}

TEST(CompoundReader, ReportsTheStatusOfARefusedCompound) {
  std::vector<nfs_resop4> none;
  const COMPOUND4res wire = Results(NFS4ERR_RESOURCE, none);
  CompoundReader reader(wire);
  EXPECT_EQ(reader.Next(OP_PUTFH), nullptr);
  EXPECT_EQ(reader.error(), std::errc{EREMOTEIO});
  EXPECT_EQ(reader.status(), NFS4ERR_RESOURCE);
}

TEST(CompoundReader, FailsOnMissingResultsOfASuccess) {
  std::vector<nfs_resop4> results = {Result(OP_PUTFH, 0)};
  const COMPOUND4res wire = Results(0, results);
  CompoundReader reader(wire);
  EXPECT_NE(reader.Next(OP_PUTFH), nullptr);
  EXPECT_EQ(reader.Next(OP_GETATTR), nullptr);
  EXPECT_EQ(reader.error(), std::errc::io_error);
  EXPECT_EQ(reader.status(), 0);
}

TEST(CompoundReader, FailsOnTheResultOfAnotherOperation) {
  for (const int operation : {int{OP_GETFH}, int{OP_ILLEGAL}, 0, -1}) {
    std::vector<nfs_resop4> results = {Result(operation, NFS4ERR_DELAY)};
    const COMPOUND4res wire = Results(0, results);
    CompoundReader reader(wire);
    EXPECT_EQ(reader.Next(OP_LOOKUP), nullptr) << operation;
    EXPECT_EQ(reader.error(), std::errc::io_error) << operation;
  }
}

TEST(CompoundReader, KeepsTheErrorOfFail) {
  std::vector<nfs_resop4> results = {Result(OP_PUTFH, 0), Result(OP_LOOKUP, 0)};
  const COMPOUND4res wire = Results(0, results);
  CompoundReader reader(wire);
  EXPECT_NE(reader.Next(OP_PUTFH), nullptr);
  reader.Fail(kTooSmall);
  EXPECT_EQ(reader.Next(OP_LOOKUP), nullptr);
  EXPECT_EQ(reader.error(), kTooSmall);
}

}  // namespace
}  // namespace nfswalk::protocol
