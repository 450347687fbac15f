// frozen_question: one question to a client, answered by each form of the walk alone from the same
// caches, so that the answers can be compared (WALK-19).
//
// Thread safety: as the client's.
#ifndef NFSWALK_TESTS_EXITS_FROZEN_QUESTION_H_
#define NFSWALK_TESTS_EXITS_FROZEN_QUESTION_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <system_error>

#include "nfsclient/client.h"

namespace nfswalk::exits {

struct Question {
  enum Kind : uint8_t { kStat, kAccess, kReadLink };
  Kind kind = kStat;
  std::string path;
  Credential credential{1, 1};
  uint32_t mode = 0;  // of kAccess
  ResolveFlags flags = {};
};

struct Answer {
  std::errc error{};
  Attributes attributes = {};  // of kStat
  std::string text = {};       // of kReadLink
  friend bool operator==(const Answer&, const Answer&) = default;
};

// What RCU-walk alone answers, or why it leaves.
struct RcuAnswer {
  NeedRef need = NeedRef::kNone;
  Answer answer;  // valid if need is kNone
};
RcuAnswer AskRcu(Client& client, const Question& question);

// Ref-walk alone, and the forced revalidation after ESTALE, whatever the mount's walk= is. May call
// the server.
Answer AskRef(Client& client, const Question& question);

// The whole call, all attempts included.
Answer Ask(Client& client, const Question& question);

void PrintTo(const Question& question, std::ostream* stream);
void PrintTo(const Answer& answer, std::ostream* stream);

}  // namespace nfswalk::exits

namespace nfswalk {
inline void PrintTo(NeedRef reason, std::ostream* stream) { *stream << NeedRefName(reason); }
}  // namespace nfswalk

#endif  // NFSWALK_TESTS_EXITS_FROZEN_QUESTION_H_
