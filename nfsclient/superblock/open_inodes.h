// open_inodes: the files that are open in this client, and the names under which the server keeps
// those that were removed meanwhile (silly rename, NAME-31).
//
// Contract    While a Removal of an inode exists, no open file of it is added and no other Removal
//             begins. So what a Removal says of the inode, open or not, holds while it asks the
//             server: opens wait for its end, and see then what it did. Only a close may come
//             between, which removes what the Removal leaves behind. The inode's OpenCount has
//             both; the mutex here is for waiting only.
// Order       A directory's lock is taken before a Removal, never after it.
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_SUPERBLOCK_OPEN_INODES_H_
#define NFSWALK_NFSCLIENT_SUPERBLOCK_OPEN_INODES_H_

#include <atomic>
#include <boost/intrusive/list.hpp>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nfsclient/icache/inode.h"
#include "nfsclient/vfs/dentry_cache.h"
#include "sunrpc_auth/credential.h"

namespace nfswalk::nfs {

// A name that a removed file has until it is closed. No call of this client shows it.
struct SillyName {
  icache::InodeRef inode;
  vfs::DentryRef directory;
  std::string name;
  sunrpc_auth::Credential remover;
};

class OpenInodes {
 public:
  OpenInodes() = default;
  OpenInodes(const OpenInodes&) = delete;
  OpenInodes& operator=(const OpenInodes&) = delete;

  // One more open file of the inode. Waits for the end of a Removal. False, with nothing added, if
  // the thread's CallDeadline passes or it is cancelled. Preconditions of all of these: a reference
  // on the inode, which is no directory.
  [[nodiscard]] bool Add(icache::Inode& inode);
  // Add() without waiting: false if there is a Removal. Any context.
  [[nodiscard]] static bool TryAdd(icache::Inode& inode) { return inode.opens.TryAdd(); }
  static void Remove(icache::Inode& inode) { inode.opens.Remove(); }

  // The removal of one name of an inode. Waits for other Removals of the inode.
  class [[nodiscard]] Removal {
   public:
    Removal(OpenInodes& inodes, icache::Inode& inode);
    ~Removal();
    Removal(const Removal&) = delete;
    Removal& operator=(const Removal&) = delete;

    // False if the thread's CallDeadline has passed, or it was cancelled.
    explicit operator bool() const { return began_; }
    bool is_open() const { return inode_.opens.is_open(); }

   private:
    OpenInodes& inodes_;
    icache::Inode& inode_;
    bool began_;
  };

  // The next number of a silly name.
  uint32_t NextCounter() { return counter_.fetch_add(1) + 1; }

  // The RENAME of an inode (null: none), from before it is sent until the dentries show the new
  // name.
  class [[nodiscard]] Move : public boost::intrusive::list_base_hook<> {
   public:
    Move(OpenInodes& inodes, const icache::Inode* inode);
    ~Move();
    Move(const Move&) = delete;
    Move& operator=(const Move&) = delete;

   private:
    friend class OpenInodes;
    OpenInodes& inodes_;
    const icache::Inode* const inode_;
  };
  bool IsMoving(const icache::Inode& inode) const;

  using SillyNames = std::list<SillyName>;
  // Hides the name from now on. `name`: a list of one, which is empty afterwards; allocates
  // nothing. Preconditions of these three: a Removal of the inode, as long as the result is used.
  SillyNames::iterator Hide(SillyNames& name);
  void Show(SillyNames::iterator name);
  // The inode's name in `directory`, if it has one there.
  std::optional<SillyNames::iterator> Find(const icache::Inode& inode,
                                           const vfs::Dentry& directory);
  // A directory where the inode (null: any) has a hidden name, that name, and the inode; empty if
  // there is none.
  struct Place {
    icache::InodeRef inode;
    vfs::DentryRef directory;
    std::string name;
  };
  Place FindPlace(const icache::Inode* inode) const;
  // Whether an inode has a hidden name there, and those of them that are not open.
  bool HidesIn(const icache::Inode& directory) const;
  std::vector<icache::InodeRef> ClosedIn(const icache::Inode& directory) const;
  // All of them, at the end of the mount.
  SillyNames TakeAll();

  // True of a name that was hidden in this directory.
  bool IsHidden(const icache::Inode& directory, std::string_view name) const {
    return hidden_.load() != 0 && name.starts_with(kPrefix) && IsHiddenSlow(directory, name);
  }

  static constexpr std::string_view kPrefix = ".nfs";

 private:
  template <class Attempt>
  bool AwaitNoRemoval(icache::Inode& inode, Attempt&& attempt);
  bool IsHiddenSlow(const icache::Inode& directory, std::string_view name) const;

  std::mutex removals_mutex_;  // held to wait and to notify
  std::condition_variable removal_ended_;
  std::atomic<uint32_t> counter_{0};
  std::atomic<size_t> hidden_{0};
  mutable std::mutex silly_mutex_;
  SillyNames silly_;  // this and below: guarded by silly_mutex_
  boost::intrusive::list<Move, boost::intrusive::constant_time_size<false>> moves_;
};

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_SUPERBLOCK_OPEN_INODES_H_
