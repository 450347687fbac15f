#include "bench/measure/file_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

#include "bench/measure/owned_fd.h"

namespace nfswalk::bench {
namespace {

TEST(FileTree, DirectoriesAboveAPathAreAddedButNotReplaced) {
  FileTree tree = EmptyTree();
  tree["/a"] = {.type = S_IFDIR, .permissions = 0700};
  AddWithParents(tree, "/a/b/c", {.permissions = 0600});
  AddWithParents(tree, "/a/b/d", {});
  ASSERT_EQ(tree.size(), 5u);
  EXPECT_EQ(tree["/a"].permissions, 0700u);
  EXPECT_EQ(tree["/a/b"].type, static_cast<uint32_t>(S_IFDIR));
  EXPECT_EQ(tree["/a/b/c"].permissions, 0600u);
}

TEST(FileTree, IsMadeWithTypesModesSizesAndLinkTextsWhateverTheUmask) {
  FileTree tree = EmptyTree();
  tree[""].permissions = 01777;
  AddWithParents(tree, "/d/file", {.permissions = 0666, .size_bytes = 5000});
  tree["/d-e"] = {.type = S_IFDIR, .permissions = 02775};
  tree["/d/link"] = {.type = S_IFLNK, .link_text = "../d-e"};
  tree["/d/pipe"] = {.type = S_IFIFO, .permissions = 0622};
  std::string directory = testing::TempDir() + "/tree.XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  const OwnedFd root(open(directory.c_str(), O_RDONLY | O_DIRECTORY));
  const mode_t umask_before = umask(077);
  const Outcome made = MakeLocally(tree, root.get());
  umask(umask_before);
  ASSERT_TRUE(made) << made.error();
  for (const auto& [path, node] : tree) {
    struct stat found;
    ASSERT_EQ(lstat((directory + path).c_str(), &found), 0) << path;
    EXPECT_EQ(found.st_mode & S_IFMT, node.type) << path;
    if (node.type == S_IFLNK) {
      std::array<char, 64> text{};
      ASSERT_GT(readlink((directory + path).c_str(), text.data(), text.size()), 0);
      EXPECT_EQ(node.link_text, text.data());
    } else {
      EXPECT_EQ(found.st_mode & 07777, node.permissions) << path;
    }
    if (node.type == S_IFREG) {
      EXPECT_EQ(static_cast<uint64_t>(found.st_size), node.size_bytes);
    }
  }
}

TEST(FileTree, NameThatCannotBeMadeIsNamed) {
  FileTree tree = EmptyTree();
  tree["/missing/file"] = {};
  std::string directory = testing::TempDir() + "/tree.XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  const OwnedFd root(open(directory.c_str(), O_RDONLY | O_DIRECTORY));
  const Outcome made = MakeLocally(tree, root.get());
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().find("/missing/file"), std::string::npos) << made.error();
}

}  // namespace
}  // namespace nfswalk::bench
