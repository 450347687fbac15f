// readdir: lists a directory. Listings are not cached; each entry of a READDIRPLUS primes the
// dentry and attribute caches (NAME-20). A directory that is changed meanwhile lists each entry
// that stayed exactly once, as far as the server's cookies hold: where it refuses their verifier
// the listing goes on without one, and where it refuses the cookie, too, it ends with the server's
// error (NAME-35).
#ifndef NFSWALK_NFSCLIENT_NFS_READDIR_H_
#define NFSWALK_NFSCLIENT_NFS_READDIR_H_

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <system_error>
#include <vector>

#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/protocol/call_deadline.h"
#include "nfsclient/superblock/superblock.h"

namespace nfswalk::nfs {

// Finds out in constant memory that values come again: in a series that repeats for ever, time and
// again.
class Recurrence {
 public:
  // True for a value that has come before; not for each of them.
  bool Sees(uint64_t value);

 private:
  std::optional<uint64_t> anchor_;
  uint64_t steps_ = 0;
  uint64_t power_ = 1;
};

inline bool IsDots(const protocol::DirectoryEntry& entry) {
  return entry.name == "." || entry.name == "..";
}
// False for "." and "..", and for names that this client hides (NAME-31).
inline bool IsShown(const Superblock& superblock, const icache::Inode& directory,
                    const protocol::DirectoryEntry& entry) {
  return !IsDots(entry) && !superblock.open_inodes.IsHidden(directory, entry.name);
}

// A listing, reply by reply. Thread safety: one thread's at a time.
class DirectoryStream {
 public:
  DirectoryStream() = default;
  explicit DirectoryStream(protocol::ReadDirPosition after) : position_(after) {}

  // Asks for the entries after entries(). Errors: the server's; ELOOP, after some entries came
  // again, if the cookies lead back to earlier ones, or others move entries to the end as fast as
  // they are listed; io_error if the cookies lead nowhere. `deadline`, if
  // given, is renewed for the READDIR, and no limit afterwards. Preconditions: !at_end(); a
  // reference on `directory`; may sleep.
  std::errc Fetch(Superblock& superblock, vfs::DentryRef& directory,
                  const sunrpc_auth::Credential& credential, protocol::CallDeadline* deadline);

  // The two halves of Fetch(), for a caller that sends the READDIR itself, and holds the directory
  // locked shared: Next() is where to; Take() takes in the reply of a question with this `stamp`
  // and `change_id`. Errors: as Fetch(); ELOOP also for a reply in which names come again.
  std::expected<protocol::ReadDirPosition, std::errc> Next();
  std::errc Take(Superblock& superblock, vfs::DentryRef& directory, protocol::ReadDirReply reply,
                 SendStamp stamp, uint64_t change_id);

  // Entries of the last Fetch(), also "." and "..". Empty before, and after an error.
  const std::vector<protocol::DirectoryEntry>& entries() const { return reply_.entries; }
  bool at_end() const { return reply_.eof; }
  // The verifier that the server gave last.
  uint64_t verifier() const { return has_reply_ ? reply_.verifier : position_.verifier; }
  // The cookie that entries() come after.
  uint64_t cookie() const { return position_.cookie; }
  // True while no later reply and no change of our own shows the directory otherwise than the reply
  // that brought entries().
  bool IsLatest(icache::Inode& directory) const { return nfs::IsLatest(directory, context_); }

 private:
  std::errc Advance();
  void CutWhereNamesRecur();

  protocol::ReadDirPosition position_;
  protocol::ReadDirReply reply_;
  bool has_reply_ = false;
  bool goes_round_ = false;
  ReplyContext context_;  // of the directory
  Recurrence cookies_;
  Recurrence names_;
  int names_again_ = 0;
  int64_t dots_ = 0;
};

// Calls `visit` for each entry but "." and "..", until it returns false or the directory ends.
// Errors and `deadline`: Fetch()'s; no lock is held and no limit runs while the caller's code
// visits.
std::errc ReadDirectory(Superblock& superblock, vfs::DentryRef& directory,
                        const sunrpc_auth::Credential& credential,
                        const std::function<bool(const protocol::DirectoryEntry&)>& visit,
                        protocol::CallDeadline* deadline = nullptr);

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_NFS_READDIR_H_
