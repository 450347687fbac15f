// `nfswalk cp` from a URL to the same one, over a server of version 4.2 that copies by itself.
#include <gtest/gtest.h>

#include <string>

#include "nfsclient/nfs4/operation_names.h"
#include "tests/fixtures/fake_nfs4.h"
#include "tests/fixtures/libnfs_raw.h"
#include "tests/integration/program_run.h"

namespace nfswalk {
namespace {

using protocol::FakeNode;
using protocol::kOpCopy;

class CopyInside : public testing::Test {
 protected:
  CopyInside() {
    server_.Offer({0, 1, 2});
    const FakeNode directory{.type = FakeNode::Type::kDirectory, .mode = 0777};
    server_.Put("d", directory);
    server_.Put("to", directory);
    for (const char* const name : {"d/a", "d/b", "d/c"}) server_.Put(name, {.data = kText});
  }
  std::string Url(const std::string& options = "") {
    return "nfs://127.0.0.1:" + std::to_string(server_.port()) + "/?version=4.2" + options;
  }
  // One after the other.
  void Copy(const std::string& from, const std::string& to) {
    const ProgramRun run =
        RunProgram({"nfsclient/cli/nfswalk", "cp", "-r", "--threads", "1", from, "d", to, "to"});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    for (const char* const name : {"to/d/a", "to/d/b", "to/d/c"}) {
      EXPECT_EQ(server_.Find(name).value_or(FakeNode{}).data, kText) << name;
    }
  }

  static inline const std::string kText{"what is copied"};
  protocol::FakeNfs4 server_;
};

TEST_F(CopyInside, TheServerSendsNothing) {
  Copy(Url(), Url());
  EXPECT_EQ(server_.calls(kOpCopy), 3);
  EXPECT_EQ(server_.calls(OP_WRITE), 0);
}

TEST_F(CopyInside, AServerWithoutItIsAskedOnce) {
  server_.Inject(kOpCopy, {.status = NFS4ERR_NOTSUPP}, 1000);
  Copy(Url(), Url());
  EXPECT_EQ(server_.calls(kOpCopy), 1);
}

TEST_F(CopyInside, AFileThatTheServerFailsToCopyIsReadAndWritten) {
  server_.Inject(kOpCopy, {.status = NFS4ERR_IO});
  Copy(Url(), Url());
  EXPECT_EQ(server_.calls(kOpCopy), 3);
  EXPECT_EQ(server_.calls(OP_WRITE), 1);
}

// They have a mount each.
TEST_F(CopyInside, OtherOptionsAreAnotherMount) {
  Copy(Url(), Url("&nocto"));
  EXPECT_EQ(server_.calls(kOpCopy), 0);
}

}  // namespace
}  // namespace nfswalk
