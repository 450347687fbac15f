// WALK-19: in every state of the caches, what RCU-walk answers equals what ref-walk answers without
// the server. Conversely, what ref-walk answers without the server and without memory, RCU-walk
// answers, but for IsKnownExit().
//
// NFSWALK_EXITS_STATES: the number of random states (100,000). NFSWALK_EXITS_SEED: the seed of the
// first world; a failure prints the seed of its own.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "tests/exits/frozen_question.h"
#include "tests/exits/random_world.h"

namespace nfswalk::exits {
namespace {

// A state: the content of the caches, and a question.
constexpr size_t kStepsInAWorld = 500;
constexpr size_t kQuestionsAfterAStep = 2;
constexpr uint64_t kStatesOfTheFloors = 100'000;

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

std::string KindOf(const Question& question, const Answer& answer) {
  if (answer.error == std::errc{}) {
    return question.kind == Question::kStat     ? "attributes"
           : question.kind == Question::kAccess ? "granted"
                                                : "link text";
  }
  switch (answer.error) {
    case std::errc::permission_denied:
      return "denied";
    case std::errc::no_such_file_or_directory:
      return "negative";
    case std::errc::not_a_directory:
      return "not a directory";
    case std::errc::too_many_symbolic_link_levels:
      return "too many links";
    case std::errc::filename_too_long:
      return "too long";
    case std::errc::cross_device_link:
      return "beneath";
    case std::errc::invalid_argument:
      return "invalid";
    default:
      return "other";
  }
}

// Returns whether RCU-walk may leave although ref-walk needs no server: it has no memory for a new
// credential, or the path buffer or the read set of strict mode is full. A stale directory is left
// to ref-walk, so that a forced revalidation can follow.
bool IsKnownExit(const Answer& with_references, NeedRef need) {
  return need == NeedRef::kAllocation ||
         (need == NeedRef::kGetattrRpc && with_references.error == protocol::kStale);
}

class Equivalence : public testing::Test {
 protected:
  // Compares one state. Returns false when done.
  bool Compare(RandomWorld& world, uint64_t seed, size_t step) {
    const Question question = world.DrawQuestion();
    fixtures::FaultyProtocol& protocol = world.protocol();
    const uint64_t calls = protocol.calls();
    protocol.Fail("", std::errc::io_error);
    const RcuAnswer under_rcu = AskRcu(world.client(), question);
    const uint64_t calls_under_rcu = protocol.calls() - calls;
    const Answer with_references = AskRef(world.client(), question);
    const uint64_t calls_with_references = protocol.calls() - calls - calls_under_rcu;
    protocol.Fail("", {});

    const bool answered = under_rcu.need == NeedRef::kNone;
    const bool agree =
        answered ? under_rcu.answer == with_references
                 : calls_with_references != 0 || IsKnownExit(with_references, under_rcu.need);
    if (answered) ++answered_[KindOf(question, under_rcu.answer)];
    ++left_[under_rcu.need];
    EXPECT_EQ(calls_under_rcu, 0u);
    EXPECT_TRUE(agree) << "seed " << seed << ", step " << step << ", " << world.Describe() << "\n"
                       << testing::PrintToString(question)
                       << "\nunder RCU: " << testing::PrintToString(under_rcu.need) << ", "
                       << testing::PrintToString(under_rcu.answer)
                       << "\nwith references: " << testing::PrintToString(with_references)
                       << ", calls " << calls_with_references;
    return !HasFailure();
  }

  void CountPathHits(const RandomWorld& world) { path_hits_ += world.client().stats().path_hits; }

  void Report() const {
    for (const auto& [kind, count] : answered_) {
      std::printf("%8lu under RCU: %s\n", static_cast<unsigned long>(count), kind.c_str());
    }
    std::printf("%8lu by the path cache\n", static_cast<unsigned long>(path_hits_));
    for (const auto& [need, count] : left_) {
      std::printf("%8lu left for %s\n", static_cast<unsigned long>(count),
                  std::string(NeedRefName(need)).c_str());
    }
  }

  // Floors: half of the counts observed.
  void ExpectFloors() {
    const std::map<std::string, uint64_t> floors = {
        {"attributes", 3000},     {"granted", 1500},         {"denied", 2500},  {"link text", 1500},
        {"negative", 4000},       {"not a directory", 5000}, {"beneath", 1000}, {"invalid", 600},
        {"too many links", 1000}, {"too long", 100}};
    for (const auto& [kind, floor] : floors) EXPECT_GE(answered_[kind], floor) << kind;
    // Each reason to leave RCU-walk occurred but two: nothing changes under a walk here, and no
    // mount has walk=ref.
    for (const NeedRef need : {NeedRef::kLookupRpc, NeedRef::kGetattrRpc, NeedRef::kAccessRpc,
                               NeedRef::kReadlinkRpc, NeedRef::kAllocation, NeedRef::kMiss}) {
      EXPECT_GE(left_[need], 70u) << NeedRefName(need);
    }
    EXPECT_EQ(left_[NeedRef::kChanged], 0u);
    EXPECT_GE(path_hits_, 800u);
  }

  std::map<std::string, uint64_t> answered_;
  std::map<NeedRef, uint64_t> left_;
  uint64_t path_hits_ = 0;
};

// WALK-19.
TEST_F(Equivalence, WhatIsAnsweredUnderRcuIsAnsweredAlikeWithReferencesAndBack) {
  const uint64_t states = FromEnvironment("NFSWALK_EXITS_STATES", kStatesOfTheFloors);
  uint64_t seed = FromEnvironment("NFSWALK_EXITS_SEED", 1);
  for (uint64_t done = 0; done < states; ++seed) {
    RandomWorld world(seed);
    for (size_t step = 0; step < kStepsInAWorld; ++step) {
      world.Step();
      for (size_t i = 0; i < kQuestionsAfterAStep; ++i, ++done) {
        if (!Compare(world, seed, step)) return;
      }
    }
    CountPathHits(world);
  }
  Report();
  if (states >= kStatesOfTheFloors) ExpectFloors();
}

}  // namespace
}  // namespace nfswalk::exits
