#include "tests/differential/comparison.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace nfswalk::differential {
namespace {

constexpr size_t kShownMax = 12;
constexpr size_t kPathShownMax = 300;

// Relative to the runfiles, where Bazel starts a test.
constexpr char kProgram[] = "tests/differential/kernel_answerer";

[[noreturn]] void Fail(const char* what) {
  std::perror(what);
  std::abort();
}

std::string ErrorName(int error) {
  const char* name = strerrorname_np(error);
  return error == 0 ? "no error" : name != nullptr ? name : std::to_string(error);
}

int ErrnoOf(std::errc error) { return static_cast<int>(error); }

std::string TimeText(const protocol::Time& time) {
  return fmt::format("{}.{:09}", time.seconds, time.nanoseconds);
}

std::string StatText(const StatAnswer& answer) {
  if (answer.error != 0) return ErrorName(answer.error);
  const protocol::Attributes& a = answer.attributes;
  return fmt::format(
      "type {} mode {:o} nlink {} owner {}:{} size {} used {} rdev {}:{} fileid {} "
      "atime {} mtime {} ctime {}",
      static_cast<int>(a.type), a.mode, a.nlink, a.uid, a.gid, a.size_bytes, a.used_bytes,
      a.rdev_major, a.rdev_minor, a.fileid, TimeText(a.atime), TimeText(a.mtime),
      TimeText(a.ctime));
}

std::string LinkText(const LinkAnswer& answer) {
  if (answer.error != 0) return ErrorName(answer.error);
  return Escaped({answer.text.data(), answer.size_bytes});
}

ResolveFlags With(ResolveFlags flags, bool itself) {
  flags.no_follow = itself;
  return flags;
}

}  // namespace

std::string Escaped(std::string_view bytes) {
  std::string text = "\"";
  for (char c : bytes.substr(0, kPathShownMax)) {
    const bool plain = c >= ' ' && c < 127 && c != '"' && c != '\\';
    text += plain ? std::string(1, c) : fmt::format("\\{:03o}", static_cast<unsigned char>(c));
  }
  text += '"';
  return bytes.size() > kPathShownMax ? fmt::format("{}... ({} bytes)", text, bytes.size()) : text;
}

Kernel::~Kernel() {
  for (const Process& process : processes_) {
    close(process.questions);
    close(process.answers);
    waitpid(process.pid, nullptr, 0);
  }
}

Kernel::Process Kernel::Start(const sunrpc_auth::Credential& who) const {
  const WireIdentity wire = OnTheWire(who, squash_);
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
  if (!WriteWhole(process.questions, question)) Fail("ask kernel_answerer");
  PathAnswers answers;
  if (!ReadWhole(process.answers, answers)) Fail("kernel_answerer has ended");
  return answers;
}

AnsweredQuestion Comparison::AskKernel(const Question& question) {
  PathQuestion asked;
  asked.no_symlinks = question.flags.no_symlinks;
  asked.beneath = question.flags.beneath;
  asked.in_root = question.flags.in_root;
  if (question.path.size() >= asked.path.size()) std::abort();
  std::ranges::copy(question.path, asked.path.begin());
  AnsweredQuestion answered{question, kernel_.Ask(asked, CredentialOf(question))};
  ++errors_[answered.kernel.stat[0].error];
  return answered;
}

void Comparison::Check(Client& client, const AnsweredQuestion& answered,
                       std::string_view situation) {
  const Place place{answered.question, situation};
  const Aspects& aspects = answered.question.aspects;
  for (bool itself : {false, true}) {
    if (itself && !aspects.itself) break;
    if (aspects.stat) CheckStat(client, answered, itself, place);
    if (aspects.access_modes != 0) CheckAccess(client, answered, itself, place);
  }
  if (aspects.read_link) CheckLink(client, answered, place);
}

void Comparison::CheckStat(Client& client, const AnsweredQuestion& answered, bool itself,
                           Place place) {
  const Question& question = answered.question;
  auto found = client.Stat(question.path, CredentialOf(question), With(question.flags, itself));
  StatAnswer answer{found ? 0 : ErrnoOf(found.error()), found ? *found : Attributes{}};
  answer.attributes.fsid = 0;
  answer.attributes.change = 0;
  const StatAnswer& kernel = answered.kernel.stat[itself];
  ++checked_;
  if (answer.error == kernel.error && answer.attributes == kernel.attributes) return;
  Report(place, itself ? "lstat" : "stat", StatText(answer), StatText(kernel));
}

void Comparison::CheckAccess(Client& client, const AnsweredQuestion& answered, bool itself,
                             Place place) {
  const Question& question = answered.question;
  const StatAnswer& found = answered.kernel.stat[itself];
  const bool write_needs_search = write_needs_search_ && found.error == 0 &&
                                  found.attributes.type == protocol::FileType::kDirectory;
  for (uint32_t mode = 0; mode < kAccessModes; ++mode) {
    if ((question.aspects.access_modes >> mode & 1) == 0) continue;
    const int answer = ErrnoOf(
        client.Access(question.path, mode, CredentialOf(question), With(question.flags, itself)));
    const uint32_t local = write_needs_search && (mode & W_OK) != 0 ? mode | X_OK : mode;
    const int kernel = answered.kernel.access[itself][local];
    ++checked_;
    if (answer == kernel) continue;
    Report(place, fmt::format("access {}{} of", mode, itself ? " not following a link" : ""),
           ErrorName(answer), ErrorName(kernel));
  }
}

void Comparison::CheckLink(Client& client, const AnsweredQuestion& answered, Place place) {
  const Question& question = answered.question;
  LinkAnswer answer;
  auto count = client.ReadLink(question.path, answer.text, CredentialOf(question), question.flags);
  if (count) {
    answer.size_bytes = static_cast<uint32_t>(*count);
  } else {
    answer.error = ErrnoOf(count.error());
  }
  const LinkAnswer& kernel = answered.kernel.link;
  ++checked_;
  if (answer.error == kernel.error && answer.size_bytes == kernel.size_bytes &&
      std::equal(answer.text.begin(), answer.text.begin() + answer.size_bytes,
                 kernel.text.begin())) {
    return;
  }
  Report(place, "readlink", LinkText(answer), LinkText(kernel));
}

void Comparison::Report(Place place, std::string_view call, const std::string& client,
                        const std::string& kernel) {
  if (++differences_ > kShownMax) return;
  const ResolveFlags& flags = place.question.flags;
  first_ += fmt::format("{} {}{}{}{} as {}, {}:\n  client: {}\n  kernel: {}\n", call,
                        Escaped(place.question.path), flags.no_symlinks ? " no_symlinks" : "",
                        flags.beneath ? " beneath" : "", flags.in_root ? " in_root" : "",
                        identities_[place.question.who].name, place.situation, client, kernel);
}

std::string Comparison::Differences() const {
  if (differences_ == 0) return "";
  return fmt::format("{} differences in {} answers, the first:\n{}", differences_, checked_,
                     first_);
}

}  // namespace nfswalk::differential
