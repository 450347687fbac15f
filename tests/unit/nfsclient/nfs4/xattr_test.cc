// Extended attributes of version 4.2, and of servers without them.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "nfsclient/nfs4/nfs4.h"
#include "nfsclient/nfs4/operation_names.h"
#include "tests/fixtures/fake_nfs4.h"
#include "tests/fixtures/libnfs_raw.h"

namespace nfswalk::protocol {
namespace {

using Kind = FakeFault::Kind;
using Names = std::vector<std::string>;

constexpr std::errc kNotSupported = std::errc::operation_not_supported;
constexpr std::errc kNoData = std::errc::no_message_available;
constexpr int kForEver = 1'000'000;
const Credential kRoot(0, 0);

class XattrTest : public testing::Test {
 protected:
  explicit XattrTest(uint32_t minor_version = 2) {
    server_.Offer({0, 1, 2});
    server_.Put("f", {});
    nfs_ =
        std::move(*Nfs4::ConnectNfs4({"127.0.0.1", "/", server_.port(), 0, 4, minor_version}, {}));
    root_ = nfs_->GetRoot(kRoot).handle;
    file_ = nfs_->Lookup(root_, "f", kRoot).handle;
  }
  XattrReply Get(const std::string& name) { return nfs_->GetXattr(file_, name, kRoot); }
  XattrNamesReply List() { return nfs_->ListXattrs(file_, kRoot); }
  FileChangeReply Set(const std::string& name, const std::string& value,
                      XattrMode how = XattrMode::kEither) {
    return nfs_->SetXattr(file_, name, value, how, kRoot);
  }
  FileChangeReply Remove(const std::string& name) { return nfs_->RemoveXattr(file_, name, kRoot); }
  void Forge(int operation, const Xdr& result) {
    server_.Inject(operation, {.kind = Kind::kForged,
                               .forge = [result](const std::string&) { return result.str(); }});
  }
  auto xattrs() { return server_.Find("f")->xattrs; }

