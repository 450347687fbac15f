// What the kernel is told of a name while word of a change is in flight to it, each order forced.
#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>

#include "rcu/sync_point.h"
#include "tests/fixtures/served_mount.h"
#include "tests/race/interleavings.h"

namespace nfswalk::mount {
namespace {

// NAME-37.
class KernelCachesTest : public ServedMount {
 protected:
  void TearDown() override {
    rcu::SyncPointScript::ClearAll();
    ServedMount::TearDown();
  }
  bool Lists(const std::string& name) const {
    const std::unique_ptr<DIR, int (*)(DIR*)> listing(opendir(directory_.c_str()), closedir);
    if (listing == nullptr) return false;
    while (const dirent* entry = readdir(listing.get())) {
      if (name == entry->d_name) return true;
    }
    return false;
  }
};

#ifndef NDEBUG
TEST_F(KernelCachesTest, WhatAChangeOvertakesHoldsForNoTimeThoughItIsNotDeliveredYet) {
  Served([this] {
    std::optional<Actor> asks;
    const StopAt delivery("kernel-caches:before-deliver");
    StopAt answer("kernel-caches:before-entry");
    asks.emplace([this] { EXPECT_EQ(TypeOf("x"), 0U); });
    ASSERT_TRUE(answer.Reached(*asks));
    server_->Add(kRoot, "x", FileType::kRegular);
    Notice("/");
    answer.LetGo();
    asks.reset();
    EXPECT_EQ(TypeOf("x"), static_cast<mode_t>(S_IFREG));
  });
}

class KernelCachesWithoutOpenedListings : public KernelCachesTest {
 protected:
  KernelCachesWithoutOpenedListings() {
    options_.nocto = true;  // else OPENDIR waits for what is delivered
    options_.rdirplus = false;
  }
};

TEST_F(KernelCachesWithoutOpenedListings, AListingShowsNoNameThatTheKernelStillHasAsMissing) {
  Served([this] {
    for (int i = 0; i <= kCold; ++i) EXPECT_EQ(TypeOf("x"), 0U);
    std::optional<Actor> notices;
    const StopAt expiry("kernel-caches:before-expire");
    server_->Add(kRoot, "x", FileType::kRegular);
    notices.emplace([this] {
      Notice("/");
      client_->AwaitInvalidations();
    });
    ASSERT_TRUE(expiry.Reached(*notices));
    EXPECT_TRUE(Lists("x"));
    EXPECT_EQ(TypeOf("x"), static_cast<mode_t>(S_IFREG));
  });
}
#endif

}  // namespace
}  // namespace nfswalk::mount
