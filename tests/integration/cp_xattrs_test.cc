// `nfswalk cp` and extended attributes: kept with -p, each way, where both sides have them.
#include <gtest/gtest.h>
#include <sys/xattr.h>

#include <fstream>
#include <map>
#include <string>

#include "nfsclient/nfs4/operation_names.h"
#include "tests/fixtures/fake_nfs4.h"
#include "tests/fixtures/libnfs_raw.h"
#include "tests/integration/program_run.h"

namespace nfswalk {
namespace {

using protocol::FakeNode;
using Xattrs = std::map<std::string, std::string>;

const Xattrs kXattrs{{"a", "1"}, {"empty", ""}, {"long", std::string(3000, 'x')}};

class CpXattrs : public testing::Test {
 protected:
  CpXattrs() {
    server_.Offer({0, 1, 2});
    server_.Put("d", {.type = FakeNode::Type::kDirectory, .mode = 0777});
    server_.Put("d/f", {.data = "text", .xattrs = kXattrs});
    server_.Put("to", {.type = FakeNode::Type::kDirectory, .mode = 0777});
    std::ofstream(local_) << "text";
    std::remove(copy_.c_str());
  }
  void Cp(const Strings& arguments) {
    Strings command = {"nfsclient/cli/nfswalk", "cp"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const ProgramRun run = RunProgram(command);
    EXPECT_EQ(run.exit_code, 0) << run.err;
  }
  std::string Url(const std::string& version = "4.2") {
    return "nfs://127.0.0.1:" + std::to_string(server_.port()) + "/?version=" + version;
  }
  Xattrs Copied() { return server_.Find("to/f").value_or(FakeNode{}).xattrs; }
  // Returns the value of an extended attribute of a local file, or "none".
  static std::string ValueOf(const std::string& path, const std::string& name) {
    std::string value(4000, '?');
    const ssize_t size = getxattr(path.c_str(), name.c_str(), value.data(), value.size());
    return size < 0 ? "none" : value.substr(0, static_cast<size_t>(size));
  }
  // False where the directory's file system has none.
  bool SetLocal(const std::string& name, const std::string& value) {
    return setxattr(local_.c_str(), name.c_str(), value.data(), value.size(), 0) == 0;
  }

  const std::string local_ = testing::TempDir() + "local";
  const std::string copy_ = testing::TempDir() + "copy";
  protocol::FakeNfs4 server_;
};

TEST_F(CpXattrs, TheyAreKeptWithinAnExport) {
  Cp({"-p", Url(), "d/f", Url(), "to/f"});
  EXPECT_EQ(Copied(), kXattrs);
}

TEST_F(CpXattrs, TheyAreLeftWithoutP) {
  Cp({Url(), "d/f", Url(), "to/f"});
  EXPECT_TRUE(Copied().empty());
  EXPECT_EQ(server_.calls(protocol::kOpListXattrs), 0);
}

TEST_F(CpXattrs, TheyAreKeptInBothDirections) {
  if (!SetLocal("user.a", "1")) GTEST_SKIP() << "no extended attributes in " << local_;
  ASSERT_TRUE(SetLocal("user.b", std::string(3000, 'x')));
  (void)SetLocal("trusted.a", "of another namespace");
  Cp({"-p", local_, Url(), "to/f"});
  EXPECT_EQ(Copied(), (Xattrs{{"a", "1"}, {"b", std::string(3000, 'x')}}));
  Cp({"-p", Url(), "d/f", copy_});
  for (const auto& [name, value] : kXattrs) EXPECT_EQ(ValueOf(copy_, "user." + name), value);
}

// The copy is made without them: of a version, or a file system, that has none.
TEST_F(CpXattrs, ATargetWithoutThemIsWritten) {
  Cp({"-p", Url(), "d/f", Url("4.1"), "to/f"});
  EXPECT_EQ(server_.Find("to/f").value_or(FakeNode{}).data, "text");
  server_.Inject(protocol::kOpSetXattr, {.status = NFS4ERR_NOTSUPP}, 1000);
  Cp({"-p", Url(), "d/f", Url(), "to/f"});
  EXPECT_TRUE(Copied().empty());
}

// One that the other file system has not is left out, and the rest is kept.
TEST_F(CpXattrs, ANameThatTheTargetHasNotIsLeftOut) {
  server_.Inject(protocol::kOpSetXattr, {.status = NFS4ERR_NOTSUPP});
  Cp({"-p", Url(), "d/f", Url(), "to/f"});
  EXPECT_EQ(Copied().size(), kXattrs.size() - 1);
}

// The file is there, with all but that one, and the command fails.
TEST_F(CpXattrs, AnAttributeThatCannotBeKeptIsReported) {
  server_.Inject(protocol::kOpSetXattr, {.status = NFS4ERR_NOSPC});
  const ProgramRun run =
      RunProgram({"nfsclient/cli/nfswalk", "cp", "-p", Url(), "d/f", Url(), "to/f"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.err.find("No space left"), std::string::npos) << run.err;
  EXPECT_EQ(server_.Find("to/f").value_or(FakeNode{}).data, "text");
  EXPECT_EQ(Copied().size(), kXattrs.size() - 1);
}

TEST_F(CpXattrs, AnAttributeThatCannotBeReadIsReported) {
  server_.Inject(protocol::kOpGetXattr, {.status = NFS4ERR_ACCESS});
  const ProgramRun run =
      RunProgram({"nfsclient/cli/nfswalk", "cp", "-p", Url(), "d/f", Url(), "to/f"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.err.find("Permission denied"), std::string::npos) << run.err;
  EXPECT_EQ(Copied().size(), kXattrs.size() - 1);
}

}  // namespace
}  // namespace nfswalk
