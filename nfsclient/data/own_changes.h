// own_changes: whether what replies show of a file is explained by our own WRITEs alone
// (nfs_wcc_update_inode()).
//
// Several WRITEs are in flight at once, and servers execute them in any order. A reply shows the
// file's change attribute before and after its call (protocol::Attributes::change; RFC 1813 2.6
// wcc_data, RFC 7530 5.8.1.4), called its id here. Ids are compared for equality only.
//
// Invariants
//   C1 A change by another client is never taken for ours: each id that a reply shows must be the
//      one known before the first call, or one that a reply shows after a WRITE of ours. Where
//      replies do not show it all (no pre-op attributes, more ids than kIdsMax) it is unexplained.
//   C2 Attributes are the latest only if they came with a call that was sent after all others were
//      answered, or if all calls in flight at the same time show the same.
//
// A batch begins with the first WRITE or COMMIT and ends where the latest attributes are known.
//
// Thread safety: none.
#ifndef NFSWALK_NFSCLIENT_DATA_OWN_CHANGES_H_
#define NFSWALK_NFSCLIENT_DATA_OWN_CHANGES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_set>

#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/protocol/types.h"

namespace nfswalk::data {

class OwnChanges {
 public:
  static constexpr size_t kIdsMax = 4096;

  bool is_open() const { return is_open_; }
  bool has_calls_in_flight() const { return in_flight_ > 0; }

  // Begins a batch. `known_id`: the change attribute that the caches hold; nullopt: none that is
  // valid.
  void Begin(std::optional<uint64_t> known_id);
  // A call is sent: a WRITE, or one that changes nothing (COMMIT, GETATTR). Preconditions: is_open().
  void Sent();
  // Its reply has come: `file` as far as it shows it. `changes`: of a WRITE.
  void Answered(const protocol::WeakCacheConsistency& file, bool changes);

  // The latest attributes; nullopt while calls are in flight, and where their order is not known.
  const protocol::OptionalAttributes& latest() const { return latest_; }
  // Ends the batch. `id_now`: what the caches hold by now. kOthers also where a state that our WRITEs
  // made was not shown.
  [[nodiscard]] nfs::ChangedBy End(std::optional<uint64_t> id_now);

 private:
  using Ids = std::unordered_set<uint64_t>;

  void Explain(uint64_t id);
  void Require(uint64_t id);

  bool is_open_ = false;
  bool in_doubt_ = false;
  size_t in_flight_ = 0;
  // State of the calls since none was in flight.
  bool is_first_ = false;
  bool agree_ = false;
  protocol::OptionalAttributes after_;
  protocol::OptionalAttributes latest_;
  Ids explained_;  // that our WRITEs have made, and the one before
  Ids required_;   // shown by replies, and not explained yet
};

}  // namespace nfswalk::data

#endif  // NFSWALK_NFSCLIENT_DATA_OWN_CHANGES_H_
