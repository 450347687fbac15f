// The oracle itself, on histories made by hand: what it must allow, and what it must refuse.
#include "tests/stress/oracle.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "tests/stress/oracle_history.h"

namespace nfswalk::stress {
namespace {

constexpr std::errc kAbsent = std::errc::no_such_file_or_directory;
constexpr std::errc kDenied = std::errc::permission_denied;

// A tree whose changes have ticks given by the test.
class OracleTest : public testing::Test {
 protected:
  Change& At(Tick made, Tick returned) {
    Change& change = history_.NewChange(made, "");
    change.returned = returned;
    return change;
  }
  NodeId Make(NodeId directory, std::string_view name, FileType type, const Change& change,
              std::string target = "") {
    Attributes attributes;
    attributes.mode = 0755;
    attributes.nlink = 1;
    const NodeId node = history_.Make(type, std::move(target), attributes, change);
    history_.SetName(directory, name, node, change);
    return node;
  }
  NodeId MakeDirectory(NodeId directory, std::string_view name) {
    return Make(directory, name, FileType::kDirectory, always_);
  }
  NodeId MakeFile(NodeId directory, std::string_view name) {
    return Make(directory, name, FileType::kRegular, always_);
  }
  void Move(NodeId from, std::string_view name, NodeId to, std::string_view new_name,
            const Change& change) {
    const NodeId node = history_.Child(from, name);
    history_.SetName(from, name, kNothing, change);
    history_.SetName(to, new_name, node, change);
  }
  void Chmod(NodeId node, uint32_t mode, const Change& change) {
    Attributes attributes = history_.at(node).attributes.now();
    attributes.mode = mode;
    history_.SetAttributes(node, attributes, change);
  }

  // Returns the strictest guarantee that allows the outcome of a call from `begin` to `end`:
  // "steps", "hand-over-hand", "strict", or "" for none. A stricter guarantee must imply the weaker
  // ones.
  std::string Allows(Tick begin, Tick end, const Operation& operation, const Outcome& outcome) {
    history_.Seal();
    const Walk walk{operation, outcome, begin, end};
    const auto legal = [&](Guarantee guarantee) {
      const Verdict verdict = Check(history_, walk, guarantee);
      EXPECT_NE(verdict, Verdict::kUndecided) << Describe(history_, walk, guarantee);
      return verdict == Verdict::kLegal;
    };
    const bool steps = legal(Guarantee::kSteps);
    const bool hand_over_hand = legal(Guarantee::kHandOverHand);
    const bool strict = legal(Guarantee::kStrict);
    EXPECT_TRUE(steps || !hand_over_hand);
    EXPECT_TRUE(hand_over_hand || !strict);
    return strict ? "strict" : hand_over_hand ? "hand-over-hand" : steps ? "steps" : "";
  }
  std::string Finds(Tick begin, Tick end, std::string path, NodeId node) {
    return Allows(begin, end, {.path = std::move(path)},
                  {.attributes = history_.at(node).attributes.now()});
  }
  std::string Fails(Tick begin, Tick end, std::string path, std::errc error) {
    return Allows(begin, end, {.path = std::move(path)}, {.error = error});
  }

