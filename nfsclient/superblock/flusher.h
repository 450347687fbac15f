// flusher: a thread that writes back data which has been dirty for long (wb_workfn()).
//
// Started by the first write of the mount; sleeps while nothing is dirty. Ended by Stop().
//
// Thread safety: all functions. Lifetime: the superblock's.
#ifndef NFSWALK_NFSCLIENT_SUPERBLOCK_FLUSHER_H_
#define NFSWALK_NFSCLIENT_SUPERBLOCK_FLUSHER_H_

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

#include "nfsclient/superblock/dirty_files.h"

namespace nfswalk::nfs {

class Flusher {
 public:
  // Writes what is due in `files`; returns whether anything is dirty still.
  using Flush = bool (*)(DirtyFiles& files);

  // `interval`: vm.dirty_writeback_centisecs; 0: never.
  Flusher(DirtyFiles& files, std::chrono::milliseconds interval)
      : files_(files), interval_(interval) {}
  ~Flusher() { Stop(); }
  Flusher(const Flusher&) = delete;
  Flusher& operator=(const Flusher&) = delete;

  // After a clean file was written to. False without memory or a thread: then nothing is flushed but
  // by Sync() and Close(), and the caller repeats the call at its next write.
  [[nodiscard]] bool NoteDirty(Flush flush);
  // Waits for the end of the thread. Preconditions: the protocol is shut down, so that its calls
  // end.
  void Stop();

 private:
  void Run(const std::stop_token& stop, Flush flush);

  DirtyFiles& files_;
  const std::chrono::milliseconds interval_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable_any changed_;
  bool is_dirty_ = false;
  bool stopped_ = false;
  std::jthread thread_;
};

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_SUPERBLOCK_FLUSHER_H_
