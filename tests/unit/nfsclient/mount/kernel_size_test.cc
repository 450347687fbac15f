#include "nfsclient/mount/kernel_size.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>

namespace nfswalk::mount {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Time = KernelSize::Time;

constexpr Time At(int ms) { return Time(seconds(1'000)) + milliseconds(ms); }

TEST(KernelSizeTest, IsWhatTheLastReplySaid) {
  KernelSize size;
  EXPECT_FALSE(size.Is(0, {}));
  size.Tell(4, At(0), At(1));
  EXPECT_TRUE(size.Is(4, {}));
  EXPECT_FALSE(size.Is(5, {}));
  size.Tell(5, At(2), At(3));
  EXPECT_TRUE(size.Is(5, {}));
}

TEST(KernelSizeTest, HasTheTimesOfTheLastReply) {
  KernelSize size;
  size.Tell(4, At(0), At(1), 17);
  EXPECT_TRUE(size.HasTimes(17));
  size.Tell(4, At(2), At(3), 18);
  EXPECT_FALSE(size.HasTimes(17));
  EXPECT_TRUE(size.HasTimes(18));
}

TEST(KernelSizeTest, ANotificationAroundAReplyMakesItUncertain) {
  for (const int notified : {-999, 0, 50, 100, 1'099}) {
    KernelSize size;
    const bool is_before = notified <= 100;
    if (is_before) size.Notify(At(notified));
    size.Tell(4, At(0), At(100));
    if (!is_before) size.Notify(At(notified));
    EXPECT_FALSE(size.Is(4, {})) << notified;
  }
  for (const int notified : {-1'001, 1'101}) {
    KernelSize size;
    if (notified < 0) size.Notify(At(notified));
    size.Tell(4, At(0), At(100));
    if (notified > 0) size.Notify(At(notified));
    EXPECT_TRUE(size.Is(4, {})) << notified;
  }
}

TEST(KernelSizeTest, ToBeToldTheSameAgainChangesNothing) {
  KernelSize size;
  size.Tell(4, KernelSize::kAlways, At(0));
  size.Notify(At(10));
  EXPECT_TRUE(size.Is(4, {}));
  size.Tell(4, At(5), At(20));
  size.Notify(At(30));
  EXPECT_TRUE(size.Is(4, {}));
}

TEST(KernelSizeTest, ARequestBehindTheNotificationIsCertainToItsCaller) {
  KernelSize size;
  size.Notify(At(0));
  size.Tell(4, At(2), At(3));
  EXPECT_FALSE(size.Is(4, At(-1)));  // notified since
  EXPECT_FALSE(size.Is(4, At(3)));   // told before
  EXPECT_FALSE(size.Is(5, At(1)));
  EXPECT_TRUE(size.Is(4, At(1)));
  size.Notify(At(5));
  EXPECT_TRUE(size.Is(4, {}));  // from now on, to all
}

TEST(KernelSizeTest, GrowsWithWhatIsWritten) {
  KernelSize size;
  size.Write(9, At(0));
  EXPECT_FALSE(size.Is(9, {}));  // its end may be anywhere behind that
  size.Tell(4, At(1), At(2));
  size.Write(10, At(3));
  EXPECT_TRUE(size.Is(10, {}));
  size.Write(3, At(4));
  EXPECT_TRUE(size.Is(10, {}));
  // A reply on its way beside a write(2) may be dropped.
  size.Tell(20, At(4), At(5));
  EXPECT_FALSE(size.Is(20, {}));
}

TEST(KernelSizeTest, AReadThatEndsShortMayCutIt) {
  KernelSize size;
  size.Tell(100, At(0), At(1));
  size.EndRead(100);
  EXPECT_TRUE(size.Is(100, {}));
  size.EndRead(99);
  EXPECT_FALSE(size.Is(100, {}));
  EXPECT_FALSE(size.Is(99, {}));
}

}  // namespace
}  // namespace nfswalk::mount
