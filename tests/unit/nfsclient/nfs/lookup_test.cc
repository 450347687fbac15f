// Lookup of a name in a directory, by the dentry cache or by the server.
#include "nfsclient/nfs/lookup.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <semaphore>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "nfsclient/nfs/prime.h"
#include "nfsclient/vfs/name.h"
#include "tests/exits/exits.h"

namespace nfswalk::exits {
namespace {

class Lookup : public Exits {
 protected:
  // The file id, 0 of a negative dentry, or an error.
  uint64_t Child(std::string_view name, nfs::LookupIntent intent = nfs::LookupIntent::kWalk) {
    vfs::DentryRef root = superblock().root.Copy();
    const std::string padded = std::string(name) + std::string(vfs::kNamePadding, '\0');
    const vfs::Name key = vfs::ScanName(padded.data(), root.get());
    auto child = nfs::LookupChild(superblock(), root, key, me_, intent);
    if (!child) return Failed(child.error());
    return child->inode() == nullptr ? 0 : child->inode()->fileid;
  }
};

TEST_F(Lookup, ANameIsAskedForOnceUnlessForced) {
  Mount();
  for (const auto& [name, answer] : {std::pair{"d", kD}, {"none", uint64_t{0}}}) {
    EXPECT_EQ(Rpcs([&] { EXPECT_EQ(Child(name), answer); }), 1u);
    EXPECT_EQ(Rpcs([&] { EXPECT_EQ(Child(name), answer); }), 0u);
    EXPECT_EQ(Rpcs([&] { EXPECT_EQ(Child(name, nfs::LookupIntent::kForce), answer); }), 1u);
  }
}

TEST_F(Lookup, ANameLongerThanTheServerAllowsIsNotAskedFor) {
  Mount();
  EXPECT_EQ(
      Rpcs([&] { EXPECT_EQ(Child(std::string(256, 'n')), Failed(std::errc::filename_too_long)); }),
      0u);
  EXPECT_EQ(Child(std::string(255, 'n')), 0u);
}

TEST_F(Lookup, AnErrorOfTheServerIsReportedAndNotCached) {
  Mount();
  protocol_->FailOnce("LOOKUP", kEio);
  EXPECT_EQ(Child("d"), Failed(kEio));
  EXPECT_EQ(Child("d"), kD);
}

// NAME-9. An answer that another thread was given before the call is none without a cache.
TEST_F(Lookup, NameFoundByAnotherThreadIsRevalidated) {
  options_.acregmin_s = options_.acregmax_s = options_.acdirmin_s = options_.acdirmax_s = 0;
  MountAnew();
  std::binary_semaphore asked(0), missed(0);
  std::atomic<bool> is_first{true};
  on_reply_ = [&](const fixtures::Call& call) {
    if (call.procedure != "LOOKUP" || !is_first.exchange(false)) return;
    asked.release();
    missed.acquire();
  };
  std::jthread other([&] { EXPECT_EQ(Child("d"), kD); });
  asked.acquire();
  server_->Take(kRoot, "d");
  OnceAt("lookup:missed", [&] {
    missed.release();
    other.join();
  });
  EXPECT_EQ(Child("d"), 0U);
  EXPECT_FALSE(other.joinable());
}

// NAME-12. The server need not send attributes of the directory, which would show the change.
TEST_F(Lookup, RepliesThatContradictEachOtherAreNotKept) {
  Mount();
  const auto list = [this](std::string_view name) {
    vfs::DentryRef root = superblock().root.Copy();
    const std::string padded = std::string(name) + std::string(vfs::kNamePadding, '\0');
    const protocol::LookupReply entry = server_->Lookup(root.inode()->handle(), name, me_);
    (void)nfs::PrimeName(superblock(), root, vfs::ScanName(padded.data(), root.get()), entry.handle,
                         *entry.attributes, nfs::Stamp(superblock()),
                         root.inode()->change_id.load());
  };
  ASSERT_EQ(Child("d"), kD);
  uint64_t replacement = Replace(kRoot, "d");
  list("d");  // its reply comes after that of the LOOKUP
  EXPECT_EQ(Rpcs([&] { EXPECT_EQ(Child("d"), replacement); }), 1U) << "the listing's is as unsure";

  const uint64_t replaced = server_->Add(kRoot, "f", FileType::kRegular);
  Notice("/");
  OnceAt("lookup:after-rpc", [&] {
    replacement = Replace(kRoot, "f");
    list("f");  // its reply comes before that of the LOOKUP
  });
  EXPECT_EQ(Child("f"), replaced);
  EXPECT_EQ(Child("f"), replacement);
}

// d_splice_alias().
TEST_F(Lookup, ADirectoryFoundUnderAnotherNameKeepsItsChildren) {
  Mount();
  Warm(StatOf("d/s/none"));
  server_->Move(kD, kRoot, "s");
  EXPECT_EQ(Child("s"), kDS);
  const size_t asked = protocol_->LookupsOf("none");
  EXPECT_EQ(Stat("s/none"), kMissing);
  EXPECT_EQ(protocol_->LookupsOf("none"), asked);
  EXPECT_EQ(Stat("d/s"), kMissing);
}

}  // namespace
}  // namespace nfswalk::exits
