// inode_numbers: st_ino and d_ino of a mounted file system.
//
// A mount of FUSE has one st_dev (the kernel offers FUSE_SUBMOUNTS to virtiofs alone), while the
// export may have several file systems of the server below it: nested exports, those below the
// pseudo root of version 4. File ids are unique within one of them (RFC 7530 5.8.1.19), and
// programs take equal numbers for links of one file.
//
// Invariant: in the file system of the export's root the number is the file id. In any other one it
// is a permutation of the file ids that depends on the fsid alone, among the numbers from 2^63 on.
// So no file id below 2^63, as servers give them, is joined with another of its file system, nor
// one of the root's with one of another. Two files of two other file systems have one number with
// a probability of 2^-63. Every mount of the export has the same numbers. A server that wants two
// files to have one number can give them one file id anyway: there is no key.
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_MOUNT_INODE_NUMBERS_H_
#define NFSWALK_NFSCLIENT_MOUNT_INODE_NUMBERS_H_

#include <cstdint>

#include "rcu/mix64.h"

namespace nfswalk::mount {

class InodeNumbers {
 public:
  explicit InodeNumbers(uint64_t root_fsid) : root_fsid_(root_fsid) {}

  uint64_t Of(uint64_t fsid, uint64_t fileid) const {
    if (fsid == root_fsid_) return fileid;
    // The hash is a permutation of all numbers for each fsid. Walking its cycle to the next number
    // from 2^63 on makes it one of those: two steps on average.
    const uint64_t key = rcu::Mix64(fsid);
    uint64_t number = fileid | kOtherFileSystem;
    do {
      number = rcu::Mix64(key, number);
    } while ((number & kOtherFileSystem) == 0);
    return number;
  }

 private:
  static constexpr uint64_t kOtherFileSystem = uint64_t{1} << 63;

  const uint64_t root_fsid_;
};

}  // namespace nfswalk::mount

#endif  // NFSWALK_NFSCLIENT_MOUNT_INODE_NUMBERS_H_
