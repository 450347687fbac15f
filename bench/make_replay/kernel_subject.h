// kernel_subject: the same calls as system calls on a tmpfs that holds the same tree.
//
// The tmpfs is mounted nowhere: it hangs on a descriptor and vanishes with the process, however
// that ends. Each thread that asks makes it its own root directory (unshare(CLONE_FS), chroot), so
// that absolute paths and links mean the same as under NFS. Such a thread stays there for the rest
// of its life.
#ifndef NFSWALK_BENCH_MAKE_REPLAY_KERNEL_SUBJECT_H_
#define NFSWALK_BENCH_MAKE_REPLAY_KERNEL_SUBJECT_H_

#include <expected>
#include <memory>
#include <string>

#include "bench/make_replay/subject.h"

namespace nfswalk::bench {

// Needs root (CAP_SYS_ADMIN, CAP_SYS_CHROOT) and fsopen(2), Linux 5.2. The error is a sentence.
std::expected<std::unique_ptr<Subject>, std::string> MakeKernelSubject(const Tree& tree);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MAKE_REPLAY_KERNEL_SUBJECT_H_
