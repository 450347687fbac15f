// memory_watcher: has the caches of a process's mounts shrunk while memory is short, and lets them
// grow again afterwards.
//
// One thread for all mounts, which sleeps in poll(2); none where the kernel tells nothing
// (pressure_signals.h) or no thread can be started: then the caches keep their limits.
#ifndef NFSWALK_NFSCLIENT_MEMORY_MEMORY_WATCHER_H_
#define NFSWALK_NFSCLIENT_MEMORY_MEMORY_WATCHER_H_

#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "nfsclient/memory/pressure_signals.h"

namespace nfswalk::nfs {

// Thread safety: all functions.
class MemoryWatcher {
 public:
  // Called by the watcher's thread, one at a time.
  struct Caches {
    void (*shrink)(void* object);
    bool (*grow)(void* object);  // true: as far as at first
    void* object;
  };

  // After caches were shrunk, signals are not looked at for `interval`; once there were none for
  // `calm`, and after each further `calm`, the caches grow.
  struct Times {
    std::chrono::milliseconds interval = std::chrono::seconds(2);
    std::chrono::milliseconds calm = std::chrono::seconds(30);
  };

  // `root` precedes the paths of the kernel's files: for tests. Throws std::bad_alloc.
  explicit MemoryWatcher(const std::string& root = "") : MemoryWatcher(root, Times()) {}
  MemoryWatcher(const std::string& root, Times times);
  ~MemoryWatcher();
  MemoryWatcher(const MemoryWatcher&) = delete;
  MemoryWatcher& operator=(const MemoryWatcher&) = delete;

  // Returns the watcher of all mounts, made for the first one and gone with the last.
  static std::shared_ptr<MemoryWatcher> OfProcess();

 private:
  friend class MemoryWatch;

  void Run();
  void ShrinkAll();
  bool GrowAll();

  const Times times_;
  PressureSignals signals_;
  std::mutex mutex_;  // guards what follows; held while caches shrink
  std::list<Caches> watched_;
  std::thread thread_;
};

// Keeps `caches` shrunk by `watcher`. Its end waits for a call in progress.
class MemoryWatch {
 public:
  MemoryWatch(std::shared_ptr<MemoryWatcher> watcher, MemoryWatcher::Caches caches);
  ~MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

 private:
  const std::shared_ptr<MemoryWatcher> watcher_;
  std::list<MemoryWatcher::Caches>::iterator place_;
};

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_MEMORY_MEMORY_WATCHER_H_
