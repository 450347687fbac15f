// mixed_load: four workers (load_worker.h), each on a thread of its own, for as long as a test
// needs them.
//
// Thread safety: one thread, that of the test.
#ifndef NFSWALK_TESTS_FAULTS_MIXED_LOAD_H_
#define NFSWALK_TESTS_FAULTS_MIXED_LOAD_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "nfsclient/client.h"
#include "tests/faults/load_worker.h"

namespace nfswalk::faults {

class MixedLoad {
 public:
  // `directory`: as `client` names it, writable for everybody; `backing`: the same where the server
  // keeps it. `faults` is counted by whoever causes them.
  MixedLoad(Client& client, const std::string& directory, const std::string& backing,
            const FaultCounts& faults, LoadTerms terms);
  ~MixedLoad() { Stop(); }

  void Start();
  // Returns when every worker has made `steps` more.
  void AwaitSteps(uint64_t steps) const;
  // Ends the threads after the step that each is at, and closes what they hold open.
  void Stop();
  // After Stop(): the client agrees with every worker's model.
  void ExpectModels();

  uint64_t steps() const;
  uint64_t strangers() const;
  uint64_t in_doubt() const;

 private:
  std::atomic<bool> stop_{false};
  std::vector<std::unique_ptr<LoadWorker>> workers_;
  std::vector<std::jthread> threads_;
};

}  // namespace nfswalk::faults

#endif  // NFSWALK_TESTS_FAULTS_MIXED_LOAD_H_