  FakeNfs4 server_;
  std::unique_ptr<Protocol> nfs_;
  FileHandle root_, file_;
};

class XattrOfEarlierVersions : public XattrTest, public testing::WithParamInterface<uint32_t> {
 protected:
  XattrOfEarlierVersions() : XattrTest(GetParam()) {}
};
INSTANTIATE_TEST_SUITE_P(All, XattrOfEarlierVersions, testing::Values(0, 1));

TEST_F(XattrTest, EachKindOfValueIsKept) {
  for (const std::string& value :
       {std::string(), std::string("v"), std::string("\0\xff\0", 3), std::string(65'536, 'x')}) {
    EXPECT_EQ(Set("n", value).error, kOk);
    EXPECT_EQ(Get("n").error, kOk);
    EXPECT_EQ(Get("n").value, value);
  }
  const std::string long_name(250, 'n');
  EXPECT_EQ(Set(long_name, "v").error, kOk);
  EXPECT_EQ(List().names, (Names{"n", long_name}));
  EXPECT_EQ(Remove("n").error, kOk);
  EXPECT_EQ(Get("n").error, kNoData);
  EXPECT_EQ(Remove("n").error, kNoData);
  EXPECT_EQ(List().names, Names{long_name});
}

TEST_F(XattrTest, TheModeSaysWhatMayBeThere) {
  const struct {
    bool is_there;
    XattrMode how;
    std::errc error;
  } rows[] = {
      {false, XattrMode::kEither, kOk},      {true, XattrMode::kEither, kOk},
      {false, XattrMode::kCreate, kOk},      {true, XattrMode::kCreate, std::errc::file_exists},
      {false, XattrMode::kReplace, kNoData}, {true, XattrMode::kReplace, kOk}};
  for (const auto& row : rows) {
    SCOPED_TRACE(static_cast<int>(row.how));
    (void)Remove("n");
    if (row.is_there) (void)Set("n", "old");
    EXPECT_EQ(Set("n", "new", row.how).error, row.error);
    EXPECT_EQ(Get("n").value, row.error == kOk ? "new" : row.is_there ? "old" : "");
  }
}

TEST_F(XattrTest, AChangeTellsTheAttributesBeforeAndAfter) {
  for (const FileChangeReply& reply : {Set("n", "v"), Remove("n")}) {
    ASSERT_TRUE(reply.file.before && reply.file.after);
    EXPECT_EQ(reply.file.before->change + 1, reply.file.after->change);
    EXPECT_TRUE(reply.file.atomic);
  }
}

TEST_F(XattrTest, ALongListComesInParts) {
  Names names;
  for (int i = 100; i < 125; ++i) names.push_back("n" + std::to_string(i));
  for (const std::string& name : names) EXPECT_EQ(Set(name, "").error, kOk);
  for (const uint64_t part : {1, 7, 25, 1000}) {
    server_.set_xattrs_listed_max(part);
    EXPECT_EQ(List().names, names) << part;
  }
}

TEST_F(XattrTest, ListsThatAreNoneAreErrors) {
  const auto list = [](uint32_t count) {
    return Xdr().U32(kOpListXattrs, NFS4_OK).U64(9).U32(count);
  };
  const std::pair<const char*, Xdr> rows[] = {
      {"no names, and more to come", list(0).U32(0)},
      {"a name of nothing", list(1).Bytes("").U32(1)},
      {"a name with a NUL", list(1).Bytes(std::string("a\0b", 3)).U32(1)},
      {"a name of 256 bytes", list(1).Bytes(std::string(256, 'n')).U32(1)},
      {"fewer names than it says", list(2).Bytes("n").U32(1)},
      {"names without end", list(~0u).Bytes("n").U32(1)},
  };
  for (const auto& [name, result] : rows) {
    Forge(kOpListXattrs, result);
    EXPECT_EQ(List().error, std::errc::io_error) << name;
    EXPECT_TRUE(List().names.empty());
  }
  // Repeats one name in every reply.
  server_.Inject(
      kOpListXattrs,
      {.kind = Kind::kForged,
       .forge =
           [&](const std::string&) { return list(1).Bytes(std::string(255, 'n')).U32(0).str(); }},
      kForEver);
  EXPECT_EQ(List().error, std::errc::argument_list_too_long);
}

TEST_F(XattrTest, AValueThatIsNoneIsAnError) {
  Forge(kOpGetXattr, Xdr().U32(kOpGetXattr, NFS4_OK, 65'537));
  EXPECT_EQ(Get("n").error, std::errc::io_error);
  Forge(kOpGetXattr, Xdr().U32(kOpGetXattr, NFS4_OK, 8).Raw("1234"));
  EXPECT_EQ(Get("n").error, std::errc::io_error);
}

TEST_F(XattrTest, EachErrorHasItsErrno) {
  const struct {
    int status;
    std::errc error;
  } rows[] = {{NFS4ERR_ACCESS, std::errc::permission_denied},
              {NFS4ERR_PERM, std::errc::operation_not_permitted},
              {NFS4ERR_NOSPC, std::errc::no_space_on_device},
              {NFS4ERR_ROFS, std::errc::read_only_file_system},
              {NFS4ERR_STALE, kStale},
              {NFS4ERR_NOTSUPP, kNotSupported},
              {10095, kNoData},
              {10096, std::errc::argument_list_too_long}};
  for (const auto& row : rows) {
    for (const int operation : {kOpGetXattr, kOpListXattrs, kOpSetXattr, kOpRemoveXattr}) {
      server_.Inject(operation, {.status = row.status});
    }
    for (const std::errc error :
         {Get("n").error, List().error, Set("n", "v").error, Remove("n").error}) {
      EXPECT_EQ(error, row.error) << row.status;
    }
  }
  EXPECT_TRUE(nfs_->has_xattrs()) << "of a file system";
}

TEST_F(XattrTest, AChangeWhoseReplyIsLostIsMadeOnce) {
  for (const Kind kind : {Kind::kLoseReply, Kind::kLoseCall}) {
    server_.Inject(kOpSetXattr, {.kind = kind});
    server_.Inject(kOpRemoveXattr, {.kind = kind});
    EXPECT_EQ(Set("n", "v", XattrMode::kCreate).error, kOk);
    EXPECT_EQ(xattrs().size(), 1u);
    EXPECT_EQ(Remove("n").error, kOk);
    EXPECT_TRUE(xattrs().empty());
  }
}

// The session ends with the reply: what is sent again finds that it was done.
TEST_F(XattrTest, ARemovalWhoseReplyAndSessionAreLostIsDone) {
  EXPECT_EQ(Set("n", "v").error, kOk);
  server_.Inject(kOpRemoveXattr, {.kind = Kind::kLoseReply});
  server_.Before(OP_GETATTR, [this] { server_.EndSessions(); });
  EXPECT_EQ(Remove("n").error, kOk);
  EXPECT_TRUE(xattrs().empty());
}

TEST_F(XattrTest, AValueThatTheSessionDoesNotTakeIsTooLong) {
  EXPECT_EQ(Set("n", std::string(65'536, 'x')).error, kOk);
  server_.WithSessions([](FakeSessions& sessions) { sessions.request_bytes_max = 16'384; });
  server_.EndSessions();
  EXPECT_EQ(Get("n").error, kOk);
  EXPECT_EQ(Set("n", std::string(16'384, 'x')).error, std::errc::argument_list_too_long);
  EXPECT_EQ(Set("n", std::string(8'192, 'x')).error, kOk);
}

TEST_F(XattrTest, ADelayIsWaitedFor) {
  for (const int operation : {kOpGetXattr, kOpListXattrs, kOpSetXattr, kOpRemoveXattr}) {
    server_.Inject(operation, {.status = NFS4ERR_DELAY});
  }
  EXPECT_EQ(Set("n", "v").error, kOk);
  EXPECT_EQ(Get("n").value, "v");
  EXPECT_EQ(List().names, Names{"n"});
  EXPECT_EQ(Remove("n").error, kOk);
}

TEST_F(XattrTest, AServerWithoutTheOperationIsAskedOnce) {
  server_.Inject(kOpGetXattr, {.status = NFS4ERR_OP_ILLEGAL});
  EXPECT_EQ(Get("n").error, kNotSupported);
  EXPECT_FALSE(nfs_->has_xattrs());
  EXPECT_EQ(Get("n").error, kNotSupported);
  EXPECT_EQ(server_.calls(kOpGetXattr), 1);
}

TEST_P(XattrOfEarlierVersions, NoneIsAskedFor) {
  EXPECT_FALSE(nfs_->has_xattrs());
  const uint64_t rpcs = nfs_->rpcs_sent();
  for (const std::errc error :
       {Get("n").error, List().error, Set("n", "v").error, Remove("n").error}) {
    EXPECT_EQ(error, kNotSupported);
  }
  EXPECT_EQ(nfs_->rpcs_sent(), rpcs);
}

}  // namespace
}  // namespace nfswalk::protocol
