// The rights that `cp -p` gives a copy, by the ACL of its source.
#include "nfsclient/cli/copy/file_acl.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "tests/fixtures/fake_server.h"
#include "tests/fixtures/memory_mount.h"

namespace nfswalk::cli {
namespace {

using protocol::Xdr;

constexpr char kPosix[] = "system.posix_acl_access";
constexpr char kNfs4[] = "system.nfs4_acl";
constexpr std::errc kNotSupported = std::errc::operation_not_supported;

// Entries of a POSIX ACL: tag and rights, as fgetxattr(2) has them.
std::string PosixAcl(const std::vector<std::pair<uint8_t, uint8_t>>& entries) {
  std::string acl("\2\0\0\0", 4);
  for (const auto& [tag, rights] : entries) {
    acl += static_cast<char>(tag);
    acl += '\0';
    acl += static_cast<char>(rights);
    acl += std::string("\0\xd0\7\0\0", 5);
  }
  return acl;
}

std::string Entry(uint32_t mask, const std::string& who) {
  return Xdr().U32(0, 0, mask).Bytes(who).str();
}

class FileAclTest : public MemoryMount {
 protected:
  FileAclTest() {
    Mount();
    session_.emplace(*client_, console_, "cp", CommonOptions());
  }
  XattrSource Source() {
    return {.names = [] { return std::vector<std::string>(); },
            .value = [this](const std::string& name) -> Result<std::string> {
              const auto found = values_.find(name);
              return found != values_.end() ? found->second : std::unexpected(kNotSupported);
            }};
  }
  FileRights Rights() { return RightsOf(*session_, Source(), "f", 01775); }
  // Sets the rights of a copy where setting the ACL ends in `error`. Returns what was set, in
  // order.
  std::string Set(const FileAcl& acl, std::errc error) {
    std::string set;
    const auto set_acl = [&](const std::string& name, const std::string& value) {
      set += name + "=" + value + " ";
      return error;
    };
    const auto set_mode = [&](uint32_t mode) {
      set += std::to_string(mode);
      return std::errc{};
    };
    EXPECT_EQ(SetRights(*session_, {.mode = 600, .acl = acl}, "f", set_acl, set_mode, "to"),
              std::errc{});
    return set;
  }

