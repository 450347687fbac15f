#include "nfsclient/protocol/nfs4_open_owner.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "nfsclient/protocol/nfs4_state_error.h"

namespace nfswalk::protocol {

void OpenOwner::Executed(int nfsstat4) {
  if (AdvancesSequence(nfsstat4)) ++sequence;
  if (StateErrorOf(nfsstat4) == StateError::kOwner) usable = false;
}

OpenOwner OpenOwnerPool::Take(const sunrpc_auth::Credential& credential, uint64_t generation) {
  const std::lock_guard lock(mutex_);
  std::erase_if(idle_, [&](const OpenOwner& owner) { return owner.generation < generation; });
  const auto found = std::find_if(idle_.rbegin(), idle_.rend(), [&](const OpenOwner& owner) {
    return owner.generation == generation && owner.credential == credential;
  });
  if (found == idle_.rend()) {
    return {.name = "nfswalk " + std::to_string(next_name_++),
            .generation = generation,
            .credential = credential};
  }
  OpenOwner owner = std::move(*found);
  idle_.erase(std::next(found).base());
  return owner;
}

void OpenOwnerPool::Put(OpenOwner owner) {
  if (!owner.usable) return;
  const std::lock_guard lock(mutex_);
  if (idle_.size() >= kIdleMax) idle_.erase(idle_.begin());
  idle_.push_back(std::move(owner));
}

}  // namespace nfswalk::protocol
