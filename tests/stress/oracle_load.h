// oracle_load: threads that change a small tree through one client while they walk through it, and
// the judgement of every answer that they got.
//
// A round is: change and walk; then, all threads being quiet, judge each walk, compare the client's
// tree with the server's, and forget what is no longer needed. All that is random comes from the
// seed; which threads meet where does not.
#ifndef NFSWALK_TESTS_STRESS_ORACLE_LOAD_H_
#define NFSWALK_TESTS_STRESS_ORACLE_LOAD_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "nfsclient/client.h"
#include "tests/stress/oracle.h"
#include "tests/stress/oracle_server.h"

namespace nfswalk::stress {

// What has been put to the test.
struct Tally {
  uint64_t walks = 0;      // answered and judged
  uint64_t cached = 0;     // of those: by pass one alone (kHandOverHand)
  uint64_t path_hits = 0;  // of those: begun at the directory, by the path cache
  uint64_t strict = 0;     // of those: at one moment (kStrict)
  uint64_t found = 0, absent = 0, denied = 0, not_directory = 0;
  uint64_t torn = 0;        // kHandOverHand answers that no single moment explains
  uint64_t loose = 0;       // kSteps answers that kHandOverHand does not explain
  uint64_t undecided = 0;   // so many changes during the call that it may have seen anything
  uint64_t unanswered = 0;  // EAGAIN
  uint64_t stale = 0;       // ESTALE, which is no answer either
  uint64_t changes = 0;

  void Add(const Tally& other);
};

class OracleLoad {
 public:
  struct Options {
    MountOptions mount;
    bool change_info = false;  // see OracleServer::Options
    uint64_t seed = 0;
  };
  static constexpr size_t kThreads = 8;

  explicit OracleLoad(Options options);

  // `walks` in all, by kThreads threads of which kWriters also change the tree.
  void Round(size_t walks);

  const Tally& tally() const { return tally_; }
  // What was wrong, for people; the first few of each kind.
  const std::vector<std::string>& faults() const { return faults_; }
  Client& client() { return *client_; }

  // Gives other threads the processor now and then. Where a window is to be wide.
  static void Hesitate();

 private:
  using Random = std::mt19937_64;
  static constexpr size_t kWriters = 4;

  struct Record {
    Walk walk;
    Promise promise;
  };
  struct Actor {
    size_t index = 0;
    Random random;
    std::vector<Record> log = {};
    Tally tally = {};
  };

  void Prepare();
  void Act(Actor& actor);
  void JudgeLog(Actor& actor);
  void JudgeStale(const Record& record);
  void CompareTrees();
  void CompareDirectory(NodeId directory, const std::string& path);

  void AskSomething(Actor& actor);
  static Question RandomQuestion(Random& random);
  Answer Ask(const Question& question, ResolveFlags flags);

  void ChangeSomething(Actor& actor);
  void ChangeAttributes(Random& random);
  void FlipLink(Random& random, size_t index);
  void Exchange(Random& random, size_t index);
  // One change, with its end written down. `change()` calls the client once.
  template <class Call>
  void Do(Call&& call);

  void Fault(std::string_view what, const std::string& detail);

  const Options options_;
  TickClock clock_;
  OracleServer* server_;  // the client's
  std::unique_ptr<Client> client_;
  const Credential superuser_{OracleServer::kSuperuser, 0};
  const Credential visitor_{1000, 1000};
  std::array<Actor, kThreads> actors_;
  std::atomic<int64_t> walks_left_{0};
  Tally tally_;
  std::mutex faults_mutex_;
  std::vector<std::string> faults_;
};

}  // namespace nfswalk::stress

#endif  // NFSWALK_TESTS_STRESS_ORACLE_LOAD_H_
