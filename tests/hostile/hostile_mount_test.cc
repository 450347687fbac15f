// Attacks in the messages of a server on the mount, and a program's system calls on that: each
// returns what a good server has, or an errno, or what the server says, well formed as it is; the
// mount serves afterwards, and ends as it is unmounted.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <set>
#include <thread>

#include "nfsclient/mount/mount_stats.h"
#include "tests/fixtures/libnfs_raw.h"
#include "tests/hostile/hostile_server.h"
#include "tests/hostile/leaks.h"
#include "tests/hostile/mounted_calls.h"
#include "tests/hostile/victim.h"
#include "tests/integration/program_run.h"

namespace nfswalk::hostile {
namespace {

namespace fs = std::filesystem;

#ifdef NFSWALK_TEST_NIGHTLY
constexpr bool kNightly = true;
#else
constexpr bool kNightly = false;
#endif

constexpr size_t kThreads = 8;
constexpr int kNotMounted = 3;  // the exit code
constexpr size_t kShownBytes = 400;  // of a result

struct MountedAttack {
  Attack attack;
  // Set if what the server sends is well formed: a client cannot tell it from the truth.
  bool may_lie = false;
};

std::vector<MountedAttack> Attacks() {
  std::vector<MountedAttack> all;
  const auto add = [&](const std::vector<Attack>& attacks, bool in_results) {
    for (const Attack& attack : attacks) {
      all.push_back({attack, in_results && (attack.ending != Ending::kFails || attack.has_loop)});
      all.back().attack.plant = [](protocol::FakeTreeServer& server) {
        server.Put(kEmptyDirectory, {.type = protocol::FakeNode::Type::kDirectory, .mode = 0755});
      };
    }
  };
  for (const auto& [version, minor_version] : Dialects()) {
    add({{.name = "Benign", .version = version, .minor_version = minor_version}}, false);
  }
  for (const int version : {3, 4}) {
    add(RecordAttacks(version), false);
    add(RpcAttacks(version), false);
  }
  add(InSession(RecordAttacks(4)), false);
  add(InSession(RpcAttacks(4)), false);
  add(Nfs3Attacks(), true);
  add(Nfs4Attacks(), true);
  add(ChangeAttacks(), true);
  add(SessionAttacks(), true);
  add(InSession(Nfs4Attacks()), true);
  add(InSession(ChangeAttacks()), true);
  return all;
}
const std::vector<MountedAttack>& AllMounted() {
  static const std::vector<MountedAttack> all = Attacks();
  return all;
}

struct Outcome {
  bool was_mounted = false;
  CallResult result = {};
  bool has_served = false;   // after the call
  bool was_unmounted = false;
  VictimEnd end = {};
  int attacked_by_mount = 0;
  int attacked = 0;
  std::set<std::pair<Service, int>> called = {};
};

bool IsMounted(const std::string& directory) {
  std::ifstream table("/proc/self/mountinfo");
  for (std::string line; std::getline(table, line);) {
    if (line.find(" " + directory + " ") != line.npos) return true;
  }
  return false;
}

// Returns whether it was mounted before the command ended.
bool AwaitMount(const std::string& directory, const std::future<VictimEnd>& ended) {
  const Descriptor table(open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
  constexpr int kLookMilliseconds = 10;  // for the end
  while (!IsMounted(directory)) {
    if (ended.wait_for(std::chrono::seconds(0)) == std::future_status::ready) return false;
    pollfd changes{table.fd, POLLPRI, 0};
    poll(&changes, 1, kLookMilliseconds);
  }
  return true;
}

Outcome Run(const Attack& attack, const MountedCall& call, size_t number) {
  HostileServer server(attack, INADDR_LOOPBACK);
  const std::string directory =
      std::string(getenv("TEST_TMPDIR")) + "/mount" + std::to_string(number);
  fs::create_directory(directory);
  const Strings command = {"nfsclient/cli/nfswalk", "mount", "-f", server.Url(), directory};
  std::future<VictimEnd> ended =
      std::async(std::launch::async, [&] { return RunVictim(command, {}); });
  Outcome outcome{.was_mounted = AwaitMount(directory, ended)};
  outcome.attacked_by_mount = server.attacked();
  if (outcome.was_mounted) {
    outcome.result = call.make(directory);
    outcome.has_served = mount::ReadSamples(directory).has_value();
    outcome.was_unmounted = umount2(directory.c_str(), MNT_DETACH) == 0;
  }
  outcome.end = ended.get();
  outcome.attacked = server.attacked();
  outcome.called = server.called();
  rmdir(directory.c_str());
  return outcome;
}

// Returns what is wrong with a run, or "". `benign`: the same call without an attack.
std::string Verdict(const MountedAttack& mounted, const std::string& call, const Outcome& run,
                    const Outcome& benign) {
  const Attack& attack = mounted.attack;
  const VictimEnd& end = run.end;
  if (end.signal != 0) return std::string("ended by ") + strsignal(end.signal);
  for (const char* report : {"Sanitizer", "runtime error:"}) {
    if (end.err.find(report) != std::string::npos) return end.err;
  }
  if (end.resident_kib_max > benign.end.resident_kib_max + kMoreKibMax) {
    return "took " + std::to_string(end.resident_kib_max) + " KiB";
  }
  if (!IsSafeForTerminal(end.err)) return "complained with raw bytes: " + end.err;
  const bool has_to_serve = attack.ending == Ending::kServed || run.attacked == 0;
  if (!run.was_mounted) {
    const bool may_refuse = run.attacked_by_mount > 0 && !has_to_serve;
    return may_refuse && end.exit_code == kNotMounted ? "" : "was not mounted: " + end.err;
  }
  if (!run.has_served) return "serves no longer: " + end.err;
  if (!run.was_unmounted || end.exit_code != 0) return "was not unmounted: " + end.err;
  if (mounted.may_lie && !has_to_serve) return "";
  const CallResult& result = run.result;
  // Its attributes are the file system's, of which the servers of version 4 have none.
  const bool is_of_file_system = call == "StatFs";
  if (attack.ending == Ending::kFails && run.attacked > run.attacked_by_mount &&
      !is_of_file_system) {
    const bool is_named = std::ranges::any_of(
        attack.errors, [&](std::errc error) { return static_cast<int>(error) == result.error; });
    return is_named ? "" : "did not fail so: " + testing::PrintToString(result);
  }
  if (result == benign.result || (result.error != 0 && !has_to_serve)) return "";
  return "returned " + testing::PrintToString(result).substr(0, kShownBytes) + ", not " +
         testing::PrintToString(benign.result).substr(0, kShownBytes);
}

// The calls that meet the attack: all of them, or one.
std::vector<const MountedCall*> CallsFor(const Attack& attack,
                                         const std::map<std::string, Outcome>& benign,
                                         size_t number) {
  std::vector<const MountedCall*> calls;
  for (const MountedCall& call : MountedCalls()) {
    const bool meets = std::ranges::any_of(attack.operations, [&](int operation) {
      return benign.at(call.name).called.contains({attack.service, operation});
    });
    if (meets || attack.operations.empty()) calls.push_back(&call);
  }
  if (!kNightly && !attack.operations.empty() && !calls.empty()) {
    calls = {calls[number % calls.size()]};
  }
  return calls;
}

class HostileMountTest : public testing::TestWithParam<size_t> {
 protected:
  static void SetUpTestSuite() {
    if (geteuid() != 0) GTEST_SKIP() << "a namespace of its own needs root";
    if (access("/dev/fuse", R_OK | W_OK) != 0) GTEST_SKIP() << "no /dev/fuse";
    // Before the first thread. What is mounted here ends with this process at the latest.
    ASSERT_EQ(unshare(CLONE_NEWNS), 0) << std::strerror(errno);
    ASSERT_EQ(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    work_ = new Work;
  }
  static void TearDownTestSuite() {
    delete work_;
    work_ = nullptr;
  }
  void SetUp() override {
    if (work_ == nullptr) GTEST_SKIP() << "cannot mount";
  }

  using Outcomes = std::map<std::string, Outcome>;  // by call
  static Outcomes Of(size_t attack) { return work_->outcomes[attack].get_future().get(); }
  static const Outcomes& Benign(const Attack& attack) {
    return work_->benign.at(DialectOf(attack));
  }

 private:
  // The runs of all attacks that are to be made, kThreads at a time.
  struct Work {
    Work() : outcomes(AllMounted().size()) {
      for (size_t i = 0; i < AllMounted().size(); ++i) {
        const Attack& attack = AllMounted()[i].attack;
        if (attack.operations.empty()) benign[DialectOf(attack)] = Make(i, {});
      }
      const testing::TestSuite& suite = *testing::UnitTest::GetInstance()->current_test_suite();
      for (int i = 0; i < suite.total_test_count(); ++i) {
        if (suite.GetTestInfo(i)->should_run()) wanted.push_back(static_cast<size_t>(i));
      }
      for (size_t i = 0; i < kThreads; ++i) threads.emplace_back([this] { Run(); });
    }
    void Run() {
      for (size_t i = next++; i < wanted.size(); i = next++) {
        const Attack& attack = AllMounted()[wanted[i]].attack;
        outcomes[wanted[i]].set_value(Make(wanted[i], benign.at(DialectOf(attack))));
      }
    }
    Outcomes Make(size_t number, const Outcomes& without_attack) {
      const Attack& attack = AllMounted()[number].attack;
      Outcomes made;
      for (const MountedCall* call : CallsFor(attack, without_attack, number)) {
        made[call->name] = hostile::Run(attack, *call, ++mounts);
      }
      return made;
    }

    std::map<Dialect, Outcomes> benign;
    std::vector<std::promise<Outcomes>> outcomes;
    std::vector<size_t> wanted;
    std::atomic<size_t> next = 0, mounts = 0;
    std::vector<std::jthread> threads;
  };

  static inline Work* work_ = nullptr;
};

TEST_P(HostileMountTest, EndsNoMount) {
  const MountedAttack& mounted = AllMounted()[GetParam()];
  const Attack& attack = mounted.attack;
  const Outcomes& benign = Benign(attack);
  int attacked = 0;
  for (const auto& [call, run] : Of(GetParam())) {
    attacked += run.attacked;
    EXPECT_EQ(Verdict(mounted, call, run, benign.at(call)), "") << call;
  }
  EXPECT_EQ(attacked > 0, !attack.operations.empty()) << "no call has met the attack";
}

INSTANTIATE_TEST_SUITE_P(Attacks, HostileMountTest,
                         testing::Range(size_t{0}, AllMounted().size()),
                         [](const auto& info) { return NameOf(AllMounted()[info.param].attack); });

}  // namespace
}  // namespace nfswalk::hostile
