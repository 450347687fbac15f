#include "nfsclient/protocol/lost_reply.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "nfsclient/protocol/nfs3.h"
#include "tests/fixtures/fake_server_export.h"

namespace nfswalk::protocol {
namespace {

using fixtures::FakeExport;
using fixtures::Nfs3Procedure;
using Fault = FakeExport::Fault;

const Credential kUser(1000, 100);
const Credential kOther(2000, 100);
const SetAttributes kMode{.mode = 0640};

FakeExport::Node NodeOf(FakeExport::Type type, uint32_t uid) {
  FakeExport::Node node;
  node.type = type;
  node.mode = 0640;
  node.uid = uid;
  node.nlink = type == FakeExport::Type::kDirectory ? 2 : 1;
  return node;
}

class LostReply : public testing::Test {
 protected:
  void SetUp() override {
    auto connected =
        Nfs3::ConnectNfs3({"127.0.0.1", "/export", server_.port(), server_.port(), 3}, {});
    ASSERT_TRUE(connected.has_value()) << connected.error().message;
    nfs_ = std::move(*connected);
    root_ = FileHandle(std::span(reinterpret_cast<const uint8_t*>("root"), 4));
  }

  bool Exists(const std::string& name) { return server_.Find(name).has_value(); }
  FileHandle HandleOf(const std::string& name) { return nfs_->Lookup(root_, name, kUser).handle; }

