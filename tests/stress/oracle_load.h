// oracle_load: threads that change a small tree through one client while they walk it, and the
// check of every result. Where files and directories are delegated another client changes them as
// well.
//
// A round: change and walk; then, with all threads paused, check each walk, compare the client's
// tree with the server's, and forget the history. Random choices come from the seed; the
// interleaving does not.
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

// Counts what the run has covered.
struct Tally {
  uint64_t walks = 0;      // answered and checked
  uint64_t cached = 0;     // of those: by RCU-walk alone (kHandOverHand)
  uint64_t path_hits = 0;  // of those: prefix cache hits
  uint64_t strict = 0;     // of those: strict (kStrict)
  uint64_t found = 0, absent = 0, denied = 0, not_directory = 0;
  uint64_t torn = 0;       // kHandOverHand answers that no single tick explains
  uint64_t loose = 0;      // kSteps answers that kHandOverHand does not explain
  uint64_t undecided = 0;  // too many concurrent changes to decide
  uint64_t try_again = 0;  // EAGAIN
  uint64_t stale = 0;      // ESTALE, which is not checked
  uint64_t changes = 0;

  void Add(const Tally& other);
};

class OracleLoad {
 public:
  struct Options {
    MountOptions mount;
    // Few changes, and each thread walks in one directory for a while: the path cache answers.
    bool calm = false;
    // The server delegates the files that are opened and the directories that are walked through,
    // and others change them: what is known of one is trusted only while it is delegated.
    bool delegated = false;
    uint64_t seed = 0;
  };
  static constexpr size_t kThreads = 8;

  explicit OracleLoad(Options options);

  // Makes `walks` in all, by kThreads threads, of which kWriters also change the tree.
  void Round(size_t walks);

  const Tally& tally() const { return tally_; }
  // Wrong results, as messages; the first few of each kind.
  const std::vector<std::string>& violations() const { return violations_; }
  Client& client() { return *client_; }
  // How often another client's change has had to wait for a recall.
  uint64_t recalls() const { return server_->recalls(); }
  // Takes back all that is delegated.
  void RecallAll() { server_->RecallAll(); }

  // Yields now and then, to widen a window.
  static void YieldSometimes();

 private:
  using Random = std::mt19937_64;
  static constexpr size_t kWriters = 4;

  struct Record {
    Walk walk;
    Guarantee guarantee;
  };
  struct Worker {
    size_t index = 0;
    Random random;
    std::string directory = {};  // where it walks, if it is calm
    std::vector<Record> log = {};
    Tally tally = {};
  };

  void Prepare();
  void Work(Worker& worker);
  void CheckLog(Worker& worker);
  void CheckStale(const Record& record);
  void CompareTrees();
  void CompareDirectory(NodeId directory, const std::string& path);

  void RunRandomOperation(Worker& worker);
  Operation RandomOperation(Random& random) const;
  Operation CalmOperation(Worker& worker) const;
  Outcome Run(const Operation& operation, ResolveFlags flags);

  void MakeRandomChange(Worker& worker);
  static SetAttributes RandomAttributesOfFile(Random& random);
  void ChangeAttributes(Random& random);
  void FlipLink(Random& random, size_t index);
  void Exchange(Random& random, size_t index);
  // Makes one change and records its return. `change()` calls the client once.
  template <class Call>
  void MakeChange(Call&& call);

  void Violation(std::string_view what, const std::string& detail);

  const Options options_;
  TickClock clock_;
  OracleServer* server_;  // the client's
  std::unique_ptr<Client> client_;
  const Credential superuser_{OracleServer::kSuperuser, 0};
  const Credential visitor_{1000, 1000};
  std::array<Worker, kThreads> workers_;
  std::atomic<int64_t> walks_left_{0};
  Tally tally_;
  std::mutex violations_mutex_;
  std::vector<std::string> violations_;
};

}  // namespace nfswalk::stress

#endif  // NFSWALK_TESTS_STRESS_ORACLE_LOAD_H_
