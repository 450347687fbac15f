// WALK-19: in every state of the caches, what RCU-walk answers equals what ref-walk answers without
// the server. Conversely, what ref-walk answers without the server, RCU-walk answers once the
// credential is cached, but for two known exits. Where RCU-walk leaves, ref-walk answers, and calls
// the server, as from the start.
//
// NFSWALK_EXITS_STATES: the number of random states (100,000). NFSWALK_EXITS_SEED: the seed of the
// first world; a failure prints the seed of its own.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "tests/exits/frozen_question.h"
#include "tests/exits/random_world.h"
#include "tests/fixtures/interleavings.h"

namespace nfswalk::exits {
namespace {

// A state: the content of the caches, and a question.
constexpr size_t kStepsInAWorld = 500;
constexpr size_t kQuestionsAfterAStep = 2;
constexpr uint64_t kStatesOfTheFloors = 100'000;

// "LOOKUP 2 a": procedure, file id and names. Without what prefetches, and what fails unnoticed:
// whole paths, and listings.
using Calls = std::vector<std::string>;

Calls TakeCalls(fixtures::FaultyProtocol& protocol) {
  Calls calls;
  for (const fixtures::LoggedCall& call : protocol.TakeLog()) {
    if (call.procedure == "COMPOUND" || call.procedure == "READDIR") continue;
    std::string& text = calls.emplace_back(call.procedure);
    text += " " + std::to_string(fixtures::MemoryServer::IdOf(call.file));
    for (const std::string& name : call.names) text += " " + name;
  }
  return calls;
}

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

std::string KindOf(const Question& question, const Answer& answer) {
  if (answer.error == std::errc{}) {
    return question.kind == Question::kStat     ? "attributes"
           : question.kind == Question::kAccess ? "granted"
           : question.kind == Question::kParent ? "parent"
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

// A walk that meets a valid name of an unlinked file drops the attributes of the directory, asks
// for the name, and fails here; then the next one asks for the attributes first (ATTR-16).
bool IsOfDroppedAttributes(const Calls& next, const Calls& calls) {
  if (next.size() != 1 || calls.size() != 1 || !calls[0].starts_with("LOOKUP ")) return false;
  const size_t directory = calls[0].find(' ');
  return next[0] == "GETATTR" + calls[0].substr(directory, calls[0].rfind(' ') - directory);
}

class Equivalence : public testing::Test {
 protected:
  // Compares one state. Returns false when done.
  bool Compare(RandomWorld& world, uint64_t seed, size_t step) {
    const Question question = world.DrawQuestion();
    fixtures::FaultyProtocol& protocol = world.protocol();
    (void)TakeCalls(protocol);
    protocol.Fail("", std::errc::io_error);
    RcuAnswer under_rcu = AskRcu(world.client(), question);
    EXPECT_EQ(TakeCalls(protocol), Calls());
    const Answer with_references = AskRef(world.client(), question);
    const Calls calls = TakeCalls(protocol);
    // Leaves RCU-walk and continues from where that ended.
    EXPECT_EQ(Ask(world.client(), question), with_references);
    const Calls continued = TakeCalls(protocol);
    if (!IsOfDroppedAttributes(continued, calls)) {
      EXPECT_EQ(continued, under_rcu.need == NeedRef::kNone ? Calls() : calls);
    }
    ++left_[under_rcu.need];
    // The credential is cached now.
    if (under_rcu.need == NeedRef::kAllocation) under_rcu = AskRcu(world.client(), question);
    protocol.Fail("", {});

    const bool answered = under_rcu.need == NeedRef::kNone;
    // A stale directory is left to ref-walk, so that a forced revalidation can follow.
    const bool known_exit =
        under_rcu.need == NeedRef::kAllocation
            ? FillsReadSet(world, question)
            : under_rcu.need == NeedRef::kGetattrRpc && with_references.error == protocol::kStale;
    if (answered) ++answered_[KindOf(question, under_rcu.answer)];
    EXPECT_TRUE(answered ? under_rcu.answer == with_references && calls.empty()
                         : known_exit || !calls.empty());
    if (!HasFailure()) return true;
    ADD_FAILURE() << "seed " << seed << ", step " << step << ", " << world.Describe() << "\n"
                  << testing::PrintToString(question)
                  << "\nunder RCU: " << testing::PrintToString(under_rcu.need) << ", "
                  << testing::PrintToString(under_rcu.answer)
                  << "\nwith references: " << testing::PrintToString(with_references) << ", calls "
                  << testing::PrintToString(calls);
    return false;
  }

  // Returns whether a walk is strict and takes the steps that fill its read set: 256 samples, two
  // at most for a component, and two more for a link.
  static bool FillsReadSet(RandomWorld& world, const Question& question) {
    if (!world.IsStrict(question)) return false;
#ifdef NDEBUG
    return true;
#else
    const CountAt components("walk:next-component"), links("walk:after-link-text");
    (void)AskRcu(world.client(), question);
    rcu::SyncPointScript::ClearAll();
    return 2 * (components.count() + links.count()) >= 256;
#endif
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
        {"attributes", 3000},    {"granted", 1500},         {"denied", 2500},  {"link text", 1500},
        {"negative", 4000},      {"not a directory", 5000}, {"beneath", 1000}, {"invalid", 600},
        {"too many links", 700}, {"too long", 100},         {"parent", 1300}};
    for (const auto& [kind, floor] : floors) EXPECT_GE(answered_[kind], floor) << kind;
    // Each reason to leave RCU-walk occurred but two: nothing changes under a walk here, and no
    // mount has walk=ref. One that completes is an answer.
    for (const NeedRef need : {NeedRef::kLookupRpc, NeedRef::kGetattrRpc, NeedRef::kAccessRpc,
                               NeedRef::kReadlinkRpc, NeedRef::kAllocation, NeedRef::kMiss}) {
      EXPECT_GE(left_[need], 34u) << NeedRefName(need);
    }
    EXPECT_EQ(left_[NeedRef::kChanged], 0u);
    EXPECT_GE(path_hits_, 800u);
  }

  std::map<std::string, uint64_t> answered_;
  std::map<NeedRef, uint64_t> left_;
  uint64_t path_hits_ = 0;
};

// WALK-19.
TEST_F(Equivalence, RcuWalkAndRefWalkAnswerAlike) {
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
