// Files that another user has put where all may write: no call that creates takes one for its own,
// nor cuts it. WALK-31.
#include "nfsclient/nfs/may_create_in_sticky.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <system_error>

#include "rcu/sync_point.h"
#include "tests/exits/exits.h"

namespace nfswalk::exits {
namespace {

constexpr std::errc kAccess = std::errc::permission_denied;
constexpr std::errc kExists = std::errc::file_exists;
constexpr uint32_t kShared = 01777;
constexpr uint64_t kBytes = 5;

class ProtectedFiles : public Exits {
 protected:
  // The mode and owner of "d", and the owner of the file "d/f" in it, which has data.
  void Own(uint32_t mode, uint32_t directory_uid, uint32_t file_uid) {
    server_->Edit(kD, [&](Attributes& attributes) {
      attributes.mode = mode;
      attributes.uid = directory_uid;
    });
    server_->Edit(kDF, [&](Attributes& attributes) {
      attributes.uid = file_uid;
      attributes.size_bytes = kBytes;
    });
  }
  void ExpectUncut() {
    client_->DropCaches();
    EXPECT_EQ(client_->Stat("d/f", me_)->size_bytes, kBytes);
  }
  // Each call that creates, without and with what is cached of the name.
  void ExpectAnswer(const Credential& who, std::errc error) {
    client_->DropCaches();
    for (int warm = 0; warm < 2; ++warm) {
      SCOPED_TRACE(warm == 0 ? "cold" : "warm");
      const auto created = client_->Create("d/f", 0644, false, who);
      EXPECT_EQ(created ? kOk : created.error(), error);
      const auto opened = client_->CreateAndOpen("d/f", kMayWrite, 0644, false, who);
      EXPECT_EQ(opened ? kOk : opened.error(), error);
      const auto read = client_->CreateAndOpen("d/f", kMayRead, 0644, false, who);
      EXPECT_EQ(read ? kOk : read.error(), error);
      if (error != kOk) {
        EXPECT_EQ(client_->CreateAndOpen("d/f", kMayWrite | kTruncate, 0644, false, who).error(),
                  error);
      }
      // These do not take it for their own.
      EXPECT_TRUE(client_->Open("d/f", kMayWrite, who));
      EXPECT_EQ(client_->Create("d/f", 0644, true, who).error(), kExists);
      EXPECT_EQ(client_->CreateAndOpen("d/f", kMayWrite, 0644, true, who).error(), kExists);
    }
    ExpectUncut();
  }
};

TEST_F(ProtectedFiles, TheOwnersOfFileAndDirectoryDecide) {
  const Credential root(0, 0), me(1, 1), nobody;
  const struct {
    uint32_t mode, directory_uid, file_uid;
    const Credential& who;
    std::errc error;
  } rows[] = {
      {kShared, 0, 1, me, kOk},  // his own
      {kShared, 0, 2, me, kAccess},
      {kShared, 0, 2, root, kAccess},
      {kShared, 2, 2, me, kOk},          // the directory's owner's
      {kShared, 1, 2, me, kAccess},      // his own directory does not help
      {kShared, 3, 0, nobody, kAccess},  // is not uid 0
      {kShared, 0, 0, nobody, kOk},
      {01003, 0, 2, me, kAccess},
      {0777, 0, 2, me, kOk},  // whoever may write there may as well exchange the file
      {01775, 0, 2, me, kOk},
      {01755, 0, 2, me, kOk},
  };
  for (const bool by_name : {false, true}) {
    MountAnew();
    if (by_name) server_->OpenByName();
    for (const auto& row : rows) {
      SCOPED_TRACE(testing::Message()
                   << std::oct << row.mode << std::dec << ", of " << row.directory_uid << " and "
                   << row.file_uid << ", for " << row.who.uid() << (by_name ? ", by name" : ""));
      Own(row.mode, row.directory_uid, row.file_uid);
      ExpectAnswer(row.who, row.error);
    }
  }
}

// Files that the caches hold as missing, or do not know, may have come since: the server is not
// asked to accept an existing file.
TEST_F(ProtectedFiles, AFileThatHasJustComeIsNotTaken) {
  for (const bool by_name : {false, true}) {
    for (const bool cached : {false, true}) {
      SCOPED_TRACE(testing::Message() << (by_name ? "by name" : "by handle")
                                      << (cached ? ", known to be missing" : ""));
      MountAnew();
      if (by_name) server_->OpenByName();
      Own(kShared, 0, 2);
      for (const char* const name : {"created", "opened", "cut"}) {
        if (cached) (void)client_->Stat(std::string("d/") + name, me_);
        const uint64_t id = server_->Add(kD, name, FileType::kRegular);
        server_->Edit(id, [](Attributes& attributes) { attributes.uid = 2; });
      }
      EXPECT_EQ(client_->Create("d/created", 0644, false, me_).error(), kAccess);
      EXPECT_EQ(client_->CreateAndOpen("d/opened", kMayWrite, 0644, false, me_).error(), kAccess);
      EXPECT_EQ(client_->CreateAndOpen("d/cut", kMayWrite | kTruncate, 0644, false, me_).error(),
                kAccess);
      EXPECT_TRUE(client_->CreateAndOpen("d/new", kMayWrite, 0644, false, me_));
    }
  }
}

// A link of the directory's owner leads to it: its own directory counts.
TEST_F(ProtectedFiles, TheDirectoryIsThatOfTheFile) {
  Own(kShared, 0, 2);
  server_->Add(kRoot, "link", FileType::kSymlink, "d/f");
  Mount();
  EXPECT_EQ(client_->Create("link", 0644, false, me_).error(), kAccess);
  EXPECT_EQ(client_->CreateAndOpen("link", kMayWrite, 0644, false, me_).error(), kAccess);
  EXPECT_EQ(client_->CreateAndOpen("d/s/..", kMayRead, 0644, false, me_).error(),
            std::errc::is_a_directory);
}

TEST_F(ProtectedFiles, AMountMayTakeThem) {
  options_.protected_regular = false;
  Own(kShared, 0, 2);
  Mount();
  ExpectAnswer(me_, kOk);
}

}  // namespace
}  // namespace nfswalk::exits
