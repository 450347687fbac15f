// subjects: who answers calls in several benchmarks.
#ifndef NFSWALK_BENCH_MEASURE_SUBJECTS_H_
#define NFSWALK_BENCH_MEASURE_SUBJECTS_H_

#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/measure/file_tree.h"
#include "bench/measure/server_export.h"
#include "bench/measure/subject.h"
#include "nfsclient/client.h"

namespace nfswalk::bench {

// Our client. Each thread calls as one of `identities` after the other. `mode` must outlive the
// subject.
std::unique_ptr<Subject> MakeNfswalkSubject(std::unique_ptr<Client> client, std::string_view mode,
                                            std::vector<Credential> identities = {{0, 0}});

// The system calls, on a tmpfs that holds `tree`. It is mounted nowhere and vanishes with the
// process. Each thread makes it its own root directory (unshare(CLONE_FS), chroot) for the rest of
// its life, so that absolute paths and links mean the same as under NFS. Needs root and fsopen(2).
std::expected<std::unique_ptr<Subject>, std::string> MakeKernelSubject(const FileTree& tree);

// The system calls, on a mount by the kernel's own NFS client with the server, the lifetimes and
// the nocto of `options`: the subject "kernel, nfs MODE", which counts its RPCs. As above, it is
// mounted nowhere, each thread makes it its root, and it needs root; and a kernel that has one.
std::expected<std::unique_ptr<Subject>, std::string> MakeKernelClientSubject(
    const MountOptions& options, ServerExport& server, std::string_view mode);

// The synchronous calls of libnfs, a context a thread: an NFS client in user space that caches
// neither names nor attributes. `url` is one of ServerExport::UrlOf().
std::unique_ptr<Subject> MakeLibnfsSubject(std::string url, ServerExport& server);

// A hash map from the path of each call that finds a file to attributes, as a tool's author would
// write it: nothing is revalidated, no rights are checked, and it is never changed. Answers kStat
// alone.
std::unique_ptr<Subject> MakeMapSubject(std::span<const Call> calls);

// The libnfswalk.so `file` of another build, through its C API, on the directory `name` of the
// export, with defaults and attribute timeouts longer than any run. Several stand side by side.
// Calls as this process; answers kStat alone.
std::expected<std::unique_ptr<Subject>, std::string> MakeLibrarySubject(const std::string& file,
                                                                        const std::string& name,
                                                                        ServerExport& server);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEASURE_SUBJECTS_H_
