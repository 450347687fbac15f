// `nfswalk` and ACLs: `cp -p` keeps them where it can and says where it cannot; `stat` and `ls`
// show them.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "nfsclient/nfs4/operation_names.h"
#include "tests/fixtures/fake_nfs3.h"
#include "tests/fixtures/fake_nfs4.h"
#include "tests/fixtures/libnfs_raw.h"
#include "tests/integration/program_run.h"

namespace nfswalk {
namespace {

using protocol::FakeNfs3;
using protocol::FakeNfs4;
using protocol::FakeNode;
using protocol::Xdr;

const std::string kOfMode =
    Xdr().U32(2, 0, 0, 0x1601bf).Bytes("OWNER@").U32(0, 0x40, 0x6).Bytes("GROUP@").str();
// Ann may read and write, the group nothing.
const std::string kOfAnn =
    Xdr().U32(2, 0, 0, 0x7).Bytes("ann@example.org").U32(0, 0x40, 0).Bytes("GROUP@").str();

// user::rw- user:2000:rw- group::--- mask::rw- other::---, as NFSACL has it.
const std::string kPosixWire =
    Xdr().U32(1, 0, 6, 2, 2000, 6).U32(4, 0, 0, 0x10, 0, 6).U32(0x20, 0, 0).str();
// An ACL of these entries as getxattr(2) has it.
const std::string kPosixValue(
    "\2\0\0\0\1\0\6\0\xff\xff\xff\xff\2\0\6\0\xd0\7\0\0\4\0\0\0\xff\xff\xff\xff"
    "\x10\0\6\0\xff\xff\xff\xff\x20\0\0\0\xff\xff\xff\xff",
    44);

class AclCommandsTest : public testing::Test {
 protected:
  AclCommandsTest() {
    for (FakeNfs4* const server : {&server_, &without_}) {
      server->Offer({0, 1, 2});
      server->Put("to", directory_);
    }
    server_.SetAcl("", kOfMode);
    server_.SetAcl("to", kOfMode);
    server_.Put("d", directory_);
    server_.SetAcl("d", kOfAnn);
    server_.Put("d/f", {.mode = 0660, .uid = geteuid(), .data = "text", .acl = kOfAnn});
    server_.Put("d/plain", {.mode = 0620, .uid = geteuid(), .data = "text", .acl = kOfMode});
    std::filesystem::remove_all(here_);
    std::filesystem::create_directory(here_);
  }
  ProgramRun Run(Strings command) {
    command.insert(command.begin(), "nfsclient/cli/nfswalk");
    return RunProgram(command);
  }
  static std::string Url(FakeNfs4& server) {
    return "nfs://127.0.0.1:" + std::to_string(server.port()) + "/?version=4.2";
  }
  static FakeNode At(FakeNfs4& server, const std::string& path) {
    return server.Find(path).value_or(FakeNode{});
  }
  uint32_t ModeOf(const std::string& path) {
    struct stat found {};
    EXPECT_EQ(stat((here_ + path).c_str(), &found), 0) << path;
    return found.st_mode & 07777;
  }

