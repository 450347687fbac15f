// lookups_in_flight: one LOOKUP per missing name, however many threads want it (vfs_walk 5,
// d_alloc_parallel).
//
// The first thread to Begin() a name owns it and asks the server; the others sleep until it is done
// and then look at the dentry cache again. The owner searches the cache once more after Begin() and
// inserts its answer before the ticket goes, so nobody can miss an answer that came in between.
//
// Thread safety: any. May sleep.
#ifndef NFSWALK_NFSCLIENT_VFS_LOOKUPS_IN_FLIGHT_H_
#define NFSWALK_NFSCLIENT_VFS_LOOKUPS_IN_FLIGHT_H_

#include <array>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>

#include "nfsclient/vfs/name.h"

namespace nfswalk::vfs {

class LookupsInFlight {
  struct Shard {
    std::mutex mutex;
    std::condition_variable done;
    std::unordered_set<std::string> names;  // the parent's address, then the name's bytes
  };

 public:
  // Ownership of one name; gives it up, and wakes those who wait, when destroyed.
  class Ticket {
   public:
    Ticket(Ticket&& other) noexcept
        : shard_(std::exchange(other.shard_, nullptr)), key_(std::move(other.key_)) {}
    Ticket& operator=(Ticket&&) = delete;
    ~Ticket() {
      if (shard_ == nullptr) return;
      {
        std::lock_guard guard(shard_->mutex);
        shard_->names.erase(key_);
      }
      shard_->done.notify_all();
    }
    // False: another thread owned the name and has finished; look into the cache again.
    bool owned() const { return shard_ != nullptr; }

   private:
    friend class LookupsInFlight;
    Ticket(Shard* shard, std::string key) : shard_(shard), key_(std::move(key)) {}
    Shard* shard_;
    std::string key_;
  };

  // Takes the name, or waits until its owner is done.
  Ticket Begin(const Dentry& parent, const Name& name) {
    const Dentry* address = &parent;
    std::string key(reinterpret_cast<const char*>(&address), sizeof address);
    key.append(name.view());
    Shard& shard = shards_[(name.hash >> 8) % kShards];
    std::unique_lock lock(shard.mutex);
    if (shard.names.insert(key).second) return Ticket(&shard, std::move(key));
    shard.done.wait(lock, [&] { return !shard.names.contains(key); });
    return Ticket(nullptr, {});
  }

 private:
  static constexpr size_t kShards = 64;
  std::array<Shard, kShards> shards_;
};

}  // namespace nfswalk::vfs

#endif  // NFSWALK_NFSCLIENT_VFS_LOOKUPS_IN_FLIGHT_H_
