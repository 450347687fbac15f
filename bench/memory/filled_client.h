// filled_client: a mount whose caches hold a whole synthetic tree.
#ifndef NFSWALK_BENCH_MEMORY_FILLED_CLIENT_H_
#define NFSWALK_BENCH_MEMORY_FILLED_CLIENT_H_

#include <expected>
#include <memory>
#include <string>

#include "bench/measure/outcome.h"
#include "bench/memory/synthetic_tree.h"
#include "nfsclient/client.h"

namespace nfswalk::bench {

// Credential of every call.
extern const Credential kMemoryCredential;

// Mounts with nothing cached but the root; the limits of the caches exceed the tree, and attributes
// outlive every run.
std::expected<std::unique_ptr<Client>, std::string> MountSynthetic(const SyntheticTree& tree);

// Lists every directory, in an order that is shuffled but the same every time, and calls access()
// for every file: dentry, inode, name and access rights are cached then, which the client's own
// counts verify. Ends early after an interrupt.
Outcome Fill(Client& client, const SyntheticTree& tree);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEMORY_FILLED_CLIENT_H_
