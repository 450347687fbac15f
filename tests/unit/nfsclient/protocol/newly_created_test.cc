#include "nfsclient/protocol/newly_created.h"

#include <gtest/gtest.h>

namespace nfswalk::protocol {
namespace {

using sunrpc_auth::Credential;

const Credential kUser(1000, 100);
const SetAttributes kMode{.mode = 0640};

TEST(LooksNewlyCreated, ChecksTypeOwnerModeLinksAndSize) {
  Attributes file;
  file.mode = 0640;
  file.nlink = 1;
  file.uid = 1000;
  EXPECT_TRUE(LooksNewlyCreated(file, FileType::kRegular, kMode, kUser));
  EXPECT_FALSE(LooksNewlyCreated(file, FileType::kDirectory, kMode, kUser));
  EXPECT_FALSE(LooksNewlyCreated(file, FileType::kRegular, kMode, Credential(2000, 100)));
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
