// memory_model: C++20's atomics as an operational semantics over views.
//
// A location keeps every store ("message") in modification order. A thread's view says, for each
// location, the oldest message that it may still read. A release store attaches the thread's view,
// an acquire load of it joins that view; a relaxed store attaches the view of the last release
// fence, and a relaxed load keeps what it read for the next acquire fence. A read-modify-write
// reads the message that it follows and passes that one's view on (release sequences). seq_cst
// fences exchange views through one global view. Vector clocks beside the views find data races.
//
// The model leaves out load buffering (a load returns only what has been stored), seq_cst loads and
// stores, spurious failures of compare_exchange_weak (which here change nothing), consume.
//
// Thread safety: none; the threads of the model take turns on one (explorer.h).
#ifndef NFSWALK_TESTS_LITMUS_MEMORY_MODEL_H_
#define NFSWALK_TESTS_LITMUS_MEMORY_MODEL_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace nfswalk::litmus {

inline constexpr size_t kThreadsMax = 12;
inline constexpr size_t kLocationsMax = 96;

struct View {
  std::array<uint16_t, kLocationsMax> seen{};  // a message of each location
  std::array<uint32_t, kThreadsMax> clock{};   // events of each thread that happen before
};

class MemoryModel {
 public:
  using Thread = uint32_t;
  using Message = uint16_t;
  // An atomic object. Its address may be used again by another.
  using Location = uint16_t;

  // `thread` begins with what `creator` knows.
  void Begin(Thread thread, Thread creator);

  // The atomic object at `address`, which holds `raw` unless it was used before. nullopt, and a
  // violation: it was destroyed, or the thread does not know of its construction. One that no
  // thread constructed has been there since before all threads began.
  std::optional<Location> Access(Thread thread, void* address, uint64_t raw, uint8_t bytes);
  void Construct(Thread thread, void* address);
  void Destroy(Thread thread, void* address);

  // Returns the messages that a load by `thread` may return, newest first. With `newer_only` the
  // thread has waited for a change since its last load.
  std::vector<Message> Readable(Thread thread, Location location, bool newer_only) const;
  // Whether Readable() with `newer_only` has something to say.
  bool HasNewer(Thread thread, const void* address) const {
    return !Readable(thread, by_address_.at(address), true).empty();
  }
  uint64_t ValueOf(Location location, Message message) const {
    return locations_[location].messages[message].value;
  }
  // True if a read-modify-write has read it, and no other may.
  bool Taken(Location location, Message message) const {
    return locations_[location].messages[message].taken;
  }
  void Load(Thread thread, Location location, Message message, std::memory_order order);

  // The messages that a store by `thread` may follow in modification order, newest first.
  std::vector<Message> Predecessors(Thread thread, Location location) const;
  void Store(Thread thread, Location location, Message after, uint64_t value,
             std::memory_order order);
  // Reads `message` and follows it.
  void Exchange(Thread thread, Location location, Message message, uint64_t value,
                std::memory_order order);

  void Fence(Thread thread, std::memory_order order);

  // Data that is not atomic: reports an access that races with another.
  void ReadPlain(Thread thread, const void* address);
  void WritePlain(Thread thread, const void* address);

  // Returns what the thread knows, for others to learn, and advances its clock.
  View Publish(Thread thread) {
    View known = threads_[thread].current;
    ++ClockOf(thread);
    return known;
  }
  // Adds `view` to what the thread knows.
  void Learn(Thread thread, const View& view);
  void Join(View& into, const View& from) const;

  // Writes the last value of each atomic object that exists to its memory.
  void StoreFinalValues() const;
  // Returns what was reported first; empty if all is well.
  const std::string& violation() const { return violation_; }
  void Report(std::string violation);

 private:
  struct Entry {
    uint64_t value;
    View view;
    uint16_t place = 0;  // in modification order
    bool taken = false;
  };
  struct Birth {
    Thread creator = 0;
    uint32_t at = 0;
  };
  struct Object {
    void* address;
    uint8_t bytes;
    Birth birth = {};
    bool alive = true;
    std::vector<Entry> messages = {};  // as executed; 0 is the initial value
    std::vector<Message> order = {};   // by modification order
    std::array<uint32_t, kThreadsMax> accessed = {};
  };
  struct ThreadViews {
    View current;
    View acquired;  // what an acquire fence adds
    View released;  // as of the last release fence
  };
  struct PlainState {
    Thread writer = 0;
    uint32_t written_at = 0;
    std::array<uint32_t, kThreadsMax> read{};
  };

  static bool Acquires(std::memory_order order);
  static bool Releases(std::memory_order order);
  uint16_t PlaceOf(Location location, Message message) const {
    return locations_[location].messages[message].place;
  }
  uint32_t& ClockOf(Thread thread) { return threads_[thread].current.clock[thread]; }
  Location Add(Object object, uint64_t value);
  // nullopt: no thread has used it.
  std::optional<Location> Find(const void* address) const;
  void CheckUnused(Thread thread, const Object& object, const char* end);
  void Insert(Thread thread, Location location, Message after, uint64_t value, View view);
  void Advance(Thread thread, Location location, Message message);

  std::vector<Object> locations_;
  std::unordered_map<const void*, Location> by_address_;
  std::unordered_map<const void*, Birth> births_;  // of objects that are not in by_address_
  std::unordered_map<const void*, PlainState> plain_;
  std::array<ThreadViews, kThreadsMax> threads_{};
  View seq_cst_;  // of all seq_cst fences
  std::string violation_;
};

}  // namespace nfswalk::litmus

#endif  // NFSWALK_TESTS_LITMUS_MEMORY_MODEL_H_
