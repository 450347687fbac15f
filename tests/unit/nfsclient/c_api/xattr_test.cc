// Extended attributes of the C API: sizes, places that are too small, and arguments that are none.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "nfsclient/c_api/nfswalk.h"
#include "tests/fixtures/fake_nfs4.h"

namespace nfswalk {
namespace {

class XattrCApi : public testing::Test {
 protected:
  XattrCApi() {
    server_.Offer({0, 1, 2});
    server_.Put("f", {.mode = 0666});
    const std::string url = "nfs://127.0.0.1/?version=4.2&port=" + std::to_string(server_.port());
    char why[200] = "";
    EXPECT_EQ(nfswalk_mount(url.c_str(), &client_, why, sizeof why), 0) << why;
    EXPECT_EQ(nfswalk_resolve(client_, "f", nullptr, 0, &node_), 0);
  }
  ~XattrCApi() override {
    nfswalk_node_release(node_);
    nfswalk_unmount(client_);
  }

  protocol::FakeNfs4 server_;
  nfswalk_client* client_ = nullptr;
  nfswalk_node* node_ = nullptr;
  char room_[64] = {};
};

TEST_F(XattrCApi, EachCallHasItsResult) {
  EXPECT_EQ(nfswalk_setxattr(client_, "f", "user.a", "one", 3, 0, nullptr, 0), 0);
  EXPECT_EQ(nfswalk_setxattr_at(node_, "", "user.bc", nullptr, 0, NFSWALK_XATTR_CREATE, nullptr, 0),
            0);
  EXPECT_EQ(nfswalk_setxattr(client_, "f", "user.a", "", 0, NFSWALK_XATTR_CREATE, nullptr, 0),
            -EEXIST);
  EXPECT_EQ(nfswalk_setxattr(client_, "f", "user.d", "", 0, NFSWALK_XATTR_REPLACE, nullptr, 0),
            -ENODATA);
  EXPECT_EQ(nfswalk_getxattr(client_, "f", "user.a", room_, sizeof room_, nullptr, 0), 3);
  EXPECT_EQ(std::string(room_, 3), "one");
  EXPECT_EQ(nfswalk_getxattr_at(node_, "", "user.a", nullptr, 0, nullptr, 0), 3);
  EXPECT_EQ(nfswalk_getxattr_at(node_, "", "user.a", room_, 2, nullptr, 0), -ERANGE);
  EXPECT_EQ(nfswalk_getxattr_at(node_, "", "user.bc", room_, 1, nullptr, 0), 0);
  EXPECT_EQ(nfswalk_listxattr(client_, "f", room_, sizeof room_, nullptr, 0), 15);
  EXPECT_EQ(std::string(room_, 15), std::string("user.a\0user.bc\0", 15));
  EXPECT_EQ(nfswalk_listxattr_at(node_, "", nullptr, 0, nullptr, 0), 15);
  EXPECT_EQ(nfswalk_listxattr_at(node_, "", room_, 14, nullptr, 0), -ERANGE);
  EXPECT_EQ(nfswalk_removexattr(client_, "f", "user.a", nullptr, 0), 0);
  EXPECT_EQ(nfswalk_removexattr_at(node_, "", "user.a", nullptr, 0), -ENODATA);
}

TEST_F(XattrCApi, BadArgumentsAreErrors) {
  EXPECT_EQ(nfswalk_getxattr(nullptr, "f", "user.a", room_, 1, nullptr, 0), -EFAULT);
  EXPECT_EQ(nfswalk_getxattr(client_, nullptr, "user.a", room_, 1, nullptr, 0), -EFAULT);
  EXPECT_EQ(nfswalk_getxattr(client_, "f", nullptr, room_, 1, nullptr, 0), -EFAULT);
  EXPECT_EQ(nfswalk_getxattr(client_, "f", "user.a", nullptr, 1, nullptr, 0), -EFAULT);
  EXPECT_EQ(nfswalk_getxattr(client_, "f", "user.a", room_, 1, nullptr, ~0u), -EINVAL);
  EXPECT_EQ(nfswalk_listxattr(nullptr, "f", room_, 1, nullptr, 0), -EFAULT);
  EXPECT_EQ(nfswalk_listxattr(client_, nullptr, room_, 1, nullptr, 0), -EFAULT);
  EXPECT_EQ(nfswalk_listxattr(client_, "f", nullptr, 1, nullptr, 0), -EFAULT);
  EXPECT_EQ(nfswalk_listxattr(client_, "f", room_, 1, nullptr, ~0u), -EINVAL);
  EXPECT_EQ(nfswalk_setxattr(nullptr, "f", "user.a", "", 0, 0, nullptr, 0), -EFAULT);
  EXPECT_EQ(nfswalk_setxattr(client_, nullptr, "user.a", "", 0, 0, nullptr, 0), -EFAULT);
  EXPECT_EQ(nfswalk_setxattr(client_, "f", nullptr, "", 0, 0, nullptr, 0), -EFAULT);
  EXPECT_EQ(nfswalk_setxattr(client_, "f", "user.a", nullptr, 1, 0, nullptr, 0), -EFAULT);
  EXPECT_EQ(nfswalk_setxattr(client_, "f", "user.a", "", 0, 3, nullptr, 0), -EINVAL);
  EXPECT_EQ(nfswalk_setxattr(client_, "f", "user.a", "", 0, 0, nullptr, ~0u), -EINVAL);
  EXPECT_EQ(nfswalk_removexattr(nullptr, "f", "user.a", nullptr, 0), -EFAULT);
  EXPECT_EQ(nfswalk_removexattr(client_, nullptr, "user.a", nullptr, 0), -EFAULT);
  EXPECT_EQ(nfswalk_removexattr(client_, "f", nullptr, nullptr, 0), -EFAULT);
  EXPECT_EQ(nfswalk_removexattr(client_, "f", "user.a", nullptr, ~0u), -EINVAL);
  EXPECT_EQ(nfswalk_setxattr(client_, "f", "trusted.a", "", 0, 0, nullptr, 0), -EOPNOTSUPP);
  EXPECT_EQ(nfswalk_getxattr(client_, "none", "user.a", room_, 1, nullptr, 0), -ENOENT);
}

}  // namespace
}  // namespace nfswalk
