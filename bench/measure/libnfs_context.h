// libnfs_context: a mount by libnfs, for its synchronous calls.
#ifndef NFSWALK_BENCH_MEASURE_LIBNFS_CONTEXT_H_
#define NFSWALK_BENCH_MEASURE_LIBNFS_CONTEXT_H_

#include <nfsc/libnfs.h>

#include <expected>
#include <memory>
#include <string>

#include "bench/measure/server_export.h"

namespace nfswalk::bench {

struct LibnfsCloser {
  void operator()(nfs_context* context) const { nfs_destroy_context(context); }
};
using LibnfsContext = std::unique_ptr<nfs_context, LibnfsCloser>;

// Mounts `url`, of ServerExport::UrlOf(), as uid 0. The result is for one thread at a time.
std::expected<LibnfsContext, std::string> ConnectLibnfs(ServerExport& server,
                                                        const std::string& url);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEASURE_LIBNFS_CONTEXT_H_
