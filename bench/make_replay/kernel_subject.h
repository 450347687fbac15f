// kernel_subject: the same calls as system calls on a copy of the tree on tmpfs: what a cached lookup costs
// when the kernel does it. Each thread works under chroot, so that absolute links stay inside.
#ifndef NFSWALK_BENCH_MAKE_REPLAY_KERNEL_SUBJECT_H_
#define NFSWALK_BENCH_MAKE_REPLAY_KERNEL_SUBJECT_H_

#include <expected>
#include <memory>
#include <string>

#include "bench/make_replay/subject.h"

namespace nfswalk::bench {

// Mounts a tmpfs that this process alone can see, in a mount namespace of its own, and answers its path;
// it goes with the process, however that ends. Call once, before there are threads. Needs root.
std::expected<std::string, std::string> MountPrivateTmpfs();

// `directory` holds a copy of the tree.
std::unique_ptr<Subject> MakeKernelSubject(std::string directory);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MAKE_REPLAY_KERNEL_SUBJECT_H_
