// `nfswalk mount`: changes of others become visible, behind the kernel's caches, too.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <string>

#include "tests/integration/mount_run.h"

namespace nfswalk {
namespace {

using std::filesystem::directory_iterator;

class MountChangesTest : public MountRun {
 protected:
  int StatError(const std::string& name) const {
    struct stat found{};
    return ErrorOf(lstat(At(name).c_str(), &found));
  }
  // Holds what the mount says of the names that ChangeBehindIt() changes.
  struct Seen {
    bool operator==(const Seen&) const = default;
    std::string text;
    int negative = -1;
    int removed = -1;
    int renamed_from = -1;
    int renamed_to = -1;
    long listed = -1;
  };
  Seen Look() const {
    return {.text = TextOf(At("f")),
            .negative = StatError("negative"),
            .removed = StatError("removed"),
            .renamed_from = StatError("old/sub/file"),
            .renamed_to = StatError("new/sub/file"),
            .listed = std::distance(directory_iterator(At("d")), directory_iterator())};
  }
  void Prepare() const {
    Shell("echo a >f; touch removed; mkdir -p old/sub d; touch old/sub/file");
  }
  void ChangeBehindIt() const {
    Shell("echo longer >f; touch negative; rm removed; mv old new; touch d/1 d/2");
  }
  static inline const Seen kBefore{"a\n", ENOENT, 0, 0, ENOENT, 0};
  static inline const Seen kAfter{"longer\n", 0, ENOENT, ENOENT, 0, 2};
};

TEST_P(MountChangesTest, AreSeenOnceTheTimeoutsHaveExpired) {
  Prepare();
  Mount("actimeo=1");
  EXPECT_EQ(Look(), kBefore);
  ChangeBehindIt();
  EXPECT_TRUE(Eventually([&] { return Look() == kAfter; }));
}

TEST_P(MountChangesTest, AreSeenAtOnceWithNoac) {
  Prepare();
  Mount("noac");
  EXPECT_EQ(Look(), kBefore);
  ChangeBehindIt();
  EXPECT_EQ(Look(), kAfter);
}

// Close-to-open: whoever opens a file has what was closed before.
TEST_P(MountChangesTest, AreSeenByOpenWithinTheTimeouts) {
  Prepare();
  Mount("actimeo=600");
  EXPECT_EQ(Look(), kBefore);
  // Each text has another size, since two changes may have one time.
  for (size_t size = 10; size < 100; ++size) {
    const std::string text(size, static_cast<char>('a' + size % 26));
    File("f", text);
    ASSERT_EQ(TextOf(At("f")), text);
  }
  // The open notifies the kernel of what it has found.
  File("f", "other\n");
  EXPECT_EQ(TextOf(At("f")), "other\n");
  EXPECT_TRUE(Eventually([&] { return StatOf(At("f")).st_size == 6; }));
}

TEST_P(MountChangesTest, ChangesOfAnOpenFileAreSeenAfterItsTimeouts) {
  const std::map<std::string, int> flags_of = {
      {"opened", O_RDONLY},  // its attributes come with GETATTR
      {"found", O_PATH},     // with LOOKUP
  };
  for (const auto& [name, flags] : flags_of) File(name, "text");
  Mount("actimeo=1");
  for (const auto& [name, flags] : flags_of) {
    const Descriptor file(open(At(name).c_str(), flags | O_CLOEXEC));
    const auto size = [&] {
      struct stat found{};
      EXPECT_EQ(fstat(file.fd, &found), 0);
      return found.st_size;
    };
    EXPECT_EQ(size(), 4);
    File(name, "longer text");
    EXPECT_TRUE(Eventually([&] { return size() == 11; })) << name;
  }
}

TEST_P(MountChangesTest, NamesAndAttributesStayWithinTheTimeouts) {
  Prepare();
  Mount("actimeo=600,nocto");
  EXPECT_EQ(Look(), kBefore);
  Shell("echo other >f; touch negative");
  EXPECT_EQ(StatError("negative"), ENOENT);
  EXPECT_EQ(StatOf(At("f")).st_size, 2);
}

// The kernel's caches follow what is changed on the mount itself.
TEST_P(MountChangesTest, OwnChangesAreSeenAtOnce) {
  Prepare();
  Mount("actimeo=600");
  EXPECT_EQ(Look(), kBefore);
  EXPECT_EQ(WriteText(At("f"), "longer\n"), 0);
  EXPECT_EQ(WriteText(At("negative"), ""), 0);
  EXPECT_EQ(unlink(At("removed").c_str()), 0);
  EXPECT_EQ(rename(At("old").c_str(), At("new").c_str()), 0);
  EXPECT_EQ(mkdir(At("d/1").c_str(), 0755), 0);
  EXPECT_EQ(symlink("1", At("d/2").c_str()), 0);
  EXPECT_EQ(Look(), kAfter);
}

// Two clients of one server, each with its caches.
TEST_P(MountChangesTest, ChangesByTheCommandAreSeen) {
  Prepare();
  Mount("actimeo=1");
  EXPECT_EQ(Look(), kBefore);
  EXPECT_EQ(Run({"mv", Url(), "old", "new"}).exit_code, 0);
  EXPECT_EQ(Run({"rm", Url(), "removed"}).exit_code, 0);
  EXPECT_TRUE(Eventually([&] {
    const Seen seen = Look();
    return seen.removed == ENOENT && seen.renamed_from == ENOENT && seen.renamed_to == 0;
  }));
}

INSTANTIATE_TEST_SUITE_P(Versions, MountChangesTest, fixtures::AllVersions(),
                         fixtures::VersionTestName);

}  // namespace
}  // namespace nfswalk
