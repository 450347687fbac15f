// Whose changes the replies to WRITEs show, and which attributes are the latest.
#include "nfsclient/data/own_changes.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace nfswalk::data {
namespace {

using nfs::ChangedBy;

// A reply to a call: 0 stands for attributes that are not there.
struct Reply {
  uint64_t before, after;
  bool changes = true;
};

protocol::WeakCacheConsistency Shown(const Reply& reply) {
  protocol::WeakCacheConsistency file;
  if (reply.before != 0) file.before = protocol::PreOpAttributes{reply.before};
  if (reply.after != 0) file.after.emplace().change = reply.after;
  return file;
}

// Groups of calls that are in flight at the same time.
using Groups = std::vector<std::vector<Reply>>;

// ATTR-20.
TEST(OwnChanges, AreToldFromThoseOfOthersByWhatEachReplyShows) {
  constexpr ChangedBy kUs = ChangedBy::kUs, kOthers = ChangedBy::kOthers,
                      kDoubt = ChangedBy::kUsOrOthers;
  const struct {
    const char* name;
    std::optional<uint64_t> known;
    Groups groups;
    std::optional<uint64_t> now;
    uint64_t latest;  // 0: not known
    ChangedBy changed_by;
  } kRows[] = {
      {"one WRITE", 1, {{{1, 2}}}, 1, 2, kUs},
      {"two, one after the other", 1, {{{1, 2}}, {{2, 3}}}, 1, 3, kUs},
      {"two at once, in order", 1, {{{1, 2}, {2, 3}}}, 1, 0, kUs},
      {"two at once, replies exchanged", 1, {{{2, 3}, {1, 2}}}, 1, 0, kUs},
      {"two at once, both seen at the end", 1, {{{1, 3}, {1, 3}}}, 1, 3, kUs},
      {"two at once, then a COMMIT", 1, {{{1, 2}, {2, 3}}, {{3, 3, false}}}, 1, 3, kUs},
      {"another client before", 1, {{{7, 8}}}, 1, 8, kOthers},
      {"another client between two", 1, {{{1, 2}}, {{7, 8}}}, 1, 8, kOthers},
      {"another client between two at once", 1, {{{1, 2}, {7, 8}}}, 1, 0, kOthers},
      {"another client before the COMMIT", 1, {{{1, 2}}, {{7, 7, false}}}, 1, 7, kOthers},
      {"another client seen meanwhile", 1, {{{1, 2}}}, 7, 2, kOthers},
      {"our own WRITE seen meanwhile", 1, {{{1, 2}}}, 2, 2, kUs},
      {"nothing known before", std::nullopt, {{{1, 2}}}, 1, 2, kDoubt},
      {"no attributes of before", 1, {{{0, 2}}}, 1, 2, kDoubt},
      {"none of before in one of two", 1, {{{1, 2}, {0, 3}}}, 1, 0, kDoubt},
      {"no attributes", 1, {{{0, 0}}}, 1, 0, kDoubt},
      {"no attributes in the last of two", 1, {{{1, 2}}, {{0, 0}}}, 1, 0, kDoubt},
      {"no attributes in one of two at once", 1, {{{1, 2}, {0, 0}}}, 1, 0, kDoubt},
      {"no attributes, then GETATTR", 1, {{{0, 0}}, {{0, 2, false}}}, 1, 2, kDoubt},
      {"a COMMIT alone", 1, {{{1, 1, false}}}, 1, 1, kUs},
      {"a COMMIT without attributes", 1, {{{1, 2}}, {{0, 0, false}}}, 1, 0, kUs},
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.name);
    OwnChanges changes;
    changes.Begin(row.known);
    for (const auto& group : row.groups) {
      for (size_t i = 0; i < group.size(); ++i) changes.Sent();
      EXPECT_FALSE(changes.latest());
      for (const Reply& reply : group) changes.Answered(Shown(reply), reply.changes);
      EXPECT_FALSE(changes.has_calls_in_flight());
    }
    EXPECT_EQ(changes.latest() ? changes.latest()->change : 0, row.latest);
    EXPECT_TRUE(changes.is_open());
    EXPECT_EQ(changes.End(row.now), row.changed_by);
    EXPECT_FALSE(changes.is_open());
  }
}

TEST(OwnChanges, AreInDoubtBeyondTheNumberThatIsRemembered) {
  OwnChanges changes;
  changes.Begin(1);
  const uint64_t writes = OwnChanges::kIdsMax + 1;
  for (uint64_t id = 1; id <= writes; ++id) {
    changes.Sent();
    changes.Answered(Shown({id, id + 1}), true);
  }
  EXPECT_EQ(changes.latest()->change, writes + 1);
  EXPECT_EQ(changes.End(1), ChangedBy::kUsOrOthers);
}

TEST(OwnChanges, ChangesOfOneBatchDoNotExplainTheNext) {
  OwnChanges changes;
  changes.Begin(1);
  changes.Sent();
  changes.Answered(Shown({1, 2}), true);
  EXPECT_EQ(changes.End(1), ChangedBy::kUs);
  changes.Begin(2);
  changes.Sent();
  changes.Answered(Shown({1, 3}), true);
  EXPECT_EQ(changes.End(2), ChangedBy::kOthers);
}

}  // namespace
}  // namespace nfswalk::data
