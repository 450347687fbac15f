// Lookup of a name in a directory, by the dentry cache or by the server.
#include "nfsclient/nfs/lookup.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

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
