// checked_atomic: std::atomic over the memory model, and plain data whose races are found.
//
// In a thread of a scenario each access is a step of explorer.h; elsewhere it is an access to
// ordinary memory. Has the size of T and the members of std::atomic that nfswalk uses.
#ifndef NFSWALK_TESTS_LITMUS_CHECKED_ATOMIC_H_
#define NFSWALK_TESTS_LITMUS_CHECKED_ATOMIC_H_

#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>
#include <source_location>
#include <type_traits>

#include "tests/litmus/explorer.h"

namespace nfswalk::litmus {

using Where = std::source_location;

inline Place PlaceOf(const Where& where) {
  return {.file = where.file_name(), .line = where.line(), .function = where.function_name()};
}

template <class T>
class checked_atomic {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(uint64_t));
  using Order = std::memory_order;
  static constexpr Order kDefault = std::memory_order_seq_cst;

 public:
  constexpr checked_atomic() noexcept : checked_atomic(T()) {}
  constexpr checked_atomic(T value) noexcept : value_(value) {  // NOLINT: as std::atomic
    if (!std::is_constant_evaluated()) ConstructAtomic(&value_);
  }
  constexpr ~checked_atomic() {
    if (!std::is_constant_evaluated()) DestroyAtomic(&value_);
  }
  checked_atomic(const checked_atomic&) = delete;
  checked_atomic& operator=(const checked_atomic&) = delete;

  T load(Order order = kDefault, Where where = Where::current()) const {
    return InThread() ? FromBits(LoadAtomic(cell(), order, PlaceOf(where))) : value_;
  }
  void store(T value, Order order = kDefault, Where where = Where::current()) {
    if (!InThread()) {
      value_ = value;
    } else {
      StoreAtomic(cell(), Bits(value), order, PlaceOf(where));
    }
  }
  T exchange(T value, Order order = kDefault, Where where = Where::current()) {
    return Update([value](T) { return value; }, order, where);
  }
  T fetch_add(T n, Order order = kDefault, Where where = Where::current()) {
    return Update([n](T old) { return static_cast<T>(old + n); }, order, where);
  }
  T fetch_sub(T n, Order order = kDefault, Where where = Where::current()) {
    return Update([n](T old) { return static_cast<T>(old - n); }, order, where);
  }
  T fetch_or(T bits, Order order = kDefault, Where where = Where::current()) {
    return Update([bits](T old) { return static_cast<T>(old | bits); }, order, where);
  }
  T fetch_and(T bits, Order order = kDefault, Where where = Where::current()) {
    return Update([bits](T old) { return static_cast<T>(old & bits); }, order, where);
  }
  bool compare_exchange_strong(T& expected, T desired, Order success, Order failure,
                               Where where = Where::current()) {
    const T wanted = expected;
    expected =
        Update([&](T old) { return old == wanted ? std::optional<T>(desired) : std::nullopt; },
               success, where, failure);
    return expected == wanted;
  }
  bool compare_exchange_weak(T& expected, T desired, Order success, Order failure,
                             Where where = Where::current()) {
    return compare_exchange_strong(expected, desired, success, failure, where);
  }

 private:
  static uint64_t Bits(T value) {
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    return bits;
  }
  static T FromBits(uint64_t bits) {
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    return value;
  }
  Cell cell() const {
    return {.address = const_cast<T*>(&value_), .raw = Bits(value_), .bytes = sizeof(T)};
  }
  template <class Function>
  T Update(Function function, Order order, const Where& where,
           Order failure = std::memory_order_relaxed) {
    const auto update = [&](uint64_t old) -> std::optional<uint64_t> {
      const std::optional<T> value = function(FromBits(old));
      return value ? std::optional(Bits(*value)) : std::nullopt;
    };
    if (InThread()) {
      return FromBits(UpdateAtomic(cell(), update, order, failure, PlaceOf(where)));
    }
    const T old = value_;
    value_ = FromBits(update(Bits(old)).value_or(Bits(old)));
    return old;
  }

  T value_;
};

inline void checked_fence(std::memory_order order, Where where = Where::current()) {
  if (InThread()) FenceThread(order, PlaceOf(where));
}

// Memory that is not atomic.
template <class T>
class Plain {
 public:
  Plain() : Plain(T()) {}
  explicit Plain(T value) : value_(value) { WritePlain(this); }
  ~Plain() { WritePlain(this); }
  Plain(const Plain&) = delete;
  Plain& operator=(const Plain&) = delete;

  T Read() const {
    ReadPlain(this);
    return value_;
  }
  void Write(T value) {
    WritePlain(this);
    value_ = value;
  }

 private:
  T value_;
};

}  // namespace nfswalk::litmus

#endif  // NFSWALK_TESTS_LITMUS_CHECKED_ATOMIC_H_
