// Tests what the kernel is told of a name while the notification of a change is in flight to it,
// with each order forced.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "rcu/sync_point.h"
#include "tests/fixtures/served_mount.h"
#include "tests/fixtures/interleavings.h"

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
TEST_F(KernelCachesTest, ReplyOvertakenByAnUndeliveredChangeHasNoTimeout) {
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

// The first open has found the change, and not told the kernel yet.
TEST_F(KernelCachesTest, AnOpenBesideOneThatHasFoundAChangeReadsWhatIsNew) {
  const uint64_t file = server_->Add(kRoot, "f", FileType::kRegular);
  server_->Edit(file, [](protocol::Attributes& attributes) { attributes.size_bytes = 1; });
  const auto read_first = [this] {
    char first = 0;
    const int fd = open((directory_ + "/f").c_str(), O_RDONLY | O_CLOEXEC);
    EXPECT_EQ(read(fd, &first, 1), 1);
    close(fd);
    return first;
  };
  Served([&] {
    const char old = read_first();
    EXPECT_EQ(read_first(), old);
    std::optional<Actor> opens;
    const StopAt delivery("kernel-caches:before-deliver");
    const StopAt opened("mount:opened");
    server_->Edit(file, [](protocol::Attributes& attributes) { attributes.mode ^= 1; });
    opens.emplace([&] { EXPECT_NE(read_first(), old); });
    ASSERT_TRUE(opened.Reached(*opens));
    EXPECT_NE(read_first(), old);
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
