// frozen_question: one question to a client, answered by each form of the walk alone from the same
// caches, so that the answers can be compared (WALK-19).
//
// Thread safety: as the client's.
#ifndef NFSWALK_TESTS_EXITS_FROZEN_QUESTION_H_
#define NFSWALK_TESTS_EXITS_FROZEN_QUESTION_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>

#include "nfsclient/client.h"
#include "nfsclient/walk/walk.h"

namespace nfswalk::exits {

struct Question {
  // kParent: where a change of the path would begin.
  enum Kind : uint8_t { kStat, kAccess, kReadLink, kParent };
  Kind kind = kStat;
  std::string path;
  Credential credential{1, 1};
  uint32_t mode = 0;  // of kAccess
  ResolveFlags flags = {};
};

struct Answer {
  std::errc error{};
  Attributes attributes = {};  // of kStat; of kParent the file id
  std::string text = {};       // of kReadLink; of kParent the last component
  friend bool operator==(const Answer&, const Answer&) = default;
};

// Holds the answer of RCU-walk alone, or the reason why it leaves.
struct RcuAnswer {
  NeedRef need = NeedRef::kNone;
  Answer answer;  // valid if need is kNone
};
RcuAnswer AskRcu(Client& client, const Question& question);

// Resolves by ref-walk alone, and with forced revalidation after ESTALE.
template <class Finish>
std::errc ResolveRef(nfs::Superblock& superblock, std::string_view path,
                     const Credential& credential, const walk::WalkFlags& flags,
                     std::errc (walk::RefWalk::*resolve)(), Finish&& finish) {
  walk::PathWalk walk(superblock, walk::AtRoot(superblock), path, credential, flags);
  std::errc error = walk.Begin();
  if (error == std::errc{}) error = walk.Ref(walk::Revalidation::kAsNeeded, resolve, finish);
  if (error == protocol::kStale) {
    error = walk.Ref(walk::Revalidation::kForced, resolve, finish);
  }
  return error;
}

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
