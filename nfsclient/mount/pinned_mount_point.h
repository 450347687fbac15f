// pinned_mount_point: a directory to mount on that stays what it was, even where other users own
// what is above it, and move that or put a link there: root mounts, and unmounts, what it has
// opened.
//
// fusermount3(1) mounts by path. Others than root have its checks then; root has none, so that a
// path which another user may change is refused.
//
// Thread safety: one thread.
#ifndef NFSWALK_NFSCLIENT_MOUNT_PINNED_MOUNT_POINT_H_
#define NFSWALK_NFSCLIENT_MOUNT_PINNED_MOUNT_POINT_H_

#include <sys/stat.h>

#include <string>

namespace nfswalk::mount {

class PinnedMountPoint {
 public:
  // Preconditions: the path of `directory` is absolute and has no links (realpath(3)).
  // `auto_unmount`: the option of libfuse, for which fusermount3(1) mounts.
  PinnedMountPoint(const std::string& directory, bool auto_unmount);
  ~PinnedMountPoint();
  PinnedMountPoint(const PinnedMountPoint&) = delete;
  PinnedMountPoint& operator=(const PinnedMountPoint&) = delete;

  // Says why nothing may be mounted there; empty where it may.
  const std::string& error() const { return error_; }
  // Whether to_mount() is a descriptor of this process, and no path.
  bool is_pinned() const { return itself_ >= 0; }
  // For mount(2), which follows links.
  const char* to_mount() const { return to_mount_.c_str(); }
  // Leads to the root of what is mounted there, or to what has the name by now: not to be followed.
  const char* path() const { return path_.c_str(); }

  // Has to_mount() lead to the root of what was mounted, where that still has its name, else to
  // nothing mounted: umount2(2) unmounts what it leads to, following links.
  void LeadToRoot(const struct statx& mounted) const;

 private:
  std::string path_;
  std::string to_mount_;
  std::string name_;
  std::string error_;
  int above_ = -1;
  int itself_ = -1;  // -1: to_mount() is the path
};

}  // namespace nfswalk::mount

#endif  // NFSWALK_NFSCLIENT_MOUNT_PINNED_MOUNT_POINT_H_
