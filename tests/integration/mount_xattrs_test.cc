// Extended attributes on `nfswalk mount`, by the system calls of xattr(7): of a server in memory
// that has them, and of a mount without the option.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "nfsclient/nfs4/operation_names.h"
#include "tests/fixtures/fake_nfs4.h"
#include "tests/fixtures/libnfs_raw.h"
#include "tests/integration/mount_run.h"

namespace nfswalk {
namespace {

class MountXattrs : public MountRun {
 protected:
  void MountFake(int minor_version, const std::string& options) {
    fake_.Offer({0, 1, 2});
    fake_.Put("f", {.mode = 0644});
    fake_.Put("d", {.type = protocol::FakeNode::Type::kDirectory, .mode = 0755});
    MountUrl(fmt::format("nfs://127.0.0.1/?version=4.{}&port={}", minor_version, fake_.port()),
             options);
  }
  int Set(const std::string& name, const std::string& value, int flags = 0) {
    return ErrorOf(setxattr(At("f").c_str(), name.c_str(), value.data(), value.size(), flags));
  }
  // "errno N" without one.
  std::string Get(const std::string& name, size_t bytes = 70'000) {
    std::string value(bytes, '?');
    const ssize_t size = getxattr(At("f").c_str(), name.c_str(), value.data(), bytes);
    return size < 0 ? "errno " + std::to_string(errno) : value.substr(0, static_cast<size_t>(size));
  }
  std::string List(const std::string& path, size_t bytes = 1000) {
    std::string names(bytes, '?');
    const ssize_t size = listxattr(At(path).c_str(), names.data(), bytes);
    return size < 0 ? "errno " + std::to_string(errno) : names.substr(0, static_cast<size_t>(size));
  }

  protocol::FakeNfs4 fake_;
};

TEST_F(MountXattrs, SystemCallsReachTheServer) {
  MountFake(2, "xattr");
  EXPECT_EQ(Set("user.a", "1"), 0);
  EXPECT_EQ(Set("user.b", std::string(65'536, 'x'), XATTR_CREATE), 0);
  EXPECT_EQ(Set("user.a", "2", XATTR_CREATE), EEXIST);
  EXPECT_EQ(Set("user.c", "2", XATTR_REPLACE), ENODATA);
  EXPECT_EQ(Get("user.a"), "1");
  EXPECT_EQ(Get("user.b"), std::string(65'536, 'x'));
  EXPECT_EQ(Get("user.b", 10), "errno " + std::to_string(ERANGE));
  EXPECT_EQ(getxattr(At("f").c_str(), "user.b", nullptr, 0), 65'536);
  EXPECT_EQ(Get("user.c"), "errno " + std::to_string(ENODATA));
  EXPECT_EQ(List("f"), std::string("user.a\0user.b\0", 14));
  EXPECT_EQ(List("f", 5), "errno " + std::to_string(ERANGE));
  EXPECT_EQ(listxattr(At("f").c_str(), nullptr, 0), 14);
  EXPECT_EQ(List("d"), "");
  EXPECT_EQ(ErrorOf(removexattr(At("f").c_str(), "user.a")), 0);
  EXPECT_EQ(ErrorOf(removexattr(At("f").c_str(), "user.a")), ENODATA);
  EXPECT_EQ(fake_.Find("f")->xattrs.size(), 1u);

  const int file = open(At("f").c_str(), O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(ErrorOf(fsetxattr(file, "user.d", "4", 1, 0)), 0);
  char value = '?';
  EXPECT_EQ(fgetxattr(file, "user.d", &value, 1), 1);
  EXPECT_EQ(value, '4');
  close(file);
}

TEST_F(MountXattrs, NamesOfOthersAreRefusedWithoutTheServer) {
  MountFake(2, "xattr");
  for (const char* name : {"trusted.a", "security.capability", "system.posix_acl_access"}) {
    EXPECT_EQ(Get(name), "errno " + std::to_string(EOPNOTSUPP)) << name;
  }
  EXPECT_EQ(Set("trusted.a", "1"), EOPNOTSUPP);
  EXPECT_EQ(fake_.calls(protocol::kOpGetXattr), 0);
  EXPECT_EQ(fake_.calls(protocol::kOpSetXattr), 0);
}

TEST_F(MountXattrs, AFileSystemWithoutThemListsNone) {
  MountFake(2, "xattr");
  fake_.Inject(protocol::kOpListXattrs, {.status = NFS4ERR_NOTSUPP});
  EXPECT_EQ(List("f"), "");
  EXPECT_EQ(List("f"), "");
  EXPECT_EQ(Set("user.a", "1"), EOPNOTSUPP);
  EXPECT_EQ(fake_.calls(protocol::kOpListXattrs), 1);
}

TEST_F(MountXattrs, AclsAreThereInEachMinorVersion) {
  const std::string acl = protocol::Xdr().U32(1, 0, 0, 1).Bytes("ann@example.org").str();
  fake_.SetAcl("", acl);
  for (const int minor_version : {0, 1, 2}) {
    MountFake(minor_version, "xattr");
    fake_.SetAcl("f", protocol::Xdr().U32(0).str());
    EXPECT_EQ(Set("system.nfs4_acl", acl), 0);
    EXPECT_EQ(Get("system.nfs4_acl"), acl);
    EXPECT_EQ(List("f"), std::string("system.nfs4_acl\0", 16));
    EXPECT_EQ(Set("system.nfs4_acl", "none"), EINVAL);
    EXPECT_EQ(ErrorOf(removexattr(At("f").c_str(), "system.nfs4_acl")), EINVAL);
    EXPECT_EQ(Set("user.a", "1"), minor_version < 2 ? EOPNOTSUPP : 0);
    EXPECT_EQ(Unmount(), 0);
  }
}

// The kernel does without, and asks nothing before it writes.
TEST_F(MountXattrs, AMountWithoutTheOptionHasNone) {
  for (const auto& [minor_version, options] :
       {std::pair(2, "noxattr"), std::pair(2, "hard"), std::pair(1, "xattr")}) {
    SCOPED_TRACE(fmt::format("4.{} {}", minor_version, options));
    MountFake(minor_version, options);
    EXPECT_EQ(Set("user.a", "1"), EOPNOTSUPP);
    EXPECT_EQ(Get("user.a"), "errno " + std::to_string(EOPNOTSUPP));
    EXPECT_EQ(List("f"), "errno " + std::to_string(EOPNOTSUPP));
    EXPECT_EQ(WriteText(At("f"), "text"), 0);
    EXPECT_EQ(Unmount(), 0);
  }
  EXPECT_EQ(fake_.calls(protocol::kOpGetXattr), 0);
}

}  // namespace
}  // namespace nfswalk
