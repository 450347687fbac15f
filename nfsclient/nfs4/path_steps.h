// path_steps: the operations of one name of a path, and their results.
//
// Thread safety: distinct compounds.
#ifndef NFSWALK_NFSCLIENT_NFS4_PATH_STEPS_H_
#define NFSWALK_NFSCLIENT_NFS4_PATH_STEPS_H_

#include <cstddef>
#include <string_view>

#include "nfsclient/nfs4/compound.h"
#include "nfsclient/nfs4/owner_names.h"
#include "nfsclient/protocol/protocol.h"

namespace nfswalk::protocol {

inline constexpr size_t kOperationsOfStep = 4;  // LOOKUP, GETFH, GETATTR, ACCESS
// nfs-ganesha 4.3 refuses 1,000 as garbage, which does not tell that they are too many.
inline constexpr size_t kPathOperationsMax = 512;

// From the current directory; ".." is its parent.
void AddStep(Compound& compound, std::string_view name);
// Takes the results of one name. Returns false at the first that failed.
bool TakeStep(CompoundReader& reader, const OwnerNames& owners, std::string_view name,
              LookupPathReply& reply);

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS4_PATH_STEPS_H_
