// Requests about locks, where they are the server's (FileSystem::locks_on_server).

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include "nfsclient/mount/answer.h"
#include "nfsclient/mount/file_size.h"
#include "nfsclient/mount/operations.h"

namespace nfswalk::mount {
namespace {

struct LockRequest {
  NodeNumber number;
  uint64_t owner;
  int type;  // F_RDLCK, F_WRLCK, F_UNLCK
  uint64_t offset_bytes = 0;
  uint64_t length_bytes = 0;  // 0: to the end of the file
  bool waits = false;
};

LockType TypeOf(int type) { return type == F_RDLCK ? LockType::kRead : LockType::kWrite; }

// flock(2) locks the whole file, as in Linux since 2.6.12. It is owned by the open file, as a lock
// of F_OFD_SETLK is, which it must not be one with.
uint64_t FlockOwner(uint64_t owner) { return ~owner; }

// Makes visible what others wrote under their locks, in the kernel's caches, too. The attributes
// are asked for here, so that a change is not found by a request of the kernel's, whose reply the
// notification of it would overtake.
void ShowOthersWrites(const Try& attempt, NodeNumber number, File& file) {
  FileSystem& file_system = attempt.file_system;
  const auto found = file_system.nodes.At(number).Lookup("", attempt.credential, attempt.flags);
  file_system.Drop(number, true);
  if (!found) return;
  const uint64_t bytes = found->attributes.size_bytes;
  if (file_system.nodes.SizeOf(number).Is(bytes, {})) return;
  StoreEnd(file_system, number, file, bytes);
}

std::errc ReplyUnlocked(const Try& attempt, const LockRequest& wanted, File& file) {
  FileSystem& file_system = attempt.file_system;
  // Pages that were written through a mapping come as WRITEs.
  file_system.Drop(wanted.number, true);
  const std::errc error = file.Unlock(wanted.owner, wanted.offset_bytes, wanted.length_bytes);
  if (error == std::errc{}) fuse_reply_err(attempt.request, 0);
  return error;
}

std::errc ReplyLocked(const Try& attempt, const LockRequest& wanted, File& file) {
  if (wanted.type == F_UNLCK) return ReplyUnlocked(attempt, wanted, file);
  const auto lock = wanted.waits ? &File::Lock : &File::TryLock;
  const std::errc error =
      (file.*lock)(wanted.owner, TypeOf(wanted.type), wanted.offset_bytes, wanted.length_bytes);
  if (error != std::errc{}) return error;
  ShowOthersWrites(attempt, wanted.number, file);
  fuse_reply_err(attempt.request, 0);
  return error;
}

// A lock that is to be waited for is tried first: a thread that waits for another owner must not be
// one of those that the request which unlocks may need.
void SetLock(fuse_req_t request, fuse_file_info* info, const LockRequest& wanted) {
  FileSystem& file_system = FileSystem::Of(request);
  file_system.nodes.WasLocked(wanted.number) = true;
  File& file = *Handles<OpenFile>::At(*info).file;
  LockRequest at_once = wanted;
  at_once.waits = false;
  AnswerOnWorker(request, [wanted, at_once, &file](const Try& attempt) {
    const std::errc error = ReplyLocked(attempt, at_once, file);
    if (!wanted.waits || error != std::errc::resource_unavailable_try_again) return error;
    AnswerOn(attempt.file_system.lock_waiters, Interrupts::Ends::kAtOnce, attempt.request,
             [wanted, &file](const Try& waiting) { return ReplyLocked(waiting, wanted, file); });
    return std::errc{};
  });
}

void SetRangeLock(fuse_req_t request, fuse_ino_t number, fuse_file_info* info, struct flock* lock,
                  int sleeps) {
  if (lock->l_type != F_UNLCK) {
    FileSystem::Of(request).lock_pids.Note(info->lock_owner, lock->l_pid);
  }
  SetLock(request, info,
          {.number = number,
           .owner = info->lock_owner,
           .type = lock->l_type,
           .offset_bytes = static_cast<uint64_t>(lock->l_start),
           .length_bytes = static_cast<uint64_t>(lock->l_len),
           .waits = sleeps != 0});
}

void SetFileLock(fuse_req_t request, fuse_ino_t number, fuse_file_info* info, int operation) {
  const int type = (operation & LOCK_SH) != 0   ? F_RDLCK
                   : (operation & LOCK_EX) != 0 ? F_WRLCK
                                                : F_UNLCK;
  SetLock(request, info,
          {.number = number,
           .owner = FlockOwner(info->lock_owner),
           .type = type,
           .waits = (operation & LOCK_NB) == 0});
}

// The process is 0 of a lock that another client has, as in Linux (decode_lock_denied()).
void TestRangeLock(fuse_req_t request, fuse_ino_t, fuse_file_info* info, struct flock* lock) {
  AnswerOnWorker(request, [owner = info->lock_owner, wanted = *lock,
                           &file = *Handles<OpenFile>::At(*info).file](const Try& attempt) {
    const auto tested =
        file.TestLock(owner, TypeOf(wanted.l_type), static_cast<uint64_t>(wanted.l_start),
                      static_cast<uint64_t>(wanted.l_len));
    if (!tested) return tested.error();
    struct flock found = wanted;
    found.l_type = F_UNLCK;
    if (const auto& conflict = *tested) {
      const auto& owner_of = conflict->owner;
      found.l_type = conflict->type == LockType::kRead ? F_RDLCK : F_WRLCK;
      found.l_whence = SEEK_SET;
      found.l_start = static_cast<off_t>(conflict->offset_bytes);
      found.l_len = static_cast<off_t>(conflict->length_bytes);
      found.l_pid = owner_of ? attempt.file_system.lock_pids.Find(*owner_of) : 0;
    }
    fuse_reply_lock(attempt.request, &found);
    return std::errc{};
  });
}

}  // namespace

void AddLockOperations(fuse_lowlevel_ops& operations) {
  operations.getlk = TestRangeLock;
  operations.setlk = SetRangeLock;
  operations.flock = SetFileLock;
}

}  // namespace nfswalk::mount
