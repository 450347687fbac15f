// kernel: the kernel's own results for paths in the backing directory.
//
// Questions go to processes that have a credential and the directory as root, one for each
// credential: absolute links and `..` at the root mean there what they mean to the client.
//
// Thread safety: one thread at a time.
#ifndef NFSWALK_TESTS_DIFFERENTIAL_KERNEL_H_
#define NFSWALK_TESTS_DIFFERENTIAL_KERNEL_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "tests/differential/identities.h"
#include "tests/differential/path_answers.h"

namespace nfswalk::differential {

class Kernel {
 public:
  // `directory`: the root of the processes.
  Kernel(std::string directory, bool root_squash)
      : directory_(std::move(directory)), root_squash_(root_squash) {}
  ~Kernel();
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

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
  const bool root_squash_;
  std::vector<Process> processes_;
};

}  // namespace nfswalk::differential

#endif  // NFSWALK_TESTS_DIFFERENTIAL_KERNEL_H_
