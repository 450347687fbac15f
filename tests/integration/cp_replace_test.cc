// `nfswalk cp` onto what is there: whose file, with which rights, and where a link of another user
// leads.
#include <endian.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <linux/xattr.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include "tests/integration/command_run.h"

namespace nfswalk {
namespace {

using testing::HasSubstr;

constexpr uid_t kOwner = 2001;
constexpr uid_t kOther = 2002;
constexpr gid_t kGroup = 3001;
constexpr gid_t kOtherGroup = 3002;

constexpr uint32_t kNoId{~0U};  // ACL_UNDEFINED_ID

// As extended attributes have it, little endian.
class AccessControlList {
 public:
  struct Entry {
    uint16_t tag, bits;
    uint32_t id;
  };
  AccessControlList(std::initializer_list<Entry> entries) {
    const posix_acl_xattr_header header{htole32(POSIX_ACL_XATTR_VERSION)};
    bytes_.append(reinterpret_cast<const char*>(&header), sizeof header);
    for (const auto& [tag, bits, id] : entries) {
      const posix_acl_xattr_entry entry{htole16(tag), htole16(bits), htole32(id)};
      bytes_.append(reinterpret_cast<const char*>(&entry), sizeof entry);
    }
  }
  // False where the file system has none.
  bool Set(const std::string& path, const char* attribute) const {
    return setxattr(path.c_str(), attribute, bytes_.data(), bytes_.size(), 0) == 0;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class CpReplaceTest : public CommandRun {
 protected:
  void SetUp() override {
    CommandRun::SetUp();
    if (IsSkipped()) return;
    char pattern[] = "/tmp/nfswalk_replace_XXXXXX";  // where other users may search
    ASSERT_NE(mkdtemp(pattern), nullptr);
    local_ = pattern;
    ASSERT_EQ(chmod(pattern, 0755), 0);
  }
  void TearDown() override {
    if (!local_.empty()) std::filesystem::remove_all(local_);
  }

  std::string Local(const std::string& path) const { return (local_ / path).string(); }
  // Runs a shell command in the local directory.
  std::string Here(const std::string& command) const {
    const ProgramRun run = RunProgram({"sh", "-c", "cd '" + local_.string() + "' && " + command});
    EXPECT_EQ(run.exit_code, 0) << command << "\n" << run.err;
    return run.out;
  }
  // Runs nfswalk as another local user.
  static ProgramRun RunAs(uid_t uid, gid_t gid, const Strings& arguments) {
    Strings words{"setpriv", fmt::format("--reuid={}", uid), fmt::format("--regid={}", gid),
                  "--clear-groups", kBinary};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return RunProgram(words);
  }

  std::filesystem::path local_;
};

INSTANTIATE_TEST_SUITE_P(Versions, CpReplaceTest, fixtures::AllVersions(),
                         fixtures::VersionTestName);

constexpr const char* kShow = "stat -c '%a %u %g' target";

TEST_P(CpReplaceTest, ALocalFileKeepsItsOwnerAndMode) {
  Shell("echo new > f; chmod 644 f");
  Here(fmt::format("echo old > target; chown {}:{} target; chmod 4600 target", kOwner, kGroup));
  EXPECT_EQ(Run({"cp", Url(), "f", Local("target")}).exit_code, 0);
  EXPECT_EQ(Here(kShow), "600 2001 3001\n") << "without the bits that act for its owner";
  EXPECT_EQ(Here("cat target"), "new\n");
  Here("mkdir d; mv target d/f");
  EXPECT_EQ(Run({"cp", "-r", Url(), ".", Local("d")}).exit_code, 0);
  EXPECT_EQ(Here("mv d/f target; " + std::string(kShow)), "600 2001 3001\n");
  EXPECT_EQ(Run({"cp", "-p", Url(), "f", Local("target")}).exit_code, 0);
  EXPECT_EQ(Here(kShow), "644 0 0\n") << "as that of the source";
}

// Whoever is in its group otherwise could read what was for another one.
TEST_P(CpReplaceTest, AGroupThatCannotBeKeptHasNoRightsOfItsOwn) {
  Shell("echo new > f; chmod 644 f");
  Here(fmt::format("mkdir d; chown {} d; cd d; echo old > target; chown {}:{} target;"
                   "chmod 664 target",
                   kOther, kOwner, kGroup));
  EXPECT_EQ(RunAs(kOther, kOtherGroup, {"cp", Url(), "f", Local("d/target")}).exit_code, 0);
  EXPECT_EQ(Here("cd d; " + std::string(kShow)), "644 2002 3002\n");
  Here(fmt::format("cd d; chown {}:{} target; chmod 640 target", kOwner, kGroup));
  EXPECT_EQ(RunAs(kOther, kOtherGroup, {"cp", Url(), "f", Local("d/target")}).exit_code, 0);
  EXPECT_EQ(Here("cd d; " + std::string(kShow)), "600 2002 3002\n");
  // The members of its group were to have less than all others.
  Here(fmt::format("cd d; chown {}:{} target; chmod 604 target", kOwner, kGroup));
  EXPECT_EQ(RunAs(kOther, kOtherGroup, {"cp", Url(), "f", Local("d/target")}).exit_code, 0);
  EXPECT_EQ(Here("cd d; " + std::string(kShow)), "600 2002 3002\n");
  Here(fmt::format("cd d; chown {}:{} target; chmod 640 target", kOwner, kOtherGroup));
  EXPECT_EQ(RunAs(kOther, kOtherGroup, {"cp", Url(), "f", Local("d/target")}).exit_code, 0);
  EXPECT_EQ(Here("cd d; " + std::string(kShow)), "640 2002 3002\n");
}

TEST_P(CpReplaceTest, ALocalFileKeepsItsAcl) {
  Shell("echo new > f; chmod 644 f");
  Here("echo old > target");
  const AccessControlList acl({{ACL_USER_OBJ, 6, kNoId}, {ACL_USER, 4, kOther},
                               {ACL_GROUP_OBJ, 0, kNoId}, {ACL_MASK, 4, kNoId},
                               {ACL_OTHER, 0, kNoId}});
  const std::string target = Local("target");
  if (!acl.Set(target, XATTR_NAME_POSIX_ACL_ACCESS)) GTEST_SKIP() << "no ACLs in " << local_;
  EXPECT_EQ(Run({"cp", Url(), "f", target}).exit_code, 0);
  EXPECT_EQ(Here("cat target"), "new\n");
  std::string kept(acl.bytes().size(), 0);
  ASSERT_EQ(getxattr(target.c_str(), XATTR_NAME_POSIX_ACL_ACCESS, kept.data(), kept.size()),
            static_cast<ssize_t>(kept.size()));
  EXPECT_EQ(kept, acl.bytes());
}

// The default ACL of a directory takes the place of the umask.
TEST_P(CpReplaceTest, ANewLocalFileHasWhatTheDefaultAclLeavesIt) {
  Shell("mkdir tree; echo new > tree/f; chmod 664 tree/f; chmod 555 tree");
  Here("mkdir d; chmod 2775 d; umask 022");
  const AccessControlList acl({{ACL_USER_OBJ, 7, kNoId}, {ACL_USER, 7, kOther},
                               {ACL_GROUP_OBJ, 7, kNoId}, {ACL_MASK, 4, kNoId},
                               {ACL_OTHER, 0, kNoId}});
  if (!acl.Set(Local("d"), XATTR_NAME_POSIX_ACL_DEFAULT)) GTEST_SKIP() << "no ACLs in " << local_;
  EXPECT_EQ(Run({"cp", "-r", Url(), "tree", Local("d/tree")}).exit_code, 0);
  EXPECT_EQ(Run({"cp", Url(), "tree/f", Local("d/f")}).exit_code, 0);
  EXPECT_EQ(Here("cd d; stat -c '%n %a' tree tree/f f"), "tree 2540\ntree/f 640\nf 640\n");
  EXPECT_EQ(Run({"cp", "-p", Url(), "tree/f", Local("d/p")}).exit_code, 0);
  EXPECT_EQ(Here("cd d; stat -c '%n %a' p"), "p 664\n");
  EXPECT_LT(getxattr(Local("d/p").c_str(), XATTR_NAME_POSIX_ACL_ACCESS, nullptr, 0), 0)
      << "-p keeps what the source has, which is none";
}

// The server does the same with what is made there; the umask counts as well.
TEST_P(CpReplaceTest, ANewFileOfAnExportHasWhatTheDefaultAclLeavesIt) {
  Here("mkdir -p tree/d tree/private; chmod 700 tree/private; echo new > tree/f; chmod 664 tree/f;"
       "echo new > tree/d/read; chmod 444 tree/d/read; chmod 555 tree/d; chmod 775 tree");
  Shell("mkdir d; chmod 2775 d");
  const AccessControlList acl({{ACL_USER_OBJ, 7, kNoId}, {ACL_USER, 7, kOther},
                               {ACL_GROUP_OBJ, 7, kNoId}, {ACL_MASK, 5, kNoId},
                               {ACL_OTHER, 0, kNoId}});
  if (!acl.Set(Backing("d"), XATTR_NAME_POSIX_ACL_DEFAULT)) GTEST_SKIP() << "no ACLs on " << root_;
  EXPECT_EQ(Run({"cp", "-r", Local("tree"), Url(), "d/tree"}).exit_code, 0);
  EXPECT_EQ(Run({"cp", Local("tree/f"), Url(), "d/f"}).exit_code, 0);
  EXPECT_EQ(Run({"touch", Url(), "d/touched"}).exit_code, 0);
  EXPECT_EQ(Shell("cd d; stat -c '%n %a' tree tree/f tree/d tree/d/read tree/private f touched"),
            "tree 2750\ntree/f 640\ntree/d 2550\ntree/d/read 440\ntree/private 2700\n"
            "f 640\ntouched 640\n");
  EXPECT_EQ(Run({"cp", "-p", Local("tree/f"), Url(), "d/p"}).exit_code, 0);
  EXPECT_EQ(Shell("cd d; stat -c '%n %a' p"), "p 664\n");
}

// The default ACL of the directory gives no rights to a file that replaces a private one.
TEST_P(CpReplaceTest, ALocalFileWithoutAnAclGetsNone) {
  Shell("echo new > f; chmod 644 f");
  Here("mkdir d; echo old > d/target; chmod 640 d/target");
  const AccessControlList acl({{ACL_USER_OBJ, 7, kNoId}, {ACL_USER, 6, kOther},
                               {ACL_GROUP_OBJ, 7, kNoId}, {ACL_MASK, 7, kNoId},
                               {ACL_OTHER, 5, kNoId}});
  if (!acl.Set(Local("d"), XATTR_NAME_POSIX_ACL_DEFAULT)) GTEST_SKIP() << "no ACLs in " << local_;
  EXPECT_EQ(Run({"cp", Url(), "f", Local("d/target")}).exit_code, 0);
  EXPECT_EQ(Here("cat d/target; stat -c %a d/target"), "new\n640\n");
  EXPECT_LT(getxattr(Local("d/target").c_str(), XATTR_NAME_POSIX_ACL_ACCESS, nullptr, 0), 0);
}

// In a directory that all may write in, another user may have put the name there for that.
TEST_P(CpReplaceTest, APlantedFileGivesItsRightsToNoCopy) {
  Shell("echo secret > f; chmod 600 f");
  Here(fmt::format("mkdir d; chmod 1777 d; echo > d/target; chown {} d/target; chmod 666 d/target",
                   kOther));
  EXPECT_EQ(Run({"cp", Url(), "f", Local("d/target")}).exit_code, 0);
  EXPECT_EQ(Here("cd d; " + std::string(kShow)), "600 0 0\n");
}

TEST_P(CpReplaceTest, AFileOfAnExportKeepsItsOwnerAndMode) {
  Here("echo new > f; chmod 644 f");
  Shell(fmt::format("echo old > target; chown {}:{} target; chmod 4600 target", kOwner, kGroup));
  EXPECT_EQ(Run({"cp", Local("f"), Url(), "target"}).exit_code, 0);
  EXPECT_EQ(Shell(kShow), "600 2001 3001\n");
  EXPECT_EQ(Shell("cat target"), "new\n");
  EXPECT_EQ(Run({"cp", "-p", Local("f"), Url(), "target"}).exit_code, 0);
  EXPECT_EQ(Shell(kShow), "644 0 0\n");
  const Strings as_other{"cp",     "--uid",      "2002", "--gid",
                         "3002",   Local("f"), Url(),  "d/target"};
  Shell(fmt::format("mkdir d; chown {} d; cd d; echo old > target; chown {}:{} target;"
                    "chmod 664 target",
                    kOther, kOwner, kGroup));
  EXPECT_EQ(Run(as_other).exit_code, 0);
  EXPECT_EQ(Shell("cd d; " + std::string(kShow)), "644 2002 3002\n");
  Shell(fmt::format("cd d; chown {}:{} target; chmod 640 target", kOwner, kGroup));
  EXPECT_EQ(Run(as_other).exit_code, 0);
  EXPECT_EQ(Shell("cd d; " + std::string(kShow)), "600 2002 3002\n");
  Shell(fmt::format("cd d; chown {}:{} target; chmod 640 target", kOwner, kOtherGroup));
  EXPECT_EQ(Run(as_other).exit_code, 0);
  EXPECT_EQ(Shell("cd d; " + std::string(kShow)), "640 2002 3002\n");
}

// Whatever fs.protected_symlinks says, which is the machine's.
TEST_P(CpReplaceTest, ALinkThatAnotherUserMayHavePlantedIsNotFollowed) {
  Shell("echo new > f");
  const struct {
    mode_t mode;
    uid_t of_directory;
    uid_t of_link;
    bool follows;
  } rows[] = {{01777, 0, kOwner, false},     {01777, kOther, kOwner, false},
              {01777, kOther, kOther, true}, {01777, kOther, 0, true},
              {01755, 0, kOwner, true},      {00777, 0, kOwner, true}};
  for (const auto& [mode, of_directory, of_link, follows] : rows) {
    SCOPED_TRACE(fmt::format("{:o} {} {}", mode, of_directory, of_link));
    Here(fmt::format("rm -rf *; mkdir shared; echo old > file; ln -s ../file shared/link;"
                     "ln -s shared/link own; chown -h {} shared/link; chown {} shared;"
                     "chmod {:o} shared",
                     of_link, of_directory, mode));
    for (const char* name : {"shared/link", "own"}) {
      const ProgramRun run = Run({"cp", Url(), "f", Local(name)});
      EXPECT_EQ(run.exit_code, follows ? 0 : 1) << run.err;
      EXPECT_EQ(Here("cat file"), follows ? "new\n" : "old\n");
      if (!follows) {
        EXPECT_THAT(run.err, HasSubstr("Permission denied"));
      }
      Here("echo old > file");
    }
  }
}

TEST_P(CpReplaceTest, LinksAreFollowedAsTheKernelDoes) {
  Shell("echo new > f");
  Here("mkdir -p a/b; echo old > a/file; ln -s ../file a/b/first; ln -s a/b/first second;"
       "ln -s \"$PWD/second\" third; ln -s loop loop; ln -s a/none nowhere");
  EXPECT_EQ(Run({"cp", Url(), "f", Local("third")}).exit_code, 0);
  EXPECT_EQ(Here("cat a/file"), "new\n");
  EXPECT_EQ(Here("readlink third second a/b/first | wc -l"), "3\n");
  EXPECT_THAT(Run({"cp", Url(), "f", Local("loop")}).err, HasSubstr("Too many levels"));
  EXPECT_THAT(Run({"cp", Url(), "f", Local("nowhere")}).err, HasSubstr("No such file"));
  EXPECT_EQ(Here("ls a"), "b\nfile\n");
}

}  // namespace
}  // namespace nfswalk
