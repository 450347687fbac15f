// Links that another user has put where all may write: no walk follows one as the last component of
// its path, in RCU-walk as in ref-walk. WALK-30.
#include "nfsclient/nfs/may_follow_link.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <system_error>

#include "rcu/sync_point.h"
#include "tests/exits/exits.h"

namespace nfswalk::exits {
namespace {

constexpr std::errc kAccess = std::errc::permission_denied;
constexpr uint32_t kShared = 01777;

class ProtectedLinks : public Exits {
 protected:
  // The mode and owner of "d", and the owner of the link "d/l" in it.
  void Own(uint32_t mode, uint32_t directory_uid, uint32_t link_uid) {
    server_->Edit(kD, [&](Attributes& attributes) {
      attributes.mode = mode;
      attributes.uid = directory_uid;
    });
    server_->Edit(kDL, [&](Attributes& attributes) { attributes.uid = link_uid; });
  }
  // Expects the answer with empty caches, and again with full ones of each pass.
  void ExpectAnswer(const Question& question, std::errc error) {
    client_->DropCaches();
    EXPECT_EQ(Ask(*client_, question).error, error) << "cold";
    Warm(question);
    Answered(question, error);
  }
};

TEST_F(ProtectedLinks, TheOwnersOfLinkAndDirectoryDecide) {
  const Credential root(0, 0), me(1, 1), nobody;
  const struct {
    uint32_t mode, directory_uid, link_uid;
    const Credential& who;
    std::errc error;
  } rows[] = {
      {kShared, 0, 1, me, kOk},      // his own
      {kShared, 0, 2, me, kAccess},
      {kShared, 0, 2, root, kAccess},
      {kShared, 2, 2, me, kOk},  // the directory's owner's
      {kShared, 0, 0, me, kOk},
      {kShared, 1, 2, me, kAccess},     // his own directory does not help
      {kShared, 3, 0, nobody, kAccess},  // is not uid 0
      {kShared, 0, 0, nobody, kOk},
      {01003, 0, 2, me, kAccess},
      {0777, 0, 2, me, kOk},  // whoever may write there may as well exchange the file
      {01775, 0, 2, me, kOk},
      {01755, 0, 2, me, kOk},
  };
  for (const WalkMode mode :
       {WalkMode::kRcuLocked, WalkMode::kRcuPeek, WalkMode::kRcuSearch}) {
    options_.walk = mode;
    MountAnew();
    for (const auto& row : rows) {
      SCOPED_TRACE(testing::Message() << std::oct << row.mode << std::dec << ", of "
                                      << row.directory_uid << " and " << row.link_uid << ", for "
                                      << row.who.uid() << ", " << WalkModeName(mode));
      Own(row.mode, row.directory_uid, row.link_uid);
      Question question = StatOf("d/l");
      question.credential = row.who;
      ExpectAnswer(question, row.error);
      question.flags.strict = true;
      ExpectAnswer(question, row.error);
    }
  }
}

// The last component, with slashes behind it, and that of the text of such a link; as in the
// kernel, where whoever puts a link into the middle of a path could as well put a directory there.
TEST_F(ProtectedLinks, OnlyTheLastComponentIsProtected) {
  const uint64_t to_s = server_->Add(kD, "to_s", FileType::kSymlink, "s");
  server_->Edit(to_s, [](Attributes& attributes) { attributes.uid = 2; });
  server_->Add(kDS, "g", FileType::kRegular);
  server_->Add(kRoot, "far", FileType::kSymlink, "d/to_s");
  server_->Add(kRoot, "far_slash", FileType::kSymlink, "d/to_s/");
  server_->Add(kDS, "back", FileType::kSymlink, "../l");
  Own(kShared, 0, 2);
  const struct {
    const char* path;
    std::errc error;
  } rows[] = {
      {"d/to_s", kAccess},     {"d/to_s/", kAccess},     {"d/to_s//", kAccess},
      {"d/to_s/.", kOk},       {"d/to_s/..", kOk},       {"d/to_s/g", kOk},
      {"d/to_s/n", kNoEntry},  {"d/to_s/back", kAccess}, {"far", kAccess},
      {"far/", kAccess},       {"far/g", kOk},           {"far_slash", kAccess},
      {"far_slash/.", kOk},    {"d/s", kOk},             {"d/f", kOk},
  };
  Mount();
  for (const auto& row : rows) {
    SCOPED_TRACE(row.path);
    ExpectAnswer(StatOf(row.path), row.error);
  }
  ExpectAnswer(StatOfLink("d/to_s"), kOk);
  ExpectAnswer(StatOfLink("d/to_s/"), kAccess);
  ExpectAnswer(TextOf("d/to_s"), kOk);
  ExpectAnswer(AccessTo("d/l", kMayRead), kAccess);
}

// It is asked before whether links are followed at all.
TEST_F(ProtectedLinks, ACallThatFollowsNoLinksIsDeniedTheSame) {
  constexpr std::errc kLoop = std::errc::too_many_symbolic_link_levels;
  const struct {
    const char* path;
    uint32_t link_uid;
    std::errc error;
  } rows[] = {{"d/l", 2, kAccess}, {"d/l//", 2, kAccess}, {"d/l/.", 2, kLoop}, {"d/l", 1, kLoop}};
  for (const WalkMode mode : {WalkMode::kRcuLocked, WalkMode::kRcuPeek, WalkMode::kRcuSearch}) {
    options_.walk = mode;
    MountAnew();
    for (const auto& row : rows) {
      SCOPED_TRACE(testing::Message() << row.path << " of " << row.link_uid);
      Own(kShared, 0, row.link_uid);
      Question question = StatOf(row.path);
      question.flags.no_symlinks = true;
      ExpectAnswer(question, row.error);
      question.flags.strict = true;
      ExpectAnswer(question, row.error);
    }
  }
}

// It is not told where the link leads, nor whether anything is there.
TEST_F(ProtectedLinks, ALinkToNowhereIsDeniedTheSame) {
  server_->SetTarget(kDL, "none");
  Own(kShared, 0, 2);
  Mount();
  ExpectAnswer(StatOf("d/l"), kAccess);
  EXPECT_EQ(client_->Create("d/l", 0644, false, me_).error(), kAccess);
  EXPECT_EQ(client_->Stat("d/none", me_).error(), kNoEntry);
  EXPECT_EQ(client_->Create("d/l", 0644, true, me_).error(), std::errc::file_exists);
}

TEST_F(ProtectedLinks, CallsThatWorkOnAReferenceAreDeniedToo) {
  Own(kShared, 0, 2);
  for (const WalkMode mode : {WalkMode::kRef, WalkMode::kRcuSearch}) {
    options_.walk = mode;
    for (const bool by_name : {false, true}) {
      SCOPED_TRACE(testing::Message() << WalkModeName(mode) << (by_name ? ", by name" : ""));
      MountAnew();
      Own(kShared, 0, 2);
      if (by_name) server_->OpenByName();
      for (int warm = 0; warm < 2; ++warm) {
        EXPECT_EQ(client_->Open("d/l", kMayRead, me_).error(), kAccess);
        EXPECT_EQ(client_->Create("d/l", 0644, false, me_).error(), kAccess);
        EXPECT_EQ(client_->CreateAndOpen("d/l", kMayWrite, 0644, false, me_).error(), kAccess);
        EXPECT_EQ(client_->SetAttributesOf("d/l", {.mode = 0600}, me_).error(), kAccess);
        EXPECT_EQ(client_->Resolve("d/l", me_).error(), kAccess);
        EXPECT_EQ(client_->GetSpace("d/l", me_).error(), kAccess);
        EXPECT_EQ(client_->OpenDirectory("d/l", me_).error(), kAccess);
      }
      // These are about the link itself.
      EXPECT_TRUE(client_->SetAttributesOf("d/l", {.mode = 0600}, me_, {.no_follow = true}));
      EXPECT_EQ(client_->Rename("d/l", "d/other", me_), kOk);
      EXPECT_EQ(client_->Unlink("d/other", me_), kOk);
    }
  }
}

TEST_F(ProtectedLinks, AMountMayFollowThem) {
  options_.protected_symlinks = false;
  Own(kShared, 0, 2);
  Mount();
  ExpectAnswer(StatOf("d/l"), kOk);
}

// Directory and link as they are by now, though the walk to them is cached.
TEST_F(ProtectedLinks, AChangeOfOwnerOrModeCountsAtOnce) {
  Own(0755, 0, 2);
  Mount();
  Warm(StatOf("d/l"));
  for (int i = 0; i < 4; ++i) Answered(StatOf("d/l"));  // the prefix is cached
  Own(kShared, 0, 2);
  Notice("d");
  Warm(StatOf("d/f"));
  EXPECT_EQ(Ask(*client_, StatOf("d/l")).error, kAccess);
  Answered(StatOf("d/l"), kAccess);
  Own(kShared, 0, 1);
  InvalidateAttributes("d/l");
  Warm(StatOf("d/l"));
  Answered(StatOf("d/l"));
}

#ifndef NDEBUG
// A denial is compared like a success: the link, or its directory, has moved. WALK-8.
TEST_F(ProtectedLinks, ADenialIsConfirmed) {
  const struct {
    const char *point, *moved;
  } rows[] = {{"walk:after-link-text", "d/l"}, {"walk:before-confirm", "d"}};
  for (const auto& row : rows) {
    SCOPED_TRACE(row.point);
    MountAnew();
    Own(kShared, 0, 2);
    Warm(StatOf("d/l"));
    reached_ = false;
    At(row.point, 1, [&] { Rename(row.moved, "moved"); });
    EXPECT_EQ(AskRcu(*client_, StatOf("d/l")).need, NeedRef::kChanged);
    EXPECT_TRUE(reached_);
  }
}
#endif

}  // namespace
}  // namespace nfswalk::exits