  FakeExport server_;
  std::unique_ptr<Protocol> nfs_;
  FileHandle root_;
};

// WIRE-3.
TEST_F(LostReply, GuardedCreateIsRepeatedWithTheSameVerifier) {
  server_.Inject(Nfs3Procedure::kCreate, Fault::kLoseReply, 2);
  const CreateReply reply = nfs_->Create(root_, "f", CreateMode::kGuarded, kMode, kUser);
  EXPECT_EQ(reply.error, kOk);
  EXPECT_EQ(server_.calls(Nfs3Procedure::kCreate), 3);
  ASSERT_TRUE(reply.attributes.has_value());
  EXPECT_EQ(reply.attributes->mode, 0640u);
}

TEST_F(LostReply, GuardedCreateOfAnotherClientsFileFailsWithEEXIST) {
  server_.Inject(Nfs3Procedure::kCreate, Fault::kLoseCall);
  server_.Before(Nfs3Procedure::kCreate,
                 [](FakeExport& e) { e.Put("f", NodeOf(FakeExport::Type::kRegular, 1000)); });
  EXPECT_EQ(nfs_->Create(root_, "f", CreateMode::kGuarded, kMode, kUser).error,
            std::errc::file_exists);
}

TEST_F(LostReply, GuardedCreateWithoutExclusiveIsLookedUp) {
  server_.Before(Nfs3Procedure::kCreate, [](FakeExport& e) {
    e.Inject(Nfs3Procedure::kCreate, Fault::kNotSupported);
    e.Before(Nfs3Procedure::kCreate,
             [](FakeExport& later) { later.Inject(Nfs3Procedure::kCreate, Fault::kLoseReply); });
  });
  const CreateReply reply = nfs_->Create(root_, "f", CreateMode::kGuarded, kMode, kUser);
  EXPECT_EQ(reply.error, kOk);
  EXPECT_EQ(server_.calls(Nfs3Procedure::kCreate), 2);
  EXPECT_EQ(server_.calls(Nfs3Procedure::kLookup), 1);
}

TEST_F(LostReply, GuardedCreateRemovesTheFileIfItsAttributesCannotBeSet) {
  server_.Inject(Nfs3Procedure::kSetAttributes, Fault::kNotSupported);
  EXPECT_EQ(nfs_->Create(root_, "f", CreateMode::kGuarded, kMode, kUser).error,
            std::errc::operation_not_supported);
  EXPECT_FALSE(Exists("f"));
}

TEST_F(LostReply, UncheckedCreateIsRepeatedWithoutALookup) {
  server_.Inject(Nfs3Procedure::kCreate, Fault::kLoseReply);
  EXPECT_EQ(nfs_->Create(root_, "f", CreateMode::kUnchecked, kMode, kUser).error, kOk);
  EXPECT_EQ(server_.calls(Nfs3Procedure::kLookup), 0);
}

// WIRE-2.
TEST_F(LostReply, MkdirThatWasExecutedSucceedsAndIsNotRepeated) {
  server_.Inject(Nfs3Procedure::kMakeDirectory, Fault::kLoseReply);
  const CreateReply reply = nfs_->MakeDirectory(root_, "d", kMode, kUser);
  EXPECT_EQ(reply.error, kOk);
  EXPECT_TRUE(reply.handle.has_value());
  EXPECT_EQ(server_.calls(Nfs3Procedure::kMakeDirectory), 1);
}

TEST_F(LostReply, MkdirThatWasNotExecutedIsRepeated) {
  server_.Inject(Nfs3Procedure::kMakeDirectory, Fault::kLoseCall);
  EXPECT_EQ(nfs_->MakeDirectory(root_, "d", kMode, kUser).error, kOk);
  EXPECT_EQ(server_.calls(Nfs3Procedure::kMakeDirectory), 2);
}

TEST_F(LostReply, MkdirExecutedLateByTheServerStillSucceeds) {
  server_.Inject(Nfs3Procedure::kMakeDirectory, Fault::kLoseCall);
  // The server executes the lost call between the client's LOOKUP and its second MKDIR.
  server_.Before(Nfs3Procedure::kLookup, [](FakeExport& e) {
    e.Before(Nfs3Procedure::kMakeDirectory,
             [](FakeExport& later) { later.Put("d", NodeOf(FakeExport::Type::kDirectory, 1000)); });
  });
  EXPECT_EQ(nfs_->MakeDirectory(root_, "d", kMode, kUser).error, kOk);
  EXPECT_EQ(server_.calls(Nfs3Procedure::kMakeDirectory), 2);
}

TEST_F(LostReply, MkdirOverAnotherUsersDirectoryFailsWithEEXIST) {
  server_.Put("d", NodeOf(FakeExport::Type::kDirectory, 2000));
  server_.Inject(Nfs3Procedure::kMakeDirectory, Fault::kLoseReply);
  EXPECT_EQ(nfs_->MakeDirectory(root_, "d", kMode, kUser).error, std::errc::file_exists);
}

TEST_F(LostReply, SymlinkWithTheSameTextSucceedsAndAnotherFailsWithEEXIST) {
  server_.Inject(Nfs3Procedure::kMakeSymlink, Fault::kLoseReply);
  EXPECT_EQ(nfs_->MakeSymlink(root_, "s", "target", {}, kUser).error, kOk);
  EXPECT_EQ(server_.calls(Nfs3Procedure::kMakeSymlink), 1);
  server_.Inject(Nfs3Procedure::kMakeSymlink, Fault::kLoseReply);
  EXPECT_EQ(nfs_->MakeSymlink(root_, "s", "elsewhere", {}, kUser).error, std::errc::file_exists);
}

TEST_F(LostReply, LinkThatWasExecutedSucceedsAndOneToAnotherFileFails) {
  server_.Put("a", {});
  server_.Put("b", {});
  server_.Inject(Nfs3Procedure::kLink, Fault::kLoseReply);
  EXPECT_EQ(nfs_->Link(HandleOf("a"), root_, "l", kUser).error, kOk);
  EXPECT_EQ(server_.calls(Nfs3Procedure::kLink), 1);
  server_.Inject(Nfs3Procedure::kLink, Fault::kLoseReply);
  EXPECT_EQ(nfs_->Link(HandleOf("b"), root_, "l", kUser).error, std::errc::file_exists);
}

TEST_F(LostReply, RemoveThatWasExecutedSucceeds) {
  server_.Put("f", {});
  server_.Inject(Nfs3Procedure::kRemove, Fault::kLoseReply);
  const RemoveReply reply = nfs_->Remove(root_, "f", kUser);
  EXPECT_EQ(reply.error, kOk);
  EXPECT_TRUE(reply.directory.after.has_value());
  EXPECT_EQ(server_.calls(Nfs3Procedure::kRemove), 1);
}

TEST_F(LostReply, RemoveThatWasNotExecutedIsRepeated) {
  server_.Put("f", {});
  server_.Inject(Nfs3Procedure::kRemove, Fault::kLoseCall, 3);
  EXPECT_EQ(nfs_->Remove(root_, "f", kUser).error, kOk);
  EXPECT_FALSE(Exists("f"));
}

TEST_F(LostReply, RemoveOfAMissingNameFailsIfNoReplyIsLost) {
  EXPECT_EQ(nfs_->Remove(root_, "f", kUser).error, std::errc::no_such_file_or_directory);
}

TEST_F(LostReply, RmdirThatWasExecutedSucceeds) {
  server_.Put("d", NodeOf(FakeExport::Type::kDirectory, 1000));
  server_.Inject(Nfs3Procedure::kRemoveDirectory, Fault::kLoseReply);
  EXPECT_EQ(nfs_->RemoveDirectory(root_, "d", kUser).error, kOk);
  EXPECT_EQ(server_.calls(Nfs3Procedure::kRemoveDirectory), 1);
}

TEST_F(LostReply, RenameThatWasExecutedSucceedsAndIsNotRepeated) {
  server_.Put("a", {});
  server_.Inject(Nfs3Procedure::kRename, Fault::kLoseReply);
  EXPECT_EQ(nfs_->Rename(root_, "a", root_, "b", kUser).error, kOk);
  EXPECT_EQ(server_.calls(Nfs3Procedure::kRename), 1);
  EXPECT_TRUE(Exists("b"));
}

TEST_F(LostReply, RenameThatWasNotExecutedIsRepeated) {
  server_.Put("a", {});
  server_.Inject(Nfs3Procedure::kRename, Fault::kLoseCall);
  EXPECT_EQ(nfs_->Rename(root_, "a", root_, "b", kUser).error, kOk);
  EXPECT_FALSE(Exists("a"));
  EXPECT_TRUE(Exists("b"));
}

TEST_F(LostReply, RenameFailsIfNeitherNameExists) {
  server_.Inject(Nfs3Procedure::kRename, Fault::kLoseReply);
  EXPECT_EQ(nfs_->Rename(root_, "a", root_, "b", kUser).error,
            std::errc::no_such_file_or_directory);
}

TEST_F(LostReply, SetattrIsRepeated) {
  server_.Put("f", {});
  server_.Inject(Nfs3Procedure::kSetAttributes, Fault::kLoseReply);
  EXPECT_EQ(nfs_->SetAttributesOf(HandleOf("f"), kMode, kUser).error, kOk);
  EXPECT_EQ(server_.Find("f")->mode, 0640u);
}

// READLINK of a soft mount may time out.
TEST(CheckCreatedSymlink, ReturnsTheErrorOfAFailedReadlink) {
  LookupReply found;
  found.attributes.emplace();
  found.attributes->type = FileType::kSymlink;
  found.attributes->uid = kUser.uid();
  for (const std::errc error : {std::errc::timed_out, std::errc::operation_canceled}) {
    ReadLinkReply read;
    read.error = error;
    EXPECT_EQ(CheckCreatedSymlink(found, "target", {}, kUser, [&] { return read; }), error);
  }
}

TEST(LooksNewlyCreated, ChecksTypeOwnerModeLinksAndSize) {
  Attributes file;
  file.mode = 0640;
  file.nlink = 1;
  file.uid = 1000;
  EXPECT_TRUE(LooksNewlyCreated(file, FileType::kRegular, kMode, kUser));
  EXPECT_FALSE(LooksNewlyCreated(file, FileType::kDirectory, kMode, kUser));
  EXPECT_FALSE(LooksNewlyCreated(file, FileType::kRegular, kMode, kOther));
  EXPECT_FALSE(LooksNewlyCreated(file, FileType::kRegular, {.mode = 0600}, kUser));
  file.nlink = 2;
  EXPECT_FALSE(LooksNewlyCreated(file, FileType::kRegular, kMode, kUser));
  file.nlink = 1;
  file.size_bytes = 1;
  EXPECT_FALSE(LooksNewlyCreated(file, FileType::kRegular, kMode, kUser));
}

TEST(LooksNewlyCreated, AllowsAnInheritedSetGroupIdBitAndASquashedRoot) {
  Attributes directory;
  directory.type = FileType::kDirectory;
  directory.mode = 02750;
  directory.nlink = 2;
  directory.uid = 65534;
  EXPECT_TRUE(LooksNewlyCreated(directory, FileType::kDirectory, {.mode = 0750}, Credential(0, 0)));
}

}  // namespace
}  // namespace nfswalk::protocol
