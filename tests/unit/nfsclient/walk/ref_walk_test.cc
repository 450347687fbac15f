// Ref-walk alone: the parent directory and last component of a change, and the calls of a forced
// revalidation.
#include "nfsclient/walk/ref_walk.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <system_error>

#include "tests/exits/exits.h"

namespace nfswalk::exits {
namespace {

using LastKind = walk::RefWalk::LastKind;

class RefWalk : public Exits {
 protected:
  std::errc ResolveParent(const std::string& path,
                          const std::function<void(walk::RefWalk&)>& finish) {
    return ResolveRef(superblock(), path, me_, {.follow_last = false},
                      &walk::RefWalk::ResolveParent, [&](walk::RefWalk& walk) {
                        finish(walk);
                        return kOk;
                      });
  }
  std::errc Resolve(const std::string& path, walk::Revalidation revalidation) {
    walk::PathBuffer buffer;
    EXPECT_EQ(buffer.Assign(path), kOk);
    const auto credential = superblock().credentials.Lookup(me_);
    const walk::WalkStart start = walk::AtRoot(superblock());
    const walk::WalkFlags flags;
    walk::RefWalk walk(superblock(), start, buffer, *credential, flags, revalidation);
    walk.Start();
    return walk.Resolve();
  }
};

TEST_F(RefWalk, AllButTheLastComponentIsResolvedForAChange) {
  struct Row {
    const char* path;
    uint64_t parent;
    LastKind kind;
    const char* last;  // of kName
    bool trailing_slash = false;
  };
  const Row rows[] = {
      {"n", kRoot, LastKind::kName, "n"},     {"/n", kRoot, LastKind::kName, "n"},
      {"d/f", kD, LastKind::kName, "f"},      {"d//n//", kD, LastKind::kName, "n", true},
      {"d/l", kD, LastKind::kName, "l"},  // a final link is not followed
      {"d/s/../n", kD, LastKind::kName, "n"}, {"to_d/n", kD, LastKind::kName, "n"},
      {"d/.", kD, LastKind::kDot, ""},        {"d/s/..", kDS, LastKind::kDotDot, ""},
      {".", kRoot, LastKind::kDot, ""},       {"..", kRoot, LastKind::kDotDot, ""},
      {"/", kRoot, LastKind::kRoot, ""},      {"///", kRoot, LastKind::kRoot, ""},
  };
  server_->Add(kRoot, "to_d", FileType::kSymlink, "d");
  Mount();
  for (const Row& row : rows) {
    SCOPED_TRACE(row.path);
    EXPECT_EQ(ResolveParent(row.path,
                            [&](walk::RefWalk& walk) {
                              EXPECT_EQ(walk.inode().fileid, row.parent);
                              EXPECT_EQ(walk.last_kind(), row.kind);
                              if (row.kind != LastKind::kName) return;
                              EXPECT_EQ(walk.last(), row.last);
                              EXPECT_EQ(walk.trailing_slash(), row.trailing_slash);
                            }),
              kOk);
  }
  const auto not_reached = [](walk::RefWalk&) { FAIL(); };
  EXPECT_EQ(ResolveParent("none/n", not_reached), kNoEntry);
  EXPECT_EQ(ResolveParent("d/f/n", not_reached), std::errc::not_a_directory);
}

TEST_F(RefWalk, AForcedWalkAsksForEveryNameAndAnotherForNone) {
  Mount();
  Warm(StatOf("d/l"));
  EXPECT_EQ(Resolve("d/l", walk::Revalidation::kAsNeeded), kOk);
  EXPECT_EQ(TakeCalls(), Calls{});
  EXPECT_EQ(Resolve("d/l", walk::Revalidation::kForced), kOk);
  EXPECT_EQ(TakeCalls(), (Calls{"LOOKUP d", "LOOKUP l", "LOOKUP f"}));
}

}  // namespace
}  // namespace nfswalk::exits
