// filled_client: a mount whose caches hold a whole synthetic tree.
#ifndef NFSWALK_BENCH_MEMORY_FILLED_CLIENT_H_
#define NFSWALK_BENCH_MEMORY_FILLED_CLIENT_H_

#include <atomic>
#include <expected>
#include <memory>
#include <string>

#include "bench/memory/synthetic_tree.h"
#include "nfsclient/client.h"

namespace nfswalk::bench {

// The one who asks, in every call.
extern const Credential kMemoryAsker;

// Nothing is cached yet but the root; the limits of the caches have room for all of the tree, and
// attributes outlive every run. The error is a sentence.
std::expected<std::unique_ptr<Client>, std::string> MountSynthetic(const SyntheticTree& tree);

// Lists every directory, in an order that is shuffled but the same every time, and asks for the
// rights to every file: dentry, inode, name and access rights are cached then, which is verified by
// the client's own counts. Ends early once `stop` is set. Empty, or the error.
std::string Fill(Client& client, const SyntheticTree& tree, const std::atomic<bool>& stop);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEMORY_FILLED_CLIENT_H_
