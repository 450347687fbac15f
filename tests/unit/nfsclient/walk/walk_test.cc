// Path resolution as a whole: each flag alone, the precedence of errors, and which attempt
// (RCU-walk, ref-walk, ref-walk with forced revalidation) answers with how many calls.
#include "nfsclient/walk/walk.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <system_error>

#include "tests/fixtures/memory_mount.h"

namespace nfswalk {
namespace {

constexpr uint64_t kEscapes = Failed(std::errc::cross_device_link);
constexpr uint64_t kLoop = Failed(std::errc::too_many_symbolic_link_levels);
constexpr uint64_t kTooLong = Failed(std::errc::filename_too_long);
constexpr uint64_t kInvalid = Failed(std::errc::invalid_argument);

class Walk : public MemoryMount {
 protected:
  // The root is file 1.
  static constexpr uint64_t kX = 2, kD = 3, kF = 4, kS = 5, kLink = 6, kToS = 7;

  Walk() { AddTree(); }

  void MountAnew() {
    NewServer();
    AddTree();
    Mount();
  }

 private:
  void AddTree() {
    server_->Add(kRoot, "x", FileType::kRegular);
    server_->Add(kRoot, "d", FileType::kDirectory);
    server_->Add(kD, "f", FileType::kRegular);
    server_->Add(kD, "s", FileType::kDirectory);
    server_->Add(kD, "link", FileType::kSymlink, "f");
    server_->Add(kD, "to_s", FileType::kSymlink, "s");
    server_->Add(kD, "absolute", FileType::kSymlink, "/x");
    server_->Add(kD, "up", FileType::kSymlink, "../x");
    server_->Add(kD, "out", FileType::kSymlink, "../../x");
    server_->Add(kD, "dangling", FileType::kSymlink, "none");
    server_->Add(kD, "loop", FileType::kSymlink, "loop");
    const uint64_t closed = server_->Add(kRoot, "closed", FileType::kDirectory);
    server_->Add(closed, "in", FileType::kRegular);
    server_->Grant(closed, 0);
  }
};

// openat2(2), by each walk mode, cold and warm.
TEST_F(Walk, EachFlagAlone) {
  struct Row {
    const char* path;
    ResolveFlags flags;
    uint64_t answer;
  };
  const Row rows[] = {
      {"d/link", {}, kF},
      {"d/link", {.no_follow = true}, kLink},
      {"d/to_s", {.no_follow = true}, kToS},
      {"d/to_s/", {.no_follow = true}, kS},  // a trailing slash follows
      {"d/link/", {.no_follow = true}, kNoDirectory},
      {"d/to_s/../f", {.no_follow = true}, kF},
      {"d/f", {.no_symlinks = true}, kF},
      {"d/link", {.no_symlinks = true}, kLoop},
      {"d/to_s/..", {.no_symlinks = true}, kLoop},
      {"d/dangling", {.no_symlinks = true}, kLoop},
      {"d/../x", {.beneath = true}, kX},
      {"d/up", {.beneath = true}, kX},
      {"d/out", {.beneath = true}, kEscapes},
      {"..", {.beneath = true}, kEscapes},
      {"/x", {.beneath = true}, kEscapes},
      {"d/absolute", {.beneath = true}, kEscapes},
      {"d/out", {.in_root = true}, kX},
      {"../../x", {.in_root = true}, kX},
      {"d/absolute", {.in_root = true}, kX},
      {"d/out", {}, kX},  // the export's root is its own parent
      {"d/s/../link", {.strict = true}, kF},
      {"d/none", {.strict = true}, kMissing},
      {"d/f", {.dont_cache = true}, kF},
  };
  for (const WalkMode mode :
       {WalkMode::kRef, WalkMode::kRcuLocked, WalkMode::kRcuPeek, WalkMode::kRcuSearch}) {
    options_.walk = mode;
    MountAnew();
    for (const Row& row : rows) {
      // Strict answers come from RCU-walk alone.
      if (mode == WalkMode::kRef && row.flags.strict) continue;
      client_->DropCaches();
      for (int i = 0; i < kCold; ++i) {
        EXPECT_EQ(Stat(row.path, row.flags), row.answer)
            << row.path << " in " << WalkModeName(mode);
      }
      const uint64_t rpcs = Rpcs([&] { EXPECT_EQ(Stat(row.path, row.flags), row.answer); });
      if (!row.flags.dont_cache) {
        EXPECT_EQ(rpcs, 0u) << row.path << " in " << WalkModeName(mode);
      }
    }
  }
}

// The first error of a path is reported, and for one component search permission is checked before
// the name.
TEST_F(Walk, TheFirstErrorOnTheWayIsReported) {
  Mount();
  const std::string long_name(256, 'n');
  struct Row {
    std::string path;
    uint64_t answer;
  };
  const Row rows[] = {
      {"", kMissing},
      {std::string(4096, '/'), kTooLong},
      {"none/" + std::string(4096, 'n'), kTooLong},
      {std::string("none\0/x", 7), kInvalid},
      {"none/x", kMissing},
      {"none/..", kMissing},
      {"none/" + long_name, kMissing},
      {"d/none/closed/in", kMissing},
      {"x/", kNoDirectory},
      {"x/.", kNoDirectory},
      {"x/..", kNoDirectory},
      {"x/none", kNoDirectory},
      {"x/" + long_name, kNoDirectory},
      {"d/" + long_name, kTooLong},
      {"d/" + long_name + "/x", kTooLong},
      {"closed/in", kDenied},
      {"closed/none", kDenied},
      {"closed/.", kDenied},
      {"closed/..", kDenied},
      {"closed/../x", kDenied},
      {"d/loop", kLoop},
      {"d/loop/x", kLoop},
      {"d/dangling", kMissing},
      {"d/dangling/x", kMissing},
      {"d/link/x", kNoDirectory},
  };
  for (const Row& row : rows) {
    for (int i = 0; i <= kCold; ++i)
      EXPECT_EQ(Stat(row.path), row.answer) << row.path.substr(0, 40);
  }
}

TEST_F(Walk, RcuWalkAnswersWhatIsCached) {
  Mount();
  Warm("d/f");
  const Stats before = client_->stats();
  EXPECT_EQ(Rpcs([&] { EXPECT_EQ(Stat("d/f"), kF); }), 0u);
  EXPECT_EQ(client_->stats().rcu_walks, before.rcu_walks + 1);
  EXPECT_EQ(client_->stats().ref_walks, before.ref_walks);
}

TEST_F(Walk, RefWalkGoesOnWhereRcuWalkLeftOff) {
  options_.rdirplus = false;
  Mount();
  Warm("d/f");
  const Stats before = client_->stats();
  const uint64_t misses = Needs(NeedRef::kMiss);
  EXPECT_EQ(Rpcs([&] { EXPECT_EQ(Stat("d/s"), kS); }), 1u);
  EXPECT_EQ(protocol_->LookupsOf("s"), 1u);
  EXPECT_EQ(Needs(NeedRef::kMiss), misses + 1);
  EXPECT_EQ(client_->stats().rcu_walks, before.rcu_walks);
  EXPECT_EQ(client_->stats().ref_walks, before.ref_walks + 1);
}

// LOOKUP_REVAL: once.
TEST_F(Walk, AStaleHandleRepeatsTheWalkWithForcedRevalidationOnce) {
  options_.rdirplus = false;
  Mount();
  Warm("d/f");
  const size_t lookups = protocol_->Calls("LOOKUP");
  client_->InvalidateCaches();
  protocol_->FailOnce("ACCESS", protocol::kStale);
  EXPECT_EQ(Stat("d/f"), kF);
  EXPECT_GE(protocol_->Calls("LOOKUP"), lookups + 2);  // every name

  protocol_->Fail("GETATTR", protocol::kStale);
  protocol_->Fail("ACCESS", protocol::kStale);
  client_->InvalidateCaches();
  uint64_t rpcs = Rpcs([&] { EXPECT_EQ(Stat("d/f"), Failed(protocol::kStale)); });
  EXPECT_LE(rpcs, 4u);
}

TEST_F(Walk, ACachedWalkSendsNothing) {
  Mount();
  EXPECT_EQ(Rpcs([&] { EXPECT_EQ(Cached("d/f"), kTryAgain); }), 0u);
  Warm("d/f");
  EXPECT_EQ(Rpcs([&] { EXPECT_EQ(Cached("d/f"), kF); }), 0u);
  client_->InvalidateCaches();
  EXPECT_EQ(Rpcs([&] { EXPECT_EQ(Cached("d/f"), kTryAgain); }), 0u);
}

// Attributes that are never fresh cannot be confirmed.
TEST_F(Walk, AStrictWalkThatCannotConfirmItsAnswerGivesUp) {
  options_.acregmin_s = options_.acregmax_s = options_.acdirmin_s = options_.acdirmax_s = 0;
  Mount();
  EXPECT_EQ(Stat("d/f", {.strict = true}), kTryAgain);
  EXPECT_EQ(Stat("d/f"), kF);
}

}  // namespace
}  // namespace nfswalk
