#include "nfsclient/data/own_changes.h"

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>

namespace nfswalk::data {

void OwnChanges::Begin(std::optional<uint64_t> known_id) {
  assert(!is_open_ && in_flight_ == 0);
  is_open_ = true;
  in_doubt_ = !known_id;
  latest_ = {};
  if (known_id) Explain(*known_id);
}

void OwnChanges::Sent() {
  assert(is_open_);
  latest_ = {};
  if (in_flight_++ > 0) return;
  is_first_ = agree_ = true;
  after_ = {};
}

void OwnChanges::Answered(const protocol::WeakCacheConsistency& file, bool changes) {
  assert(in_flight_ > 0);
  if (!file.after || (!is_first_ && after_ && after_->change != file.after->change)) agree_ = false;
  if (is_first_) after_ = file.after;
  is_first_ = false;
  if (file.after) {
    if (changes) {
      Explain(file.after->change);
    } else {
      Require(file.after->change);
    }
  }
  if (file.before) {
    Require(file.before->change);
  } else if (changes) {
    in_doubt_ = true;
  }
  if (--in_flight_ == 0 && agree_) latest_ = after_;
}

nfs::ChangedBy OwnChanges::End(std::optional<uint64_t> id_now) {
  assert(is_open_ && in_flight_ == 0);
  if (id_now) Require(*id_now);
  const bool explained = std::ranges::all_of(
      required_, [this](uint64_t id) { return explained_.contains(id); });
  const auto changed_by = in_doubt_   ? nfs::ChangedBy::kUsOrOthers
                          : explained ? nfs::ChangedBy::kUs
                                      : nfs::ChangedBy::kOthers;
  is_open_ = in_doubt_ = false;
  explained_.clear();
  required_.clear();
  latest_ = {};
  return changed_by;
}

void OwnChanges::Explain(uint64_t id) try {
  required_.erase(id);
  if (explained_.size() < kIdsMax) {
    explained_.insert(id);
  } else if (!explained_.contains(id)) {
    in_doubt_ = true;
  }
} catch (const std::bad_alloc&) {
  in_doubt_ = true;
}

void OwnChanges::Require(uint64_t id) try {
  if (in_doubt_ || explained_.contains(id)) return;
  if (required_.size() == kIdsMax) in_doubt_ = true;
  required_.insert(id);
} catch (const std::bad_alloc&) {
  in_doubt_ = true;
}

}  // namespace nfswalk::data
