#include "tests/differential/kernel.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace nfswalk::differential {
namespace {

// Relative to the runfiles, where Bazel starts a test.
constexpr char kProgram[] = "tests/differential/kernel_answerer";

[[noreturn]] void Fail(const char* what) {
  std::perror(what);
  std::abort();
}

}  // namespace

Kernel::~Kernel() {
  for (const Process& process : processes_) {
    close(process.questions);
    close(process.answers);
    waitpid(process.pid, nullptr, 0);
  }
}

Kernel::Process Kernel::Start(const sunrpc_auth::Credential& who) const {
  const WireIdentity wire = OnTheWire(who, root_squash_);
  std::vector<std::string> words = {kProgram, directory_, std::to_string(wire.uid),
                                    std::to_string(wire.gid)};
  for (uint32_t group : wire.groups) words.push_back(std::to_string(group));
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  int questions[2], answers[2];
  if (pipe2(questions, O_CLOEXEC) != 0 || pipe2(answers, O_CLOEXEC) != 0) Fail("pipe2");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, questions[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, answers[1], STDOUT_FILENO);
  pid_t pid = -1;
  errno = posix_spawn(&pid, kProgram, &actions, nullptr, arguments.data(), environ);
  if (errno != 0) Fail(kProgram);
  posix_spawn_file_actions_destroy(&actions);
  close(questions[0]);
  close(answers[1]);
  return {who, pid, questions[1], answers[0]};
}

Kernel::Process& Kernel::ProcessOf(const sunrpc_auth::Credential& who) {
  for (Process& process : processes_) {
    if (process.identity == who) return process;
  }
  return processes_.emplace_back(Start(who));
}

PathAnswers Kernel::Ask(const PathQuestion& question, const sunrpc_auth::Credential& who) {
  const Process& process = ProcessOf(who);
  const auto* sent = reinterpret_cast<const char*>(&question);
  for (size_t done = 0; done < sizeof question;) {
    const ssize_t count = write(process.questions, sent + done, sizeof question - done);
    if (count <= 0) Fail("ask kernel_answerer");
    done += static_cast<size_t>(count);
  }
  PathAnswers answers;
  auto* received = reinterpret_cast<char*>(&answers);
  for (size_t done = 0; done < sizeof answers;) {
    const ssize_t count = read(process.answers, received + done, sizeof answers - done);
    if (count <= 0) Fail("kernel_answerer has ended");
    done += static_cast<size_t>(count);
  }
  return answers;
}

}  // namespace nfswalk::differential
