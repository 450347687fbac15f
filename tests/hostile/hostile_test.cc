// Attacks of a server on each command and on programs with the installed libraries: each ends by
// itself, in time, in bounded memory, with what Linux' client says, and lets nothing through to a
// terminal or out of the target of a copy.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "tests/fixtures/libnfs_raw.h"
#include "tests/fixtures/loopback.h"
#include "tests/hostile/hostile_names.h"
#include "tests/hostile/hostile_server.h"
#include "tests/hostile/leaks.h"
#include "tests/hostile/victim.h"
#include "tests/integration/program_run.h"

namespace nfswalk::hostile {
namespace {

using std::chrono::milliseconds;
namespace fs = std::filesystem;

constexpr size_t kProcesses = 8;
constexpr size_t kShownBytes = 400;  // of what a failed run has printed

struct Target {
  std::string name;
  Strings arguments;  // words of capitals are replaced
};

constexpr const char* kCommand = "nfsclient/cli/nfswalk";

const std::vector<Target>& Targets() {
  static const std::string command = kCommand;
  static const std::vector<Target> targets = {
      {"stat", {command, "stat", "URL", "dir/inner", "link"}},
      {"ls", {command, "ls", "-lR", "URL"}},
      {"find", {command, "find", "URL"}},
      {"du", {command, "du", "-a", "URL"}},
      {"cat", {command, "cat", "URL", "file", "dir/inner"}},
      {"cp", {command, "cp", "-r", "URL", ".", "COPY"}},
      {"readlink", {command, "readlink", "URL", "link"}},
      {"access", {command, "access", "-r", "URL", "dir/inner", "file"}},
      {"doctor", {command, "doctor", "URL", "dir/inner"}},
      {"rm", {command, "rm", "-r", "URL", "dir", "file"}},
      {"chmod", {command, "chmod", "-R", "-m", "u+rwx", "URL", "dir"}},
      {"cp to", {command, "cp", "SOURCE", "URL", "new"}},
      {"cp between", {command, "cp", "-r", "URL", "dir", "URL", "new"}},
      {"put", {command, "put", "URL", "new"}},
      {"touch", {command, "touch", "URL", "file", "new"}},
      {"mkdir", {command, "mkdir", "URL", "new"}},
      {"mv", {command, "mv", "URL", "file", "dir"}},
      {"ln", {command, "ln", "URL", "file", "new"}},
      {"ln -s", {command, "ln", "-s", "URL", "text", "new"}},
      {"libnfswalk.so", {"SHARED", "URL", "ROUNDS"}},
      {"libnfswalk.a", {"STATIC", "URL", "ROUNDS"}},
  };
  return targets;
}

#ifdef NFSWALK_TEST_NIGHTLY
constexpr bool kNightly = true;
#else
constexpr bool kNightly = false;
#endif

std::string Scratch(const std::string& name) {
  return std::string(getenv("TEST_TMPDIR")) + "/" + name;
}

void Sh(const std::string& command) {
  const ProgramRun run = RunProgram({"sh", "-c", command});
  ASSERT_EQ(run.exit_code, 0) << command << "\n" << run.out << run.err;
}

// A network of the test alone, where port 111 is free on each address 127.x.x.x. Before the first
// thread.
void EnterOwnNetwork() {
  const uid_t uid = geteuid();
  ASSERT_EQ(unshare(CLONE_NEWUSER | CLONE_NEWNET), 0) << std::strerror(errno);
  std::ofstream("/proc/self/uid_map") << uid << " " << uid << " 1";
  ifreq loopback{};
  std::strcpy(loopback.ifr_name, "lo");
  loopback.ifr_flags = IFF_UP | IFF_RUNNING;
  const Descriptor socket(fixtures::NewSocket());
  ASSERT_EQ(ioctl(socket.fd, SIOCSIFFLAGS, &loopback), 0) << std::strerror(errno);
}

// Builds client.c as an installed library's user does.
void BuildClients() {
  const std::string place = Scratch("installed");
  const std::string lib = place + "/nfswalk-0.1.0/lib";
  fs::create_directories(place);
  Sh("tar --no-same-owner -C " + place + " -xf nfswalk-0.1.0.tar.gz");
  const std::string gcc = "gcc -std=c99 -Wall -Wextra -Werror -I" + place +
                          "/nfswalk-0.1.0/include tests/hostile/client.c -o ";
  Sh(gcc + Scratch("SHARED") + " -L" + lib + " -lnfswalk -Wl,-rpath," + lib);
  Sh(gcc + Scratch("STATIC") + " " + lib + "/libnfswalk.a $(sed -n 's/^Libs.private: //p' " + lib +
     "/pkgconfig/nfswalk.pc)");
}

struct Outcome {
  VictimEnd end = {};
  int attacked = 0;
  std::set<std::pair<Service, int>> called = {};
  bool has_escaped = false;  // from the target of a copy
};

// So long that only what hangs is killed, on a busy machine, too.
VictimLimits LimitsFor(const Attack& attack, const Target& target) {
  VictimLimits limits{milliseconds{90'000}};
  const bool is_command = target.arguments.front() == kCommand;
  if (attack.ending == Ending::kInterrupted && is_command) {
    limits.interrupted_after = milliseconds{1500};
  }
  return limits;
}

Outcome Run(const Attack& attack, const Target& target, uint32_t number) {
  HostileServer server(attack, INADDR_LOOPBACK + 1 + number);
  const std::string place = Scratch("case" + std::to_string(number));
  fs::create_directories(place + "/a");
  Strings arguments = target.arguments;
  for (std::string& argument : arguments) {
    if (argument == "URL") argument = server.Url();
    if (argument == "COPY") argument = place + "/a/copy";
    if (argument == "SOURCE") argument = Scratch(argument);
    if (argument == "ROUNDS") argument = std::to_string(attack.rounds);
    if (argument == "SHARED" || argument == "STATIC") argument = Scratch(argument);
  }
  Outcome outcome{.end = RunVictim(arguments, LimitsFor(attack, target))};
  outcome.attacked = server.attacked();
  outcome.called = server.called();
  outcome.has_escaped = IsAnythingBeside(place);
  fs::remove_all(place);
  return outcome;
}

using Outcomes = std::map<std::string, Outcome>;  // by target

// The runs of all attacks that are to be made, kProcesses at a time.
class Runs {
 public:
  // Preconditions: not started, or all that was added is done.
  void Add(const Attack& attack, const Target& target) {
    jobs_.push_back({&attack, &target});
    ++open_[NameOf(attack)];
  }
  void Start() {
    JoinAll();
    for (size_t i = 0; i < kProcesses; ++i) threads_.emplace_back([this] { Work(); });
  }
  // Blocks until all runs of the attack are made.
  Outcomes Await(const Attack& attack) {
    const std::string key = NameOf(attack);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return open_[key] == 0; });
    return std::move(outcomes_[key]);
  }
  ~Runs() {
    {
      const std::lock_guard lock(mutex_);
      jobs_.clear();
    }
    JoinAll();
  }

 private:
  struct Job {
    const Attack* attack;
    const Target* target;
  };

  void JoinAll() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  void Work() {
    std::unique_lock lock(mutex_);
    while (!jobs_.empty()) {
      const auto [attack, target] = jobs_.front();
      jobs_.pop_front();
      const uint32_t number = next_number_++;
      lock.unlock();
      Outcome outcome = Run(*attack, *target, number);
      lock.lock();
      const std::string key = NameOf(*attack);
      outcomes_[key][target->name] = std::move(outcome);
      --open_[key];
      done_.notify_all();
    }
  }

  std::mutex mutex_;  // of all below but the threads
  std::condition_variable done_;
  std::deque<Job> jobs_;
  uint32_t next_number_ = 0;
  std::map<std::string, int> open_;
  std::map<std::string, Outcomes> outcomes_;
  std::vector<std::thread> threads_;
};

bool NamesAnyOf(const std::string& text, const std::vector<std::errc>& errors) {
  return std::ranges::any_of(errors, [&](std::errc error) {
    return text.find(std::make_error_code(error).message()) != text.npos;
  });
}

// Whether the program makes no listing but one ahead of its lookups, whose errors are not reported.
bool ListsAtMostAhead(const std::string& target, const Attack& attack) {
  const std::set<int> listings = attack.version == 3 ? std::set<int>{NFS3_READDIR, NFS3_READDIRPLUS}
                                                     : std::set<int>{OP_READDIR};
  const bool looks_up = target == "stat" || target == "cat" || target == "access";
  return looks_up && !attack.operations.empty() &&
         std::ranges::all_of(attack.operations,
                             [&](int operation) { return listings.contains(operation); });
}

// Whether the program has what it needs from listings, and removes by names.
bool MakesDoWithoutLookups(const std::string& target, const Attack& attack) {
  const int lookup = attack.version == 3 ? int{NFS3_LOOKUP} : int{OP_LOOKUP};
  return target == "rm" && attack.operations == std::set<int>{lookup};
}

// Returns what is wrong with a run, or "". `benign`: the same target without an attack.
std::string Verdict(const Attack& attack, const std::string& target, const Outcome& run,
                    const Outcome& benign) {
  const VictimEnd& end = run.end;
  if (end.was_killed) return "did not end";
  const bool interrupted = attack.ending == Ending::kInterrupted && end.signal == SIGINT;
  if (end.signal != 0 && !interrupted) return std::string("ended by ") + strsignal(end.signal);
  if (end.exit_code == 2) return "was called in a wrong way";
  for (const char* report : {"Sanitizer", "runtime error:"}) {
    if (end.err.find(report) != std::string::npos) return end.err;
  }
  if (!interrupted && end.resident_kib_max > benign.end.resident_kib_max + kMoreKibMax) {
    return "took " + std::to_string(end.resident_kib_max) + " KiB, without the attack " +
           std::to_string(benign.end.resident_kib_max);
  }
  if (run.has_escaped) return "wrote outside of its target";
  const bool prints_contents = target == "cat";
  if (!prints_contents && !IsSafeForTerminal(end.out)) return "printed raw bytes: " + end.out;
  if (!IsSafeForTerminal(end.err)) return "complained with raw bytes: " + end.err;
  // Doctor prints times, which differ from run to run.
  const bool is_doctor = target == "doctor";
  const bool served = end.exit_code == 0 && (is_doctor || end.out == benign.end.out);
  if (run.attacked == 0 || attack.ending == Ending::kServed) {
    return served ? "" : "was not served: " + end.out + end.err;
  }
  if (attack.ending != Ending::kFails || is_doctor || ListsAtMostAhead(target, attack) ||
      MakesDoWithoutLookups(target, attack)) {
    return "";
  }
  if (end.exit_code == 0) return "did not fail";
  return NamesAnyOf(end.err, attack.errors) ? "" : "failed otherwise: " + end.err;
}

// Programs that change something meet a third of the attacks on what they only read.
bool IsLeftToTheNight(const Attack& attack, const std::string& target) {
  static const std::set<std::string> kChanging = {"rm",    "chmod", "cp to", "cp between", "put",
                                                  "touch", "mkdir", "mv",    "ln",         "ln -s"};
  const bool is_on_changes = std::ranges::any_of(attack.operations, [&](int operation) {
    return ChangingOperations(attack.version).contains(operation);
  });
  return kChanging.contains(target) && !is_on_changes &&
         (NameOf(attack).size() + target.size()) % 3 != 0;
}

// Whether a program may meet the attack, as its run without one shows. Mounting is the same for
// all.
bool IsWorthwhile(const Attack& attack, const std::string& target, const Outcome& benign) {
  static const std::set<std::string> kBelowTheRoot = {"chmod", "cp between", "rm"};
  if (attack.has_loop && kBelowTheRoot.contains(target)) return false;
  if (kNightly) return true;
  if (IsLeftToTheNight(attack, target)) return false;
  if (attack.timeout == MountTimeout::kMount) return target == "stat";
  return attack.service == Service::kPortmapper ||
         std::ranges::any_of(attack.operations, [&](int operation) {
           return benign.called.contains({attack.service, operation});
         });
}

// First the servers without an attack: what the verdicts compare with.
const std::vector<Attack>& Attacks() {
  static const std::vector<Attack> attacks = [] {
    std::vector<Attack> all;
    for (const auto& [version, minor_version] : Dialects()) {
      all.push_back({.name = "Benign", .version = version, .minor_version = minor_version});
    }
    for (const auto& some : {AllAttacks(), SessionAttacks(), InSession(AllAttacks())}) {
      all.insert(all.end(), some.begin(), some.end());
    }
    if (!kNightly) std::erase_if(all, [](const Attack& attack) { return attack.nightly; });
    return all;
  }();
  return attacks;
}
const Attack& Benign(const Dialect& dialect) {
  return *std::ranges::find(Attacks(), dialect, DialectOf);
}

TEST(Victim, IsSeenToCrashToHangAndToGrow) {
  const auto run = [](const char* script, milliseconds limit) {
    return RunVictim({"sh", "-c", script}, {limit});
  };
  constexpr milliseconds kLong{60'000};
  EXPECT_EQ(run("kill -SEGV $$", kLong).signal, SIGSEGV);
  EXPECT_TRUE(run("sleep 1000", milliseconds{100}).was_killed);
  const VictimEnd small = run("echo out; echo err >&2; exit 3", kLong);
  EXPECT_EQ(small.exit_code, 3);
  EXPECT_EQ(small.out + small.err, "out\nerr\n");
  const VictimEnd large = run("dd if=/dev/zero of=/dev/null bs=100M count=1", kLong);
  EXPECT_GT(large.resident_kib_max, small.resident_kib_max + 64 * 1024);
  EXPECT_EQ(RunVictim({"sleep", "1000"}, {kLong, milliseconds{100}}).signal, SIGINT);
}

TEST(Verdict, IsNoneOfAGoodRunAndOneOfEachBadOne) {
  const Attack attack{.name = "Any", .ending = Ending::kFails, .errors = {std::errc::io_error}};
  const Outcome benign{.end = {.exit_code = 0, .resident_kib_max = 9, .out = "a\tb\\\\c\n"}};
  const Outcome failed{.end = {.exit_code = 1, .err = "x: Input/output error\n"}, .attacked = 1};
  EXPECT_EQ(Verdict(attack, "stat", benign, benign), "");
  EXPECT_EQ(Verdict(attack, "stat", failed, benign), "");
  const std::vector<std::function<void(Outcome&)>> breakages = {
      [](Outcome& run) { run.end.was_killed = true; },
      [](Outcome& run) { run.end.signal = SIGSEGV; },
      [](Outcome& run) { run.end.exit_code = 2; },
      [](Outcome& run) { run.end.exit_code = 0; },
      [](Outcome& run) { run.end.resident_kib_max = 10 + kMoreKibMax; },
      [](Outcome& run) { run.has_escaped = true; },
      [](Outcome& run) { run.end.out = "\033[31m"; },
      [](Outcome& run) { run.end.out = "a\rb"; },
      [](Outcome& run) { run.end.out = "\xff"; },
      [](Outcome& run) { run.end.err += "\u202e"; },
      [](Outcome& run) { run.end.err = "x: Permission denied\n"; },
      [](Outcome& run) { run.attacked = 0; },
  };
  for (size_t i = 0; i < breakages.size(); ++i) {
    Outcome run = failed;
    breakages[i](run);
    EXPECT_NE(Verdict(attack, "stat", run, benign), "") << i;
  }
}

TEST(Copies, EscapeOfACopyIsDetected) {
  const std::string place = Scratch("copies");
  fs::create_directories(place + "/a/copy/dir");
  EXPECT_FALSE(IsAnythingBeside(place));
  fs::create_directory(place + "/a/copy2");
  EXPECT_TRUE(IsAnythingBeside(place));
}

class HostileServerTest : public testing::TestWithParam<Attack> {
 protected:
  static void SetUpTestSuite() {
    setenv("NO_COLOR", "1", 1);
    ASSERT_NO_FATAL_FAILURE(EnterOwnNetwork());
    ASSERT_NO_FATAL_FAILURE(BuildClients());
    std::ofstream(Scratch("SOURCE")) << std::string(150'000, 's');
    runs_ = new Runs;
    for (const Dialect& dialect : Dialects()) {
      for (const Target& target : Targets()) runs_->Add(Benign(dialect), target);
    }
    runs_->Start();
    for (const Dialect& dialect : Dialects()) {
      without_attack_[dialect] = runs_->Await(Benign(dialect));
    }
    AddAttacks(MountTimeout::kMount);  // first, since they take long
    AddAttacks(MountTimeout::kSilence);
    AddAttacks(MountTimeout::kReplies);
    runs_->Start();
  }
  static void TearDownTestSuite() { delete runs_; }

  static void AddAttacks(MountTimeout timeout) {
    const testing::TestSuite& suite = *testing::UnitTest::GetInstance()->current_test_suite();
    for (int i = 0; i < suite.total_test_count(); ++i) {
      const Attack& attack = Attacks().at(static_cast<size_t>(i));
      const testing::TestInfo& test = *suite.GetTestInfo(i);
      ASSERT_EQ(test.name(), "EndsNoProgram/" + NameOf(attack));
      if (!test.should_run() || attack.operations.empty() || attack.timeout != timeout) continue;
      for (const Target& target : Targets()) {
        const Outcome& benign = without_attack_[DialectOf(attack)][target.name];
        if (IsWorthwhile(attack, target.name, benign)) runs_->Add(attack, target);
      }
    }
  }

  static inline Runs* runs_ = nullptr;
  static inline std::map<Dialect, Outcomes> without_attack_;
};

TEST_P(HostileServerTest, EndsNoProgram) {
  const Attack& attack = GetParam();
  const Outcomes& benign = without_attack_[DialectOf(attack)];
  const Outcomes runs = attack.operations.empty() ? benign : runs_->Await(attack);
  int attacked = 0;
  for (const auto& [target, run] : runs) {
    attacked += run.attacked;
    const std::string verdict = Verdict(attack, target, run, benign.at(target));
    if (verdict.empty()) continue;
    ADD_FAILURE() << NameOf(attack) << " / " << target << ": " << verdict.substr(0, kShownBytes);
  }
  EXPECT_EQ(attacked > 0, !attack.operations.empty()) << "no program has met the attack";
}

INSTANTIATE_TEST_SUITE_P(Attacks, HostileServerTest, testing::ValuesIn(Attacks()),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace nfswalk::hostile
