// synthetic_protocol: a Protocol that answers for a SyntheticTree without a server: nothing is
// sent, nothing is stored, and nothing can be changed.
//
// Everybody may do everything. Listings come whole, with attributes and handles. Thread safety: as
// Protocol.
#ifndef NFSWALK_BENCH_MEMORY_SYNTHETIC_PROTOCOL_H_
#define NFSWALK_BENCH_MEMORY_SYNTHETIC_PROTOCOL_H_

#include <memory>

#include "bench/memory/synthetic_tree.h"
#include "nfsclient/protocol/protocol.h"

namespace nfswalk::bench {

std::unique_ptr<protocol::Protocol> MakeSyntheticProtocol(const SyntheticTree& tree);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEMORY_SYNTHETIC_PROTOCOL_H_
