// frozen_question: one question to a client, asked of each form of the walk alone and of the same
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

// What the pass under RCU says, with nothing behind it: an answer, or why it needs references.
struct RcuAnswer {
  NeedRef need = NeedRef::kNone;
  Answer answer;  // if need is kNone
};
RcuAnswer AskRcu(Client& client, const Question& question);

// The pass with references alone, and the third one after ESTALE: whatever the mount's walk= says,
// nothing is tried under RCU. May ask the server.
Answer AskRef(Client& client, const Question& question);

// The whole call.
Answer Ask(Client& client, const Question& question);

void PrintTo(const Question& question, std::ostream* stream);
void PrintTo(const Answer& answer, std::ostream* stream);

}  // namespace nfswalk::exits

namespace nfswalk {
inline void PrintTo(NeedRef reason, std::ostream* stream) { *stream << NeedRefName(reason); }
}  // namespace nfswalk

#endif  // NFSWALK_TESTS_EXITS_FROZEN_QUESTION_H_
