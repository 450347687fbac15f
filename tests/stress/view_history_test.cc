// The checker of two_client_history_test: which views it allows.
#include "tests/stress/view_history.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

namespace nfswalk::stress {
namespace {

constexpr int kUs = 0, kThem = 1;

class Views : public testing::Test {
 protected:
  Views() {
    history_.Set("name", 1, {}, kNoClient);
    history_.Set("name", 2, {.begin = 100, .end = 110}, kThem);
  }
  static View Of(uint64_t value, Interval call, uint64_t lifetime_ns = 0) {
    return {.fact = "name", .value = value, .call = call, .client = kUs,
            .lifetime_ns = lifetime_ns};
  }
  size_t Faults(std::vector<View> views) const { return history_.Check(std::move(views)).size(); }

  ViewHistory history_;
};

TEST_F(Views, AreOfAMomentOfTheCall) {
  EXPECT_EQ(Faults({Of(1, {90, 95})}), 0u);
  EXPECT_EQ(Faults({Of(2, {90, 95})}), 1u);
  EXPECT_EQ(Faults({Of(1, {105, 120})}), 0u);
  EXPECT_EQ(Faults({Of(2, {95, 105})}), 0u);
  EXPECT_EQ(Faults({Of(1, {111, 120})}), 1u);
  EXPECT_EQ(Faults({Of(2, {111, 120})}), 0u);
  EXPECT_EQ(Faults({Of(3, {95, 120})}), 1u);
}

TEST_F(Views, MayBeStaleForALifetime) {
  EXPECT_EQ(Faults({Of(1, {160, 170}, 50)}), 0u);
  EXPECT_EQ(Faults({Of(1, {161, 170}, 50)}), 1u);
}

TEST_F(Views, CanShowWhatIsStaleAndWhatIsMadeMeanwhile) {
  using Values = std::set<uint64_t>;
  history_.Set("name", 3, {.begin = 200, .end = 210}, kUs);
  EXPECT_EQ(history_.Showable(Of(0, {90, 95})), Values{1});
  EXPECT_EQ(history_.Showable(Of(0, {90, 105})), (Values{1, 2}));
  EXPECT_EQ(history_.Showable(Of(0, {160, 170}, 50)), (Values{1, 2}));
  EXPECT_EQ(history_.Showable(Of(0, {161, 170}, 50)), Values{2});
  EXPECT_EQ(history_.Showable(Of(0, {211, 220}, 500)), Values{3}) << "of the own client";
  EXPECT_EQ(history_.Showable({.fact = "other"}), Values{});
}

TEST_F(Views, AreNeverOfBeforeAChangeOfTheirOwnClient) {
  history_.Set("name", 3, {.begin = 200, .end = 210}, kUs);
  EXPECT_EQ(Faults({Of(2, {205, 220}, 1000)}), 0u);
  EXPECT_EQ(Faults({Of(2, {211, 220}, 1000)}), 1u);
  EXPECT_EQ(Faults({Of(1, {211, 220}, 1000)}), 1u);
}

TEST_F(Views, NeverGoBack) {
  EXPECT_EQ(Faults({Of(2, {120, 130}, 1000), Of(1, {131, 140}, 1000)}), 1u);
  EXPECT_EQ(Faults({Of(2, {120, 130}, 1000), Of(1, {125, 140}, 1000)}), 0u);
  history_.Set("name", 1, {.begin = 132, .end = 133}, kThem);  // made again
  EXPECT_EQ(Faults({Of(2, {120, 130}, 1000), Of(1, {131, 140}, 1000)}), 0u);
}

TEST_F(Views, MayBeFollowedByOlderOnesWhereTheyAreNotFinal) {
  View listed = Of(2, {120, 130}, 1000);
  listed.is_final = false;
  EXPECT_EQ(Faults({listed, Of(1, {131, 140}, 1000)}), 0u);
}

TEST_F(Views, VersionsAreCountedThatACallMayHaveMet) {
  EXPECT_EQ(history_.VersionsDuring("name", {50, 99}), 0u);
  EXPECT_EQ(history_.VersionsDuring("name", {50, 100}), 1u);
  EXPECT_EQ(history_.VersionsDuring("name", {110, 120}), 1u);
  EXPECT_EQ(history_.VersionsDuring("name", {111, 120}), 0u);
  EXPECT_EQ(history_.VersionsDuring("name", {0, 120}), 2u);
  EXPECT_EQ(history_.VersionsDuring("other", {0, 120}), 0u);
}

TEST_F(Views, UndoneChangeMayBeSeenByOtherClientsOnly) {
  history_.SetTransient("name", 0, {.begin = 200, .end = 210}, kThem);
  EXPECT_EQ(Faults({Of(0, {205, 207})}), 0u);
  EXPECT_EQ(Faults({Of(0, {211, 220})}), 1u);
  history_.SetTransient("name", 0, {.begin = 300, .end = 310}, kUs);
  EXPECT_EQ(Faults({Of(0, {305, 307})}), 1u);
  EXPECT_EQ(Faults({Of(2, {305, 307})}), 0u);
}

TEST_F(Views, ListingMayOmitANameThatIsReplacedMeanwhile) {
  View absent = Of(0, {90, 105});
  EXPECT_EQ(Faults({absent}), 1u);
  absent.is_listed = true;
  EXPECT_EQ(Faults({absent}), 0u);
  absent.call = {111, 120};
  EXPECT_EQ(Faults({absent}), 1u);
}

TEST_F(Views, StateThatNeverWasIsAFault) {
  EXPECT_EQ(Faults({{.fact = "other", .value = 1, .call = {1, 2}, .client = kUs}}), 1u);
}

}  // namespace
}  // namespace nfswalk::stress
