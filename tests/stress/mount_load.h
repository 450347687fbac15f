// mount_load: threads that use one mount concurrently and share its ownership: the last to release
// it unmounts.
//
// Two walk, one makes changes and keeps files open, one prunes, invalidates and iterates.
#ifndef NFSWALK_TESTS_STRESS_MOUNT_LOAD_H_
#define NFSWALK_TESTS_STRESS_MOUNT_LOAD_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "nfsclient/client.h"

namespace nfswalk {

// Sums over any number of loads.
struct LoadTally {
  std::atomic<uint64_t> calls{0};
  std::atomic<uint64_t> canceled{0};         // calls that Shutdown() cancelled
  std::atomic<uint64_t> wrong{0};            // results that were never right
  std::atomic<uint64_t> files_left_open{0};  // at Stop()
  std::atomic<uint64_t> inodes_iterated{0};
};

using ClientCall = std::function<std::errc(Client&, File&, Node&)>;

class MountLoad {
 public:
  static constexpr size_t kWorkers = 4;
  static constexpr int kStableFiles = 24;

  // Names that must exist in the directory `base` of the mount: directories "stable" (with files
  // "f0" to "f23") and "work" (empty), and "link" to "stable".
  static constexpr const char* kStable = "stable";
  static constexpr const char* kWork = "work";
  static constexpr const char* kLink = "link";

  // Returns one call of each kind, on these names and on a node of "work". With invalidated caches
  // each needs an RPC. `base`: "" or "directory/".
  static std::vector<ClientCall> CallsOfEveryKind(const std::string& base, const Credential& who);

  // Starts the threads; each shares `client` until its last call.
  MountLoad(const std::shared_ptr<Client>& client, std::string base, uint64_t seed,
            LoadTally& tally);
  // Preconditions: Stop() was called.
  ~MountLoad();
  MountLoad(const MountLoad&) = delete;
  MountLoad& operator=(const MountLoad&) = delete;

  // Returns once every thread has made a few calls.
  void AwaitWork();
  // Makes the threads end after their current calls.
  void Stop() { stop_ = true; }
  // Returns once every thread has made its last call and released its share. The threads live until
  // Release().
  void AwaitLastCalls();
  void Release();

 private:
  static constexpr uint32_t kStepsBeforeWork = 8;

  struct Worker {
    std::shared_ptr<Client> client;
    std::mt19937_64 random;
    std::deque<std::unique_ptr<File>> files = {};
    uint64_t turn = 0;
  };

  void Run(Worker worker, void (MountLoad::*step)(Worker&));
  void Walk(Worker& worker);
  void Change(Worker& worker);
  void Reclaim(Worker& worker);
  void UseFiles(Worker& worker);

  // Counts a call and its error. `is_stable`: the path exists, so that any error is wrong.
  void Note(std::errc error, bool is_stable = false);
  std::string Name(const char* directory, const std::string& name) const {
    return base_ + "/" + directory + "/" + name;
  }

  const std::string base_;
  LoadTally& tally_;
  std::atomic<bool> stop_{false}, released_{false};
  std::atomic<uint32_t> working_{0}, made_last_call_{0};
  std::vector<std::thread> threads_;
};

}  // namespace nfswalk

#endif  // NFSWALK_TESTS_STRESS_MOUNT_LOAD_H_
