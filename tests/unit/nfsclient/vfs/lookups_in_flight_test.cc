// At most one LOOKUP in flight for a name.
#include "nfsclient/vfs/lookups_in_flight.h"

#include <gtest/gtest.h>

#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "rcu/sync_point.h"
#include "tests/fixtures/interleavings.h"

namespace nfswalk::vfs {
namespace {

using protocol::FileHandle;
using Ticket = LookupsInFlight::Ticket;

FileHandle Handle(std::string_view bytes) {
  return FileHandle({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
}

class LookupsInFlightTest : public testing::Test {
 protected:
  void TearDown() override { rcu::SyncPointScript::ClearAll(); }

  LookupsInFlight lookups_;
  const FileHandle directory_ = Handle("directory");
};

// NAME-22.
TEST_F(LookupsInFlightTest, ANameHasOneOwnerAtATime) {
  {
    const Ticket owner = *lookups_.Begin(directory_, "name");
    EXPECT_TRUE(owner.owned());
    EXPECT_FALSE(lookups_.TryBegin(directory_, "name").owned());
  }
  EXPECT_TRUE(lookups_.TryBegin(directory_, "name").owned());
}

TEST_F(LookupsInFlightTest, OtherNamesAndDirectoriesAreFree) {
  const Ticket owner = *lookups_.Begin(Handle("a/b"), "c");
  EXPECT_TRUE(lookups_.TryBegin(Handle("a/b"), "d").owned());
  EXPECT_TRUE(lookups_.TryBegin(Handle("a"), "c").owned());
  EXPECT_TRUE(lookups_.TryBegin(Handle("a/b/c"), "c").owned());
  EXPECT_TRUE(lookups_.TryBegin(Handle("a/"), "c").owned());
}

TEST_F(LookupsInFlightTest, TakingTheNextNameReleasesTheLast) {
  Ticket ticket = *lookups_.Begin(directory_, "first");
  StopAt waits("lookups:before-wait");
  Actor follower([&] { EXPECT_FALSE(lookups_.Begin(directory_, "first")->owned()); });
  ASSERT_TRUE(waits.Reached(follower));
  waits.LetGo();
  ticket = lookups_.TryBegin(directory_, "second");
  follower.Join();
  EXPECT_TRUE(ticket.owned());
  EXPECT_TRUE(lookups_.TryBegin(directory_, "first").owned());
  EXPECT_FALSE(lookups_.TryBegin(directory_, "second").owned());
}

TEST_F(LookupsInFlightTest, NobodyWaitsLongerThanItsCallMay) {
  const Ticket owner = *lookups_.Begin(directory_, "name");
  std::thread([&] {
    const protocol::CallDeadline deadline(protocol::CallDeadline::Clock::now());
    EXPECT_EQ(lookups_.Begin(directory_, "name").error(), std::errc::timed_out);
    EXPECT_TRUE(lookups_.Begin(directory_, "another").has_value());
  }).join();
}

}  // namespace
}  // namespace nfswalk::vfs
