#include "tests/integration/mount_pair.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <utility>

namespace nfswalk {
namespace {

bool IsMountPoint(const std::string& directory) {
  std::ifstream table("/proc/self/mountinfo");
  for (std::string line; std::getline(table, line);) {
    if (line.find(fmt::format(" {} ", directory)) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

void MountPair::SetUp() {
  MountRun::SetUp();
  if (IsSkipped() || HasFatalFailure()) return;
  char pattern[] = "/tmp/nfswalk_other_XXXXXX";
  ASSERT_NE(mkdtemp(pattern), nullptr);
  other_point_ = pattern;
}

void MountPair::TearDown() {
  if (!other_point_.empty()) {
    UnmountOther();
    rmdir(other_point_.c_str());
  }
  MountRun::TearDown();
}

void MountPair::UnmountOther() {
  EXPECT_TRUE(Eventually([&] {
    return RunProgram({"fusermount3", "-u", other_point_}).exit_code == 0 ||
           !IsMountPoint(other_point_);
  }));
  if (other_ > 0) {
    EXPECT_EQ(WaitForExit(std::exchange(other_, -1)), 0);
  }
}

void MountPair::MountBoth(const std::string& options) {
  Mount(options);
  MountOther(Url(), options);
}

void MountPair::MountOther(const std::string& source, const std::string& options) {
  Strings arguments{"mount", "-f", source, other_point_};
  if (!options.empty()) arguments.insert(arguments.begin() + 1, {"-o", options});
  other_ = Spawn(std::move(arguments), STDERR_FILENO, STDERR_FILENO);
  ASSERT_GT(other_, 0);
  ASSERT_TRUE(Eventually([&] { return IsMountPoint(other_point_); }));
}

}  // namespace nfswalk
