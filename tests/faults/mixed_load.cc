#include "tests/faults/mixed_load.h"

#include <filesystem>

namespace nfswalk::faults {

MixedLoad::MixedLoad(Client& client, const std::string& directory, const std::string& backing,
                     const FaultCounts& faults, LoadTerms terms) {
  std::filesystem::create_directory(backing + "/shared");
  std::filesystem::permissions(backing + "/shared", std::filesystem::perms::all);
  for (uint32_t w = 0; w < kWorkers; ++w) {
    workers_.push_back(std::make_unique<LoadWorker>(client, directory, backing, w, faults, terms));
    workers_.back()->Begin();
  }
}

void MixedLoad::Start() {
  for (const auto& worker : workers_) {
    threads_.emplace_back([this, &worker] {
      while (!stop_) worker->Step();
    });
  }
}

void MixedLoad::AwaitSteps(uint64_t steps) const {
  std::vector<uint64_t> until;
  for (const auto& worker : workers_) until.push_back(worker->done() + steps);
  for (size_t w = 0; w < workers_.size(); ++w) workers_[w]->AwaitDone(until[w]);
}

void MixedLoad::Stop() {
  stop_ = true;
  threads_.clear();
  for (const auto& worker : workers_) worker->End();
}

void MixedLoad::ExpectModels() {
  for (const auto& worker : workers_) worker->StatEverything();
}

uint64_t MixedLoad::unrecognized_creates() const { return Sum(&LoadWorker::unrecognized_creates); }

uint64_t MixedLoad::unknown_outcomes() const { return Sum(&LoadWorker::unknown_outcomes); }

uint64_t MixedLoad::Sum(uint64_t (LoadWorker::*count)() const) const {
  uint64_t sum = 0;
  for (const auto& worker : workers_) sum += ((*worker).*count)();
  return sum;
}

}  // namespace nfswalk::faults