  const LocalDescriptor messages_{memfd_create("messages", MFD_CLOEXEC)};
  Console console_{{.out_fd = messages_.get(), .err_fd = messages_.get()}, "cp"};
  std::optional<Session> session_;
  std::map<std::string, Result<std::string>> values_;
};

TEST_F(FileAclTest, AFileWithoutOneKeepsItsMode) {
  for (const std::errc error :
       {kNotSupported, std::errc::no_message_available, std::errc::function_not_supported}) {
    values_ = {{kPosix, std::unexpected(error)}, {kNfs4, std::unexpected(error)}};
    EXPECT_EQ(Rights().mode, 01775u);
    EXPECT_FALSE(Rights().acl.has_value());
  }
  EXPECT_EQ(session_->exit_code(), kExitOk);
}

TEST_F(FileAclTest, NoOneGetsMoreThanAPosixAclGivesHim) {
  constexpr uint8_t kUser = 1, kNamed = 2, kGroup = 4, kNamedGroup = 8, kMask = 0x10, kOther = 0x20;
  const std::string of_mode = PosixAcl({{kUser, 7}, {kGroup, 4}, {kOther, 5}});
  const std::pair<std::string, uint32_t> rows[] = {
      {PosixAcl({{kUser, 7}, {kNamed, 7}, {kGroup, 0}, {kMask, 7}, {kOther, 5}}), 01705},
      {PosixAcl({{kUser, 7}, {kNamed, 7}, {kGroup, 5}, {kMask, 7}, {kOther, 5}}), 01755},
      {PosixAcl({{kUser, 7}, {kNamed, 7}, {kGroup, 7}, {kMask, 4}, {kOther, 5}}), 01744},
      {PosixAcl({{kUser, 7}, {kNamed, 0}, {kGroup, 7}, {kMask, 7}, {kOther, 5}}), 01700},
      {PosixAcl({{kUser, 7}, {kNamed, 4}, {kGroup, 7}, {kNamedGroup, 6}, {kMask, 7}, {kOther, 5}}),
       01744},
      {PosixAcl({{kUser, 7}, {kGroup, 7}, {kNamedGroup, 1}, {kMask, 7}, {kOther, 5}}), 01711},
      {of_mode, 01745},
      {PosixAcl({}), 01700},
      {"", 01700},
      {"bytes", 01700},
  };
  for (const auto& [acl, mode] : rows) {
    values_ = {{kPosix, acl}};
    const FileRights rights = Rights();
    EXPECT_EQ(rights.mode, mode) << testing::PrintToString(acl);
    ASSERT_TRUE(rights.acl.has_value());
    EXPECT_EQ(rights.acl->name, kPosix);
    EXPECT_EQ(rights.acl->value, acl);
    EXPECT_EQ(rights.acl->is_as_mode, acl == of_mode);
  }
}

TEST_F(FileAclTest, NoOneGetsMoreThanAnAclOfVersion4GivesHim) {
  const std::string of_mode = Xdr().U32(2).str() + Entry(0x27, "GROUP@") + Entry(0x21, "EVERYONE@");
  const std::string of_user = Xdr().U32(2).str() + Entry(7, "ann") + Entry(1, "GROUP@");
  values_ = {{kNfs4, of_mode}};
  EXPECT_EQ(Rights().mode, 01775u);
  EXPECT_TRUE(Rights().acl->is_as_mode);
  values_ = {{kNfs4, of_user}};
  EXPECT_EQ(Rights().mode, 01740u);
  EXPECT_FALSE(Rights().acl->is_as_mode);
  EXPECT_EQ(Rights().acl->value, of_user);
  values_ = {{kNfs4, std::string("bytes")}};
  EXPECT_EQ(Rights().mode, 01700u);
}

TEST_F(FileAclTest, TheOwnerAloneHasRightsWhereAnAclCannotBeRead) {
  for (const char* const name : {kPosix, kNfs4}) {
    values_ = {{name, std::unexpected(std::errc::permission_denied)}};
    EXPECT_EQ(Rights().mode, 01700u) << name;
    EXPECT_FALSE(Rights().acl.has_value()) << name;
  }
  EXPECT_EQ(session_->exit_code(), kExitPathFailed);
}

TEST_F(FileAclTest, TheAclIsSetOrElseTheMode) {
  const FileAcl as_mode{kNfs4, "acl", true}, more{kNfs4, "acl", false};
  EXPECT_EQ(Set(more, std::errc{}), "system.nfs4_acl=acl ");
  EXPECT_EQ(Set(as_mode, kNotSupported), "system.nfs4_acl=acl 600");
  EXPECT_EQ(session_->exit_code(), kExitOk);
  EXPECT_EQ(Set(more, kNotSupported), "system.nfs4_acl=acl 600");
  EXPECT_EQ(session_->exit_code(), kExitPathFailed);
}

TEST_F(FileAclTest, AnAclThatIsRefusedIsReportedWhateverItSays) {
  EXPECT_EQ(Set(FileAcl{kNfs4, "acl", true}, std::errc::invalid_argument),
            "system.nfs4_acl=acl 600");
  EXPECT_EQ(session_->exit_code(), kExitPathFailed);
}

TEST_F(FileAclTest, ADefaultAclIsReported) {
  ReportDefaultAcl(*session_, Source(), "d", "to");
  EXPECT_EQ(session_->exit_code(), kExitOk);
  values_ = {{"system.posix_acl_default", PosixAcl({{1, 7}})}};
  ReportDefaultAcl(*session_, Source(), "d", "to");
  EXPECT_EQ(session_->exit_code(), kExitPathFailed);
}

}  // namespace
}  // namespace nfswalk::cli
