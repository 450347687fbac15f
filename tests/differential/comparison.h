// comparison: compares the client's results with the kernel's own in the backing directory.
//
// Questions go to processes that have a credential and the directory as root, one for each
// credential: absolute links and `..` at the root mean there what they mean to the client.
//
// Thread safety: one thread at a time.
#ifndef NFSWALK_TESTS_DIFFERENTIAL_COMPARISON_H_
#define NFSWALK_TESTS_DIFFERENTIAL_COMPARISON_H_

#include <sys/types.h>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nfsclient/client.h"
#include "tests/differential/identities.h"
#include "tests/differential/path_answers.h"

namespace nfswalk::differential {

// Calls to compare. `access_modes`: bit n for mode n of access(2).
struct Aspects {
  bool stat = true;
  bool read_link = true;
  uint8_t access_modes = 0xff;
  bool itself = true;  // also AT_SYMLINK_NOFOLLOW
};

struct Question {
  std::string path;
  size_t who = 0;  // index of AllIdentities()
  ResolveFlags flags = {};
  Aspects aspects = {};
};

// Returns `bytes` as a C string literal.
std::string Escaped(std::string_view bytes);

// A question and the kernel's results.
struct AnsweredQuestion {
  Question question;
  PathAnswers kernel;
};

class Kernel {
 public:
  // `directory`: the root of the processes.
  Kernel(std::string directory, Squash squash)
      : directory_(std::move(directory)), squash_(squash) {}
  ~Kernel();

  // Returns the kernel's results for the wire form of `who`. Aborts if the process cannot be
  // started or does not reply.
  PathAnswers Ask(const PathQuestion& question, const sunrpc_auth::Credential& who);

 private:
  struct Process {
    sunrpc_auth::Credential identity;
    pid_t pid;
    int questions;  // descriptors of pipes
    int answers;
  };
  Process& ProcessOf(const sunrpc_auth::Credential& who);
  Process Start(const sunrpc_auth::Credential& who) const;

  const std::string directory_;
  const Squash squash_;
  std::vector<Process> processes_;
};

class Comparison {
 public:
  // `directory`, `squash`, `write_needs_search`: the server's. Keeps a reference to
  // `identities`.
  Comparison(std::string directory, Squash squash, bool write_needs_search,
             const std::vector<Identity>& identities)
      : kernel_(std::move(directory), squash),
        write_needs_search_(write_needs_search),
        identities_(identities) {}

  AnsweredQuestion AskKernel(const Question& question);

  // Asks the client; a result that differs from the kernel's is added to
  // Differences(). `situation`: describes the client in messages.
  void Check(Client& client, const AnsweredQuestion& answered, std::string_view situation);

  // The number of results compared.
  size_t checked() const { return checked_; }
  // Returns for how many questions the kernel's stat(2) gave this errno.
  size_t Answered(int error) const {
    const auto found = errors_.find(error);
    return found == errors_.end() ? 0 : found->second;
  }
  // Returns "", or the number of differences and the first ones.
  std::string Differences() const;

 private:
  struct Place {
    const Question& question;
    std::string_view situation;
  };
  void CheckStat(Client& client, const AnsweredQuestion& answered, bool itself, Place place);
  void CheckAccess(Client& client, const AnsweredQuestion& answered, bool itself, Place place);
  void CheckLink(Client& client, const AnsweredQuestion& answered, Place place);
  void Report(Place place, std::string_view call, const std::string& client,
              const std::string& kernel);
  const Credential& CredentialOf(const Question& question) const {
    return identities_[question.who].credential;
  }

  Kernel kernel_;
  const bool write_needs_search_;
  const std::vector<Identity>& identities_;
  size_t checked_ = 0;
  size_t differences_ = 0;
  std::map<int, size_t> errors_;
  std::string first_;
};

}  // namespace nfswalk::differential

#endif  // NFSWALK_TESTS_DIFFERENTIAL_COMPARISON_H_
