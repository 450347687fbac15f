// oracle: a linearizability checker. Decides from the history of a tree whether a correct client
// could have had the outcome of a walk (WALK-15, WALK-16).
//
// A walk reads facts in order: may the directory be searched, what does the name lead to, what are
// the attributes in the end. The oracle tries all values that each fact may have had during the
// call:
//
//   kSteps         each fact held at a tick of the call, in order. What ref-walk guarantees:
//   between
//                  two steps the directory of the walk may be moved.
//   kHandOverHand  and at each of these ticks the walk's position was where the step before had
//                  found it: consecutive intervals overlap. What RCU-walk guarantees.
//   kStrict        all facts held at one tick. A change is then seen in all names it is about or in
//                  none, since that tick is before or after it. Attributes are facts of their
//                  own: a client may see a directory's new times before the new name.
//
// Thread safety: any number at once, while the history is sealed.
#ifndef NFSWALK_TESTS_STRESS_ORACLE_H_
#define NFSWALK_TESTS_STRESS_ORACLE_H_

#include <cstdint>
#include <string>
#include <system_error>

#include "tests/stress/oracle_history.h"

namespace nfswalk::stress {

enum class Guarantee { kSteps, kHandOverHand, kStrict };

struct Operation {
  enum class Kind : uint8_t { kStat, kAccess, kReadLink, kOpen };
  Kind kind = Kind::kStat;
  bool follow = true;      // a link in last place; unused by kReadLink, kOpen
  bool superuser = false;  // else the mode bits of others apply
  uint32_t mask = 0;       // of access(2): read and write
  std::string path = {};
};

struct Outcome {
  std::errc error{};
  Attributes attributes = {};  // of kStat
  std::string text = {};       // of kReadLink
};

struct Walk {
  Operation operation;
  Outcome outcome = {};
  Tick begin = 0;
  Tick end = 0;
};

// Returns the access(2) bits that a mode gives to others; all to the superuser.
inline uint32_t AccessBits(uint32_t mode, bool superuser) { return superuser ? 7 : mode & 7; }

enum class Verdict { kLegal, kIllegal, kUndecided };

// Returns kUndecided if there are too many possibilities to try. Preconditions: the history is
// sealed and contains all nodes since before the walk began.
Verdict Check(const History& history, const Walk& walk, Guarantee guarantee);

// Describes the walk and the last changes that it may have seen, with their ticks.
std::string Describe(const History& history, const Walk& walk, Guarantee guarantee);

}  // namespace nfswalk::stress

#endif  // NFSWALK_TESTS_STRESS_ORACLE_H_
