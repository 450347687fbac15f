// The thread that writes what has been dirty for long.
#include "nfsclient/superblock/flusher.h"

#include <gtest/gtest.h>

#include <chrono>
#include <latch>

#include "tests/fixtures/thread_shortage.h"

namespace nfswalk::nfs {
namespace {

using std::chrono_literals::operator""ms;

std::latch* flushed = nullptr;

bool Flush(DirtyFiles& /*files*/) {
  flushed->count_down();
  return false;
}

TEST(Flusher, AThreadThatCouldNotBeStartedIsStartedByTheNextWrite) {
  std::latch done(1);
  flushed = &done;
  DirtyFiles files(/*bytes_max=*/1 << 20);
  Flusher flusher(files, 1ms);
  {
    const fixtures::ThreadShortage shortage(/*succeed=*/0);
    EXPECT_FALSE(flusher.NoteDirty(Flush));
  }
  EXPECT_TRUE(flusher.NoteDirty(Flush));
  done.wait();
}

TEST(Flusher, WithoutAnIntervalNothingIsToBeRepeated) {
  DirtyFiles files(/*bytes_max=*/1 << 20);
  Flusher flusher(files, 0ms);
  const fixtures::ThreadShortage shortage(/*succeed=*/0);
  EXPECT_TRUE(flusher.NoteDirty(Flush));
  EXPECT_FALSE(shortage.occurred());
}

TEST(Flusher, AfterStopNothingIsToBeRepeated) {
  DirtyFiles files(/*bytes_max=*/1 << 20);
  Flusher flusher(files, 1ms);
  flusher.Stop();
  EXPECT_TRUE(flusher.NoteDirty(Flush));
}

}  // namespace
}  // namespace nfswalk::nfs
