// oracle: could a correct client have answered a walk like this? (WALK-15, WALK-16)
//
// A walk looks at facts, one after the other: may the directory be searched, what does the name
// lead to, what are the attributes in the end. The oracle tries all values that each fact may have
// had during the call, and asks whether some choice gives the answer:
//
//   kSteps   each fact was true at a moment of the call, these moments being in order. What a walk
//            with references promises: between two steps the directory it is in may be moved.
//   kHandOverHand  and, at each of these moments, the walk's position was where the step before had
//   found
//            it: consecutive intervals overlap. What a walk under RCU promises (Oracle A).
//   kStrict  all facts were true at one moment. A change is then seen in all names it is about or
//            in none, since that moment comes before it or after it (Oracle B). Attributes are
//            facts of their own: a client may learn of a directory's new times before it knows the
//            name.
//
// Thread safety: any number at once, while the history is sealed.
#ifndef NFSWALK_TESTS_STRESS_ORACLE_H_
#define NFSWALK_TESTS_STRESS_ORACLE_H_

#include <cstdint>
#include <string>
#include <system_error>

#include "tests/stress/oracle_history.h"

namespace nfswalk::stress {

enum class Promise { kSteps, kHandOverHand, kStrict };

struct Question {
  enum class Kind : uint8_t { kStat, kAccess, kReadLink };
  Kind kind = Kind::kStat;
  bool follow = true;      // a link in last place; ReadLink never does
  bool superuser = false;  // else the last three bits of a mode decide
  uint32_t mask = 0;       // of access(2): read and write
  std::string path = {};
};

struct Answer {
  std::errc error{};
  Attributes attributes = {};  // of kStat
  std::string text = {};       // of kReadLink
};

struct Walk {
  Question question;
  Answer answer = {};
  Tick begin = 0;
  Tick end = 0;
};

// The bits of access(2) that a mode gives to those who are neither owner nor of the group; all to
// the superuser.
inline uint32_t MayBits(uint32_t mode, bool superuser) { return superuser ? 7 : mode & 7; }

enum class Verdict { kLegal, kIllegal, kUndecided };

// kUndecided if there are too many possibilities to try. Preconditions: the history is sealed and
// has known all nodes since before the walk began.
Verdict Judge(const History& history, const Walk& walk, Promise promise);

// The walk and all that it may have seen, each with the time in which it may have seen it.
std::string Describe(const History& history, const Walk& walk, Promise promise);

}  // namespace nfswalk::stress

#endif  // NFSWALK_TESTS_STRESS_ORACLE_H_
