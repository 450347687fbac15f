// locked_ranges: what one lock owner holds of one file (posix_lock_inode()): disjoint ranges, those
// that touch and have one type merged.
//
// Thread safety: as any value. With() and Without() throw std::bad_alloc.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_LOCKED_RANGES_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_LOCKED_RANGES_H_

#include <algorithm>
#include <boost/icl/interval_map.hpp>
#include <cstdint>
#include <functional>
#include <optional>

#include "nfsclient/protocol/byte_range.h"

namespace nfswalk::protocol {

class LockedRanges {
 public:
  bool empty() const { return map_.empty(); }
  // Returns the ranges after a lock, which replaces what it overlaps: upgrades, downgrades, splits.
  [[nodiscard]] LockedRanges With(const RangeLock& lock) const {
    LockedRanges next(*this);
    next.map_.set({IntervalOf(lock.range), lock.type});
    return next;
  }
  // Returns the ranges after an unlock.
  [[nodiscard]] LockedRanges Without(ByteRange range) const {
    LockedRanges next(*this);
    next.map_.erase(IntervalOf(range));
    return next;
  }
  bool operator==(const LockedRanges& other) const { return map_ == other.map_; }
  bool Overlaps(ByteRange range) const { return map_.find(IntervalOf(range)) != map_.end(); }
  // Returns whether a part of `range` is locked for writing.
  bool HoldsWrite(ByteRange range) const {
    const auto [begin, end] = map_.equal_range(IntervalOf(range));
    return std::any_of(begin, end,
                       [](const auto& held) { return held.second == LockType::kWrite; });
  }
  // Returns the first that keeps another owner from `wanted`.
  std::optional<RangeLock> FindConflict(const RangeLock& wanted) const {
    const auto [begin, end] = map_.equal_range(IntervalOf(wanted.range));
    for (auto held = begin; held != end; ++held) {
      if (held->second == LockType::kWrite || wanted.type == LockType::kWrite) {
        return LockOf(*held);
      }
    }
    return std::nullopt;
  }
  // Calls `visit(const RangeLock&)` for each, in ascending order, until it returns false. Returns
  // whether none did.
  template <typename Visit>
  bool ForEach(Visit visit) const {
    for (const auto& held : map_) {
      if (!visit(LockOf(held))) return false;
    }
    return true;
  }

 private:
  using Interval = boost::icl::right_open_interval<uint64_t>;
  using Map =
      boost::icl::interval_map<uint64_t, LockType, boost::icl::partial_enricher, std::less,
                               boost::icl::inplace_plus, boost::icl::inter_section, Interval>;

  static Interval IntervalOf(ByteRange range) { return {range.first, range.last + 1}; }
  static RangeLock LockOf(const Map::value_type& held) {
    return {held.second, {held.first.lower(), held.first.upper() - 1}};
  }

  Map map_;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_LOCKED_RANGES_H_