  History history_;
  const Change& always_ = At(0, 0);
};

TEST_F(OracleTest, AnUnchangingTreeHasOneAnswer) {
  const NodeId a = MakeDirectory(kRootNode, "a");
  const NodeId f = MakeFile(a, "f");
  const NodeId other = MakeFile(a, "other");
  Make(a, "link", FileType::kSymlink, always_, "/a/f");
  EXPECT_EQ(Finds(10, 20, "a/f", f), "strict");
  EXPECT_EQ(Finds(10, 20, "/a/./../a//link", f), "strict");
  EXPECT_EQ(Finds(10, 20, "a/f", other), "");
  EXPECT_EQ(Fails(10, 20, "a/f", kAbsent), "");
  EXPECT_EQ(Fails(10, 20, "a/g", kAbsent), "strict");
  EXPECT_EQ(Fails(10, 20, "a/f/", std::errc::not_a_directory), "strict");
  EXPECT_EQ(Fails(10, 20, "a/f/..", std::errc::not_a_directory), "strict");
  EXPECT_EQ(Finds(10, 20, "..", kRootNode), "strict");
}

TEST_F(OracleTest, AChangeIsSeenBetweenTheServerAndItsReturnAndNeverLater) {
  MakeFile(kRootNode, "f");
  history_.SetName(kRootNode, "f", kNothing, At(10, 20));
  EXPECT_EQ(Fails(1, 9, "f", kAbsent), "");         // not yet
  EXPECT_EQ(Fails(1, 10, "f", kAbsent), "strict");  // ends when the server has made the change
  EXPECT_EQ(Finds(20, 30, "f", 2), "strict");       // begins before the change returns
  EXPECT_EQ(Finds(21, 30, "f", 2), "");             // too late
  EXPECT_EQ(Fails(21, 30, "f", kAbsent), "strict");
}

TEST_F(OracleTest, ALaterChangesReturnEndsVersionsBeforeEarlierChanges) {
  const NodeId f = MakeFile(kRootNode, "f");
  Chmod(f, 0700, At(10, 50));
  Chmod(f, 0711, At(20, 30));
  Attributes first = history_.at(f).attributes.all()[0].value;
  EXPECT_EQ(Allows(25, 26, {.path = "f"}, {.attributes = first}), "strict");
  EXPECT_EQ(Allows(31, 40, {.path = "f"}, {.attributes = first}), "");
}

// WALK-15: the walker is in b; mv /a /x; then mv /t/c /x/b/c.
TEST_F(OracleTest, APathThatNeverWasIsHandOverHandButNotStrict) {
  const NodeId a = MakeDirectory(kRootNode, "a");
  const NodeId b = MakeDirectory(a, "b");
  const NodeId t = MakeDirectory(kRootNode, "t");
  const NodeId c = MakeFile(t, "c");
  Move(kRootNode, "a", kRootNode, "x", At(10, 11));
  Move(t, "c", b, "c", At(20, 21));
  EXPECT_EQ(Finds(1, 30, "a/b/c", c), "hand-over-hand");
  EXPECT_EQ(Finds(1, 30, "x/b/c", c), "strict");
  EXPECT_EQ(Finds(1, 19, "a/b/c", c), "");   // c came later
  EXPECT_EQ(Finds(12, 30, "a/b/c", c), "");  // a had gone before
}

TEST_F(OracleTest, ADirectoryMovedBeforeTheNextStepIsNotHandOverHand) {
  const NodeId a = MakeDirectory(kRootNode, "a");
  const NodeId b = MakeDirectory(a, "b");
  Move(a, "b", kRootNode, "b", At(10, 11));
  const NodeId c = Make(b, "c", FileType::kRegular, At(20, 21));
  EXPECT_EQ(Finds(1, 30, "a/b/c", c), "steps");
  EXPECT_EQ(Fails(1, 30, "a/b/c", kAbsent), "strict");
}

TEST_F(OracleTest, StepsAreOrdered) {
  const NodeId a = MakeDirectory(kRootNode, "a");
  const NodeId c = MakeFile(a, "c");
  // "a/c" is removed before "a" appears under its new name.
  history_.SetName(a, "c", kNothing, At(10, 11));
  Move(kRootNode, "a", kRootNode, "x", At(20, 21));
  EXPECT_EQ(Finds(1, 30, "x/c", c), "");
  EXPECT_EQ(Fails(1, 30, "x/c", kAbsent), "strict");
}

TEST_F(OracleTest, ARenameIsSeenInBothNamesOrInNone) {
  const NodeId a = MakeDirectory(kRootNode, "a");
  const NodeId b = MakeDirectory(kRootNode, "b");
  const NodeId d = MakeDirectory(a, "d");
  Make(kRootNode, "link", FileType::kSymlink, always_, "a/d/../../b/d");
  Move(a, "d", b, "d", At(10, 20));
  // A walk may find both names while the rename is in flight, but only the old before the new one.
  EXPECT_EQ(Finds(12, 18, "a/d/../../b/d", d), "hand-over-hand");
  EXPECT_EQ(Finds(12, 18, "link", d), "hand-over-hand");
  EXPECT_EQ(Finds(12, 18, "b/d/../../a/d", d), "");
  // Neither name: in no order.
  EXPECT_EQ(Fails(12, 18, "a/d/../../b/d", kAbsent), "strict");
  EXPECT_EQ(Fails(12, 18, "b/d/../../a/d", kAbsent), "strict");
  EXPECT_EQ(Finds(12, 18, "b/d/../d", d), "strict");
}

TEST_F(OracleTest, DotDotIsWhereTheDirectoryIsAtThatStep) {
  const NodeId a = MakeDirectory(kRootNode, "a");
  const NodeId b = MakeDirectory(kRootNode, "b");
  MakeDirectory(a, "d");
  Move(a, "d", b, "d", At(10, 11));
  EXPECT_EQ(Finds(1, 30, "a/d/..", a), "strict");
  // The walk was in d, which was then moved: allowed in ref-walk, not in RCU-walk.
  EXPECT_EQ(Finds(1, 30, "a/d/..", b), "steps");
  EXPECT_EQ(Finds(12, 30, "b/d/..", a), "");
}

// "l" led to "a" while that was empty, and afterwards to "b", which is empty.
TEST_F(OracleTest, AFlippedLinkIsHandOverHandButNotStrict) {
  const NodeId a = MakeDirectory(kRootNode, "a");
  MakeDirectory(kRootNode, "b");
  Make(kRootNode, "l", FileType::kSymlink, always_, "a");
  const Change& flip = At(10, 11);
  Make(kRootNode, "l", FileType::kSymlink, flip, "b");
  const NodeId f = Make(a, "f", FileType::kRegular, At(20, 21));
  EXPECT_EQ(Finds(1, 30, "l/f", f), "hand-over-hand");
  EXPECT_EQ(Fails(1, 30, "l/f", kAbsent), "strict");
  EXPECT_EQ(Finds(12, 30, "l/f", f), "");
}

TEST_F(OracleTest, ADenialNeedsATickAtWhichTheDirectoryWasReachableAndClosed) {
  const NodeId a = MakeDirectory(kRootNode, "a");
  const NodeId f = MakeFile(a, "f");
  Chmod(a, 0700, At(10, 11));
  Chmod(a, 0755, At(20, 21));
  EXPECT_EQ(Fails(1, 9, "a/f", kDenied), "");
  EXPECT_EQ(Fails(1, 15, "a/f", kDenied), "strict");
  EXPECT_EQ(Finds(12, 19, "a/f", f), "");
  EXPECT_EQ(Allows(12, 19, {.superuser = true, .path = "a/f"},
                   {.attributes = history_.at(f).attributes.now()}),
            "strict");
  EXPECT_EQ(Fails(22, 30, "a/f", kDenied), "");
}

// The directory was open while empty, and closed since before it had the file.
TEST_F(OracleTest, StrictNeedsPermissionAndNameAtOneTick) {
  const NodeId a = MakeDirectory(kRootNode, "a");
  Chmod(a, 0700, At(10, 11));
  const NodeId f = Make(a, "f", FileType::kRegular, At(20, 21));
  EXPECT_EQ(Finds(1, 30, "a/f", f), "hand-over-hand");
}

TEST_F(OracleTest, AttributesBelongToTheTickOfTheName) {
  const NodeId a = MakeDirectory(kRootNode, "a");
  const NodeId f = MakeFile(a, "f");
  history_.SetName(a, "f", kNothing, At(10, 11));
  Attributes later = history_.at(f).attributes.now();
  later.nlink = 0;
  history_.SetAttributes(f, later, At(20, 21));
  EXPECT_EQ(Finds(1, 30, "a/f", f), "steps");  // allowed in ref-walk
  Attributes never = later;
  never.size_bytes = 1;
  EXPECT_EQ(Allows(1, 30, {.path = "a/f"}, {.attributes = never}), "");
}

TEST_F(OracleTest, AccessAndReadLinkAreCheckedByTheirResults) {
  const NodeId f = MakeFile(kRootNode, "f");
  Make(kRootNode, "l", FileType::kSymlink, always_, "f");
  const auto access = [](uint32_t mask) {
    return Operation{.kind = Operation::Kind::kAccess, .mask = mask, .path = "l"};
  };
  EXPECT_EQ(Allows(1, 9, access(4), {}), "strict");
  EXPECT_EQ(Allows(1, 9, access(2), {}), "");
  EXPECT_EQ(Allows(1, 9, access(2), {.error = kDenied}), "strict");
  Chmod(f, 0777, At(10, 11));
  EXPECT_EQ(Allows(12, 20, access(2), {.error = kDenied}), "");
  const Operation readlink{.kind = Operation::Kind::kReadLink, .path = "l"};
  EXPECT_EQ(Allows(1, 9, readlink, {.text = "f"}), "strict");
  EXPECT_EQ(Allows(1, 9, readlink, {.text = "g"}), "");
  EXPECT_EQ(Allows(1, 9, {.kind = Operation::Kind::kReadLink, .path = "f"},
                   {.error = std::errc::invalid_argument}),
            "strict");
}

TEST_F(OracleTest, OpensAreOfRegularFilesThatMayBeRead) {
  const NodeId f = MakeFile(kRootNode, "f");
  MakeDirectory(kRootNode, "d");
  Make(kRootNode, "l", FileType::kSymlink, always_, "f");
  const auto open = [](std::string path) {
    return Operation{.kind = Operation::Kind::kOpen, .path = std::move(path)};
  };
  const Outcome directory{.error = std::errc::is_a_directory};
  EXPECT_EQ(Allows(1, 9, open("l"), {}), "strict");
  EXPECT_EQ(Allows(1, 9, open("f"), directory), "");
  EXPECT_EQ(Allows(1, 9, open("d"), {}), "");
  EXPECT_EQ(Allows(1, 9, open("d"), directory), "strict");
  Chmod(f, 0700, At(10, 11));
  EXPECT_EQ(Allows(1, 9, open("f"), {.error = kDenied}), "");
  EXPECT_EQ(Allows(12, 20, open("f"), {.error = kDenied}), "strict");
  EXPECT_EQ(Allows(12, 20, open("f"), {}), "");
}

TEST_F(OracleTest, LinksThatLeadToEachOtherAreDecidedQuickly) {
  Make(kRootNode, "l", FileType::kSymlink, always_, "m");
  Make(kRootNode, "m", FileType::kSymlink, always_, "l");
  for (Tick tick = 10; tick < 100; tick += 10) {
    const Change& change = At(tick, tick + 15);
    Make(kRootNode, "l", FileType::kSymlink, change, tick % 20 == 0 ? "m" : "./m");
  }
  EXPECT_EQ(Fails(1, 200, "l", std::errc::too_many_symbolic_link_levels), "strict");
  EXPECT_EQ(Fails(1, 200, "l", kAbsent), "");
}

TEST_F(OracleTest, ForgetMakesThePresentStateTheBeginning) {
  const NodeId a = MakeDirectory(kRootNode, "a");
  MakeFile(a, "f");
  Move(kRootNode, "a", kRootNode, "x", At(10, 11));
  history_.SetName(a, "f", kNothing, At(20, 21));
  history_.Forget();
  EXPECT_EQ(history_.Find(3), nullptr);
  EXPECT_EQ(Finds(1, 2, "x", a), "strict");
  EXPECT_EQ(Fails(1, 2, "x/f", kAbsent), "strict");
  EXPECT_EQ(Fails(1, 2, "a", kAbsent), "strict");
}

}  // namespace
}  // namespace nfswalk::stress