  const FakeNode directory_{.type = FakeNode::Type::kDirectory, .mode = 0770, .uid = geteuid()};
  const std::string here_ = testing::TempDir() + "here/";
  FakeNfs4 server_, without_;
};

TEST_F(AclCommandsTest, CpKeepsThemBetweenExports) {
  const ProgramRun run = Run({"cp", "-rp", Url(server_), "d", Url(server_), "to"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(At(server_, "to/d").acl, kOfAnn);
  EXPECT_EQ(At(server_, "to/d/f").acl, kOfAnn);
  EXPECT_EQ(At(server_, "to/d/plain").acl, kOfMode);
}

TEST_F(AclCommandsTest, CpWithoutPLeavesThem) {
  const ProgramRun run = Run({"cp", "-r", Url(server_), "d", Url(server_), "to"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(At(server_, "to/d/f").acl, kOfMode);
}

// The group's bits of the mode are more than the ACL lets the group do.
TEST_F(AclCommandsTest, CpToAnExportWithoutThemGivesTheGroupNoMore) {
  const ProgramRun run = Run({"cp", "-rp", Url(server_), "d", Url(without_), "to"});
  EXPECT_EQ(run.exit_code, 1);
  for (const char* const path : {"cp 'd' to 'to/d': ACL not kept: Operation not supported",
                                 "cp 'd/f' to 'to/d/f': ACL not kept: Operation not supported"}) {
    EXPECT_NE(run.err.find(path), std::string::npos) << run.err;
  }
  EXPECT_EQ(run.err.find("plain"), std::string::npos) << run.err;
  EXPECT_EQ(At(without_, "to/d").mode, 0700u);
  EXPECT_EQ(At(without_, "to/d/f").mode, 0600u);
  EXPECT_EQ(At(without_, "to/d/f").data, "text");
  EXPECT_EQ(At(without_, "to/d/plain").mode, 0620u);
}

TEST_F(AclCommandsTest, CpToThisMachineGivesTheGroupNoMore) {
  const ProgramRun run = Run({"cp", "-rp", "--json", Url(server_), "d", here_});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.out.find(R"("path":"d/f","to":")" + here_ + R"(d/f","not_kept":"ACL")"),
            std::string::npos)
      << run.out;
  EXPECT_EQ(run.err.find("plain"), std::string::npos) << run.err;
  EXPECT_EQ(ModeOf("d"), 0700u);
  EXPECT_EQ(ModeOf("d/f"), 0600u);
  EXPECT_EQ(ModeOf("d/plain"), 0620u);
}

TEST_F(AclCommandsTest, CpOfAPosixAclGivesTheGroupNoMore) {
  const std::string path = here_ + "f";
  std::ofstream(path) << "text";
  if (setxattr(path.c_str(), "system.posix_acl_access", kPosixValue.data(), kPosixValue.size(),
               0) != 0) {
    GTEST_SKIP() << "no ACLs in " << here_;
  }
  ASSERT_EQ(ModeOf("f"), 0660u) << "the mask";
  const ProgramRun run = Run({"cp", "-p", path, Url(server_), "to/f"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.err.find("ACL not kept"), std::string::npos) << run.err;
  EXPECT_EQ(At(server_, "to/f").mode, 0600u);
  EXPECT_EQ(At(server_, "to/f").data, "text");
}

// Exports over version 3, whose ACLs are POSIX ones.
class PosixAclCommandsTest : public AclCommandsTest {
 protected:
  PosixAclCommandsTest() {
    for (FakeNfs3* const server : {&posix_, &none_}) server->Put("to", directory_);
    none_.set_has_acls(false);
    posix_.Put("f", {.mode = 0660, .uid = geteuid(), .data = "text", .posix_acl = kPosixWire});
    posix_.Put("plain", {.mode = 0620, .uid = geteuid(), .data = "text"});
  }
  static std::string Url3(FakeNfs3& server) {
    const std::string port = std::to_string(server.port());
    return "nfs://127.0.0.1:" + port + "/?version=3&mountport=" + port;
  }
  static FakeNode At3(FakeNfs3& server, const std::string& path) {
    return server.Find(path).value_or(FakeNode{});
  }

  FakeNfs3 posix_, none_;
};

TEST_F(PosixAclCommandsTest, CpKeepsThemBetweenExports) {
  for (const char* const file : {"f", "plain"}) {
    const ProgramRun run = Run({"cp", "-p", Url3(posix_), file, Url3(posix_), "to"});
    EXPECT_EQ(run.exit_code, 0) << run.err;
  }
  EXPECT_EQ(At3(posix_, "to/f").posix_acl, kPosixWire);
  EXPECT_EQ(At3(posix_, "to/plain").posix_acl, "");
  EXPECT_EQ(At3(posix_, "to/plain").mode, 0620u);
}

TEST_F(PosixAclCommandsTest, CpToAnExportWithoutThemGivesTheGroupNoMore) {
  const ProgramRun run = Run({"cp", "-p", Url3(posix_), "f", Url3(none_), "to/f"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.err.find("ACL not kept"), std::string::npos) << run.err;
  EXPECT_EQ(At3(none_, "to/f").mode, 0600u);
  const ProgramRun plain = Run({"cp", "-p", Url3(posix_), "plain", Url3(none_), "to/plain"});
  EXPECT_EQ(plain.exit_code, 0) << plain.err;
  EXPECT_EQ(At3(none_, "to/plain").mode, 0620u);
}

TEST_F(PosixAclCommandsTest, CpKeepsThemToAndFromThisMachine) {
  const std::string path = here_ + "f";
  const ProgramRun here = Run({"cp", "-p", Url3(posix_), "f", path});
  char value[64];
  const ssize_t size = getxattr(path.c_str(), "system.posix_acl_access", value, sizeof value);
  if (size < 0) {  // a file system without ACLs, or in a user namespace without the user
    EXPECT_EQ(here.exit_code, 1);
    EXPECT_EQ(ModeOf("f"), 0600u);
    return;
  }
  EXPECT_EQ(here.exit_code, 0) << here.err;
  EXPECT_EQ(std::string(value, static_cast<size_t>(size)), kPosixValue);
  EXPECT_EQ(ModeOf("f"), 0660u);
  const ProgramRun back = Run({"cp", "-p", path, Url3(posix_), "to/f"});
  EXPECT_EQ(back.exit_code, 0) << back.err;
  EXPECT_EQ(At3(posix_, "to/f").posix_acl, kPosixWire);
}

TEST_F(PosixAclCommandsTest, StatAndLsShowThem) {
  ProgramRun run = Run({"stat", "--acl", Url3(posix_), "f"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("   ACL: user::rw-\n        user:2000:rw-\n        group::---\n"
                         "        mask::rw-\n        other::---\n"),
            std::string::npos)
      << run.out;
  run = Run({"stat", "--acl", Url3(posix_), "plain"});
  EXPECT_EQ(run.out.find("ACL"), std::string::npos) << run.out;
  run = Run({"ls", "-l", "--acl", Url3(posix_)});
  EXPECT_NE(run.out.find("\n-rw-rw----+ "), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("\n-rw--w----  "), std::string::npos) << run.out;
}

TEST_F(AclCommandsTest, CpKeepsExtendedAttributesOfDirectories) {
  server_.Put("x", directory_);
  server_.Put("x/d", {.type = FakeNode::Type::kDirectory,
                      .mode = 0770,
                      .uid = geteuid(),
                      .xattrs = {{"a", "1"}},
                      .acl = kOfMode});
  const ProgramRun run = Run({"cp", "-rp", Url(server_), "x", Url(without_), "to"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(At(without_, "to/x/d").xattrs, At(server_, "x/d").xattrs);
  const ProgramRun here = Run({"cp", "-rp", Url(server_), "x", here_});
  char value[8];
  const ssize_t size = getxattr((here_ + "x/d").c_str(), "user.a", value, sizeof value);
  if (size < 0 && errno == ENOTSUP) return;
  EXPECT_EQ(std::string(value, static_cast<size_t>(size)), "1") << here.err;
}

TEST_F(AclCommandsTest, StatShowsThem) {
  server_.Put("x", {.xattrs = {{"a", "\x1b"}}, .acl = kOfAnn});
  ProgramRun run = Run({"stat", "--acl", "--xattrs", Url(server_), "x", "d/plain"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("   ACL: A::ann@example.org:rwa\n        A:g:GROUP@:\n"
                         "Xattrs: user.a=\"\\x1b\"\n"),
            std::string::npos)
      << run.out;
  EXPECT_NE(run.out.find("   ACL: A::OWNER@:rwaxtTnNcCy\n"), std::string::npos) << run.out;
  run = Run({"stat", "--acl", "--xattrs", "--json", Url(server_), "x"});
  EXPECT_NE(run.out.find(R"("acl":["A::ann@example.org:rwa","A:g:GROUP@:"],)"
                         R"("xattrs":[{"name":"user.a","value":"\u001b"}])"),
            std::string::npos)
      << run.out;
  run = Run({"stat", "--acl", "--xattrs", Url(without_), "to"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out.find("ACL"), std::string::npos) << run.out;
}

TEST_F(AclCommandsTest, StatAsksForNoneWhereNoneIsWanted) {
  EXPECT_EQ(Run({"stat", Url(server_), "d/f"}).out.find("ACL"), std::string::npos);
  EXPECT_EQ(server_.calls(protocol::kOpListXattrs), 0);
  EXPECT_EQ(Run({"stat", "--acl", "-c", "%n", Url(server_), "d/f"}).exit_code, 2);
}

TEST_F(AclCommandsTest, LsMarksRightsThatTheyChange) {
  ProgramRun run = Run({"ls", "-l", "--acl", Url(server_), "d"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("\n-rw-rw----+ "), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("\n-rw--w----  "), std::string::npos) << run.out;
  run = Run({"ls", "-l", Url(server_), "d"});
  EXPECT_EQ(run.out.find('+'), std::string::npos) << run.out;
  run = Run({"ls", "--json", "--acl", Url(server_), "d"});
  EXPECT_NE(run.out.find(R"("acl":["A::ann@example.org:rwa","A:g:GROUP@:"])"), std::string::npos)
      << run.out;
}

}  // namespace
}  // namespace nfswalk
