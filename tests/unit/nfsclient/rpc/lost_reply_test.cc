#include "nfsclient/rpc/lost_reply.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/fixtures/fake_nfs3_mount.h"
#include "tests/fixtures/libnfs_raw.h"
#include "tests/fixtures/wrapped_protocol.h"

namespace nfswalk::protocol {
namespace {

using Kind = FakeFault::Kind;

const SetAttributes kMode{.mode = 0640};
const FakeNode kFile{.mode = 0640, .uid = 1000};
const FakeNode kDirectory{.type = FakeNode::Type::kDirectory, .mode = 0640, .uid = 1000};

// A client's protocol in a test forwards its calls.
class Forwarding final : public fixtures::WrappedProtocol<Forwarding> {
 public:
  using WrappedProtocol::WrappedProtocol;
};

class LostReply : public testing::Test, protected MountedNfs3 {
 protected:
  bool Exists(const std::string& name) { return server.Find(name).has_value(); }
  FileHandle HandleOf(const std::string& name) { return nfs->Lookup(root, name, kUser).handle; }
  CreateReply Create(CreateMode how) { return nfs->Create(root, "f", how, kMode, kUser); }
  std::errc Rename() { return nfs->Rename(root, "a", root, "b", {}, kUser).error; }

  Forwarding forwarding{Mount3(server.port())};
};

// WIRE-3.
TEST_F(LostReply, GuardedCreateIsRepeatedWithTheSameVerifier) {
  server.Inject(NFS3_CREATE, {Kind::kLoseReply}, 2);
  const CreateReply reply = Create(CreateMode::kGuarded);
  EXPECT_EQ(reply.error, kOk);
  EXPECT_EQ(server.calls(NFS3_CREATE), 3);
  ASSERT_TRUE(reply.attributes.has_value());
  EXPECT_EQ(reply.attributes->mode, 0640u);
}

TEST_F(LostReply, GuardedCreateOfAnotherClientsFileFailsWithEEXIST) {
  server.Inject(NFS3_CREATE, {Kind::kLoseCall});
  server.Before(NFS3_CREATE, [&] { server.Put("f", kFile); });
  EXPECT_EQ(Create(CreateMode::kGuarded).error, std::errc::file_exists);
}

TEST_F(LostReply, GuardedCreateWithoutExclusiveIsNotTakenForOurs) {
  server.Inject(NFS3_CREATE, {.status = NFS3ERR_NOTSUPP});
  server.Inject(NFS3_CREATE, {Kind::kLoseReply});
  EXPECT_EQ(Create(CreateMode::kGuarded).error, std::errc::file_exists);
  EXPECT_EQ(server.calls(NFS3_CREATE), 3);
}

TEST_F(LostReply, ACreateThatCarriesItsAttributesIsOneCallAndNotTakenForOurs) {
  const CreateReply reply = Create(CreateMode::kGuardedWithAttributes);
  ASSERT_TRUE(reply.attributes.has_value());
  EXPECT_EQ(reply.attributes->mode, 0640u);
  EXPECT_EQ(server.calls(NFS3_CREATE), 1);
  EXPECT_EQ(server.calls(NFS3_SETATTR), 0);
  server.Erase("f");
  server.Inject(NFS3_CREATE, {Kind::kLoseReply});
  EXPECT_EQ(Create(CreateMode::kGuardedWithAttributes).error, std::errc::file_exists);
}

TEST_F(LostReply, GuardedCreateRemovesTheFileIfItsAttributesCannotBeSet) {
  server.Inject(NFS3_SETATTR, {.status = NFS3ERR_NOTSUPP});
  EXPECT_EQ(Create(CreateMode::kGuarded).error, std::errc::operation_not_supported);
  EXPECT_FALSE(Exists("f"));
}

// The name leads to another client's file by then.
TEST_F(LostReply, GuardedCreateRemovesNothingIfItsFileWasReplaced) {
  server.Inject(NFS3_SETATTR, {.status = NFS3ERR_STALE});
  EXPECT_EQ(Create(CreateMode::kGuarded).error, kStale);
  EXPECT_TRUE(Exists("f"));
  EXPECT_EQ(server.calls(NFS3_REMOVE), 0);
}

TEST_F(LostReply, UncheckedCreateIsRepeatedWithoutALookup) {
  server.Inject(NFS3_CREATE, {Kind::kLoseReply});
  EXPECT_EQ(Create(CreateMode::kUnchecked).error, kOk);
  EXPECT_EQ(server.calls(NFS3_CREATE), 2);
  EXPECT_EQ(server.calls(NFS3_LOOKUP), 0);
}

// WIRE-2: the server keeps no replies, so what is sent again is executed again.
struct Making {
  const char* name;
  int procedure;
  FakeNode like_ours;  // what another client has made
  std::errc (*make)(Protocol& nfs, const FileHandle& root);
};
const Making kMakings[] = {
    {"MKDIR", NFS3_MKDIR, kDirectory,
     [](Protocol& nfs, const FileHandle& root) {
       return nfs.MakeDirectory(root, "x", kMode, kUser).error;
     }},
    {"SYMLINK", NFS3_SYMLINK,
     {.type = FakeNode::Type::kSymlink, .uid = 1000, .data = "target"},
     [](Protocol& nfs, const FileHandle& root) {
       return nfs.MakeSymlink(root, "x", "target", {}, kUser).error;
     }},
    {"LINK", NFS3_LINK, {},
     [](Protocol& nfs, const FileHandle& root) {
       return nfs.Link(nfs.Lookup(root, "file", kUser).handle, root, "x", kUser).error;
     }},
};

TEST_F(LostReply, ANameThatIsThereIsNeverTakenForOurs) {
  constexpr std::errc kExists = std::errc::file_exists;
  for (const Making& making : kMakings) {
    SCOPED_TRACE(making.name);
    const auto make = [&] { return making.make(*nfs, root); };
    const auto put = [&] {
      if (making.procedure == NFS3_LINK) {
        static_cast<FakeTreeServer&>(server).Link("file", "x");
      } else {
        server.Put("x", making.like_ours);
      }
    };
    server.Put("file", kFile);
    // By another client, long before.
    put();
    server.Inject(making.procedure, {Kind::kLoseReply});
    EXPECT_EQ(make(), kExists);
    server.Erase("x");
    // By another client, between the two transmissions.
    server.Inject(making.procedure, {Kind::kLoseCall});
    server.Before(making.procedure, put);
    EXPECT_EQ(make(), kExists);
    server.Erase("x");
    // By this call, which nothing proves.
    server.Inject(making.procedure, {Kind::kLoseReply});
    EXPECT_EQ(make(), kExists);
    EXPECT_TRUE(Exists("x"));
    server.Erase("x");
    // Not executed at first.
    server.Inject(making.procedure, {Kind::kLoseCall});
    EXPECT_EQ(make(), kOk);
    EXPECT_TRUE(Exists("x"));
    server.Erase("x");
  }
}

TEST_F(LostReply, RemoveThatWasExecutedSucceeds) {
  server.Put("f", {});
  server.Inject(NFS3_REMOVE, {Kind::kLoseReply});
  const RemoveReply reply = nfs->Remove(root, "f", {}, kUser);
  EXPECT_EQ(reply.error, kOk);
  EXPECT_TRUE(reply.directory.after.has_value());
  EXPECT_EQ(server.calls(NFS3_REMOVE), 2);
  server.Put("f", {});
  server.Inject(NFS3_REMOVE, {Kind::kLoseCall}, 3);
  EXPECT_EQ(nfs->Remove(root, "f", {}, kUser).error, kOk);
  EXPECT_EQ(server.calls(NFS3_REMOVE), 2 + 4);
  EXPECT_FALSE(Exists("f"));
  EXPECT_EQ(nfs->Remove(root, "f", {}, kUser).error, std::errc::no_such_file_or_directory)
      << "no reply is lost";
}

TEST_F(LostReply, RmdirThatWasExecutedSucceeds) {
  server.Put("d", kDirectory);
  server.Inject(NFS3_RMDIR, {Kind::kLoseReply});
  EXPECT_EQ(nfs->RemoveDirectory(root, "d", {}, kUser).error, kOk);
  EXPECT_EQ(server.calls(NFS3_RMDIR), 2);
}

// Another client has made the name anew when it is looked up before the repetition.
TEST_F(LostReply, RemoveThatWasExecutedIsNotRepeatedOnAnotherClientsFile) {
  server.Put("f", {});
  const KnownObject known{.handle = HandleOf("f"), .nlink = 1, .is_valid = true};
  server.Inject(NFS3_REMOVE, {Kind::kLoseReply});
  server.Before(NFS3_LOOKUP, [&] { server.Put("f", kFile); });
  const RemoveReply reply = forwarding.Remove(root, "f", known, kUser);
  EXPECT_EQ(reply.error, kOk);
  EXPECT_TRUE(reply.name_is_taken);
  EXPECT_TRUE(Exists("f"));
  EXPECT_EQ(server.calls(NFS3_REMOVE), 1);
}

TEST_F(LostReply, RemoveOfAFileThatKeepsItsLinksFails) {
  server.Put("f", {});
  const KnownObject known{.handle = HandleOf("f"), .nlink = 1, .is_valid = true};
  server.Inject(NFS3_REMOVE, {Kind::kLoseCall});
  server.Before(NFS3_REMOVE, [&] {
    static_cast<FakeTreeServer&>(server).Link("f", "g");
    server.Erase("f");
  });
  EXPECT_EQ(forwarding.Remove(root, "f", known, kUser).error, std::errc::no_such_file_or_directory);
  EXPECT_TRUE(Exists("g"));
}

// NFS3ERR_JUKEBOX tells of the repetition alone.
TEST_F(LostReply, RmdirThatWasExecutedSucceedsAfterAJukeboxToo) {
  server.Put("d", kDirectory);
  server.Inject(NFS3_RMDIR, {Kind::kLoseReply});
  server.Inject(NFS3_RMDIR, {.status = NFS3ERR_JUKEBOX});
  EXPECT_EQ(nfs->RemoveDirectory(root, "d", {}, kUser).error, kOk);
  EXPECT_EQ(server.calls(NFS3_RMDIR), 3);
}

TEST_F(LostReply, RenameSucceedsWhetherItWasExecutedOrNot) {
  for (const Kind kind : {Kind::kLoseReply, Kind::kLoseCall}) {
    server.Put("a", {});
    server.Inject(NFS3_RENAME, {kind});
    EXPECT_EQ(Rename(), kOk);
    EXPECT_FALSE(Exists("a"));
    EXPECT_TRUE(Exists("b"));
    server.Erase("b");
  }
  server.Inject(NFS3_RENAME, {Kind::kLoseReply});
  EXPECT_EQ(Rename(), std::errc::no_such_file_or_directory) << "neither name exists";
}

// The target was there before, and the source is another client's doing.
TEST_F(LostReply, RenameIsNotProvenByAnotherTarget) {
  server.Put("a", {});
  server.Put("b", kFile);
  const KnownObject known{.handle = HandleOf("a"), .nlink = 1, .is_valid = true};
  server.Inject(NFS3_RENAME, {Kind::kLoseCall});
  server.Before(NFS3_RENAME, [&] { server.Erase("a"); });
  EXPECT_EQ(forwarding.Rename(root, "a", root, "b", known, kUser).error,
            std::errc::no_such_file_or_directory);
  EXPECT_EQ(server.Find("b")->mode, 0640u);
}

TEST_F(LostReply, SetattrIsRepeated) {
  server.Put("f", {});
  server.Inject(NFS3_SETATTR, {Kind::kLoseReply});
  EXPECT_EQ(nfs->SetAttributesOf(HandleOf("f"), kMode, kUser).error, kOk);
  EXPECT_EQ(server.calls(NFS3_SETATTR), 2);
  EXPECT_EQ(server.Find("f")->mode, 0640u);
}

}  // namespace
}  // namespace nfswalk::protocol
