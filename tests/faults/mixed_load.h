// mixed_load: four workers (load_worker.h), on a thread each, until stopped.
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
  static constexpr uint32_t kWorkers = 4;

  // `directory`: in the mount of `client`, writable for all; `backing`: the same at the server. The
  // caller counts its faults in `faults`.
  MixedLoad(Client& client, const std::string& directory, const std::string& backing,
            const FaultCounts& faults, LoadTerms terms);
  ~MixedLoad() { Stop(); }

  void Start();
  // Returns when every worker has made `steps` more steps.
  void AwaitSteps(uint64_t steps) const;
  // Stops the threads after their current steps, and closes open files.
  void Stop();
  // Expects the client to agree with every worker's model. Preconditions: Stop().
  void ExpectModels();

  uint64_t unrecognized_creates() const;
  uint64_t unknown_outcomes() const;

 private:
  uint64_t Sum(uint64_t (LoadWorker::*count)() const) const;

  std::atomic<bool> stop_{false};
  std::vector<std::unique_ptr<LoadWorker>> workers_;
  std::vector<std::jthread> threads_;
};

}  // namespace nfswalk::faults

#endif  // NFSWALK_TESTS_FAULTS_MIXED_LOAD_H_
