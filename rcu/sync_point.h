// sync_point: named places in the code where a test can make threads wait for each other.
//
// In a debug build NFSWALK_SYNC_POINT("walk:after-child-sample") calls what a test installed under
// that name, on the thread that gets there; with nothing installed it costs one relaxed load. With
// NDEBUG it compiles to nothing. Names read "<file>:<where>".
#ifndef NFSWALK_RCU_SYNC_POINT_H_
#define NFSWALK_RCU_SYNC_POINT_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>

namespace nfswalk::rcu {

// Thread safety: all functions, from any thread.
class SyncPointScript {
 public:
  // Calls `callback` whenever a thread reaches `name`, replacing a callback installed before. It
  // may block, install and clear. Several threads may be inside it at once.
  static void OnReach(std::string_view name, std::function<void()> callback);
  // Removes all callbacks. One that runs now runs to its end.
  static void ClearAll();

  static bool Installed() { return installed_.load(std::memory_order_relaxed) != 0; }
  static void Reach(std::string_view name);

 private:
  static inline constinit std::atomic<uint32_t> installed_{0};
};

}  // namespace nfswalk::rcu

#ifdef NDEBUG
#define NFSWALK_SYNC_POINT(name) static_cast<void>(0)
#else
#define NFSWALK_SYNC_POINT(name)                                   \
  do {                                                             \
    if (::nfswalk::rcu::SyncPointScript::Installed()) [[unlikely]] \
      ::nfswalk::rcu::SyncPointScript::Reach(name);                \
  } while (false)
#endif

#endif  // NFSWALK_RCU_SYNC_POINT_H_
