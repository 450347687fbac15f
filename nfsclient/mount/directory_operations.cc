// Requests about open directories.

#include <linux/fuse.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "nfsclient/mount/answer.h"
#include "nfsclient/mount/mount_stats.h"
#include "nfsclient/mount/operations.h"

namespace nfswalk::mount {
namespace {

// Cookies of "." and "..", which the client does not list. No server has these: its cookies are
// offsets of its own file system, with the highest one as the end.
constexpr uint64_t kAfterDot = INT64_MAX - 2;
constexpr uint64_t kAfterDotDot = INT64_MAX - 1;
// The cookie of ".." where nothing follows: the listing has ended, and is not read again.
constexpr uint64_t kAfterAll = INT64_MAX - 3;

std::errc ReplyOpened(const Try& attempt, fuse_ino_t number, const fuse_file_info& info) {
  FileSystem& file_system = attempt.file_system;
  OpenRetries& retries = file_system.open_retries;
  const Node& node = file_system.nodes.At(number);
  if (attempt.flags.cached && retries.Has(attempt.caller)) return std::errc::timed_out;
  // The name may be a file's when the VFS comes back.
  const bool comes_back =
      retries.Take(attempt.caller, kMayRead, attempt.credential, node.id()).has_value();
  auto directory = node.OpenDirectory("", attempt.credential, {}, true);
  if (!directory) {
    const bool is_stale = directory.error() == protocol::kStale;
    if (is_stale && !comes_back) retries.Add(attempt.caller, kMayRead, attempt.credential);
    return directory.error();
  }
  fuse_file_info kept = info;
  kept.cache_readdir = 1;
  // With nocto the kernel drops its listing where attributes say so.
  kept.keep_cache = file_system.nocto || (*directory)->is_unchanged();
  // Waits for the notifications of what this open has found: the kernel holds no lock here that an
  // expiry would wait for, as it does for READDIR (NAME-37).
  if (!file_system.nocto) file_system.client.AwaitInvalidations();
  kept.fh = file_system.directories.Add(*std::move(directory));
  if (fuse_reply_open(attempt.request, &kept) != 0) (void)file_system.directories.Take(kept.fh);
  return {};
}

void OpenDirectory(fuse_req_t request, fuse_ino_t number, fuse_file_info* info) {
  if ((info->flags & kStatsOpen) == kStatsOpen) {
    fuse_file_info kept = *info;
    kept.fh = 0;
    fuse_reply_open(request, &kept);
    return;
  }
  const auto open = [number, info = *info](const Try& attempt) {
    return ReplyOpened(attempt, number, info);
  };
  if (FileSystem::Of(request).nocto) return AnswerAtOnce(request, open);
  AnswerOnWorker(request, open);
}

struct Listed {
  std::string name = {};
  uint64_t cookie = 0;
  struct stat stat{};       // as far as a listing without lookups needs it
  LookupResult found = {};  // of READDIRPLUS; without a node where the listing says nothing
};

// The reply to one READDIR or READDIRPLUS.
class Listing {
 public:
  Listing(const Try& attempt, NodeNumber directory, Directory& open, size_t bytes_max, bool plus)
      : attempt_(attempt),
        directory_(directory),
        fsid_(attempt.file_system.nodes.At(directory).attributes().fsid),
        open_(open),
        bytes_max_(bytes_max),
        plus_(plus) {}

  // All entries after `offset` that fit.
  std::errc Read(uint64_t offset) {
    if (offset == kAfterAll) return {};
    uint64_t after = offset;
    if (offset == 0 && !AddDot(".", kAfterDot)) return {};
    if (offset == 0 || offset == kAfterDot) {
      if (!AddDot("..", kAfterDotDot)) return {};
      after = 0;
    }
    if (offset == kAfterDotDot) after = 0;
    std::errc error = open_.Read(after, [this](const DirectoryEntry& entry) { return Add(entry); });
    if (leads_back_) error = std::errc::too_many_symbolic_link_levels;
    if (error == std::errc{} && offset == 0 && is_empty_) entries_.back().cookie = kAfterAll;
    return entries_.empty() ? error : std::errc{};  // else the next request has it
  }

  void Send(uint64_t sample) {
    FileSystem& file_system = attempt_.file_system;
    const auto buffer = std::make_unique_for_overwrite<char[]>(bytes_max_);
    std::vector<NodeNumber> looked_up;
    looked_up.reserve(entries_.size());
    size_t used = 0;
    KernelCaches::Reply reply(file_system.caches, sample, attempt_.received);
    for (Listed& listed : entries_) {
      const auto offset = static_cast<off_t>(listed.cookie);
      char* const at = buffer.get() + used;
      if (!plus_) {
        used += fuse_add_direntry(attempt_.request, at, bytes_max_ - used, listed.name.c_str(),
                                  &listed.stat, offset);
        continue;
      }
      fuse_entry_param entry{};
      entry.attr = listed.stat;
      if (listed.found.node != nullptr) {
        entry = reply.Entry(directory_, listed.name.c_str(), std::move(listed.found));
        looked_up.push_back(entry.ino);
      }
      used += fuse_add_direntry_plus(attempt_.request, at, bytes_max_ - used, listed.name.c_str(),
                                     &entry, offset);
      // libfuse takes it from the attributes, which are those of a mounted root.
      reinterpret_cast<fuse_direntplus*>(at)->dirent.ino = listed.stat.st_ino;
    }
    if (fuse_reply_buf(attempt_.request, buffer.get(), used) == 0) return;
    for (const NodeNumber number : looked_up) file_system.nodes.Forget(number, 1);
  }

 private:
  bool AddDot(const char* name, uint64_t offset) {
    const Node& node = attempt_.file_system.nodes.At(directory_);
    const auto known = node.Stat(name, attempt_.credential, {.no_follow = true, .cached = true});
    Listed listed{name, offset};
    listed.stat.st_mode = S_IFDIR;
    const Attributes attributes = known ? *known : node.attributes();
    listed.stat.st_ino = NumberOf(attributes.fsid, attributes.fileid);
    return Append(std::move(listed));
  }

  bool Add(const DirectoryEntry& entry) {
    is_empty_ = false;
    // After such an entry the listing would go on at its beginning, or end.
    leads_back_ = entry.cookie == kAfterDot || entry.cookie == kAfterDotDot ||
                  entry.cookie == kAfterAll;
    if (leads_back_) return false;
    Listed listed{entry.name, entry.cookie};
    if (entry.attributes) {
      listed.stat = StatOf(*entry.attributes, attempt_.file_system.inode_numbers);
    }
    // mounted_on_fileid (RFC 7530 5.8.2.23): of the directory's own file system, unless the server
    // repeats the mounted root's there. Nothing else is of another one (ATTR-21).
    const bool is_mounted_roots = entry.attributes && entry.attributes->fsid != fsid_ &&
                                  entry.attributes->type == FileType::kDirectory &&
                                  entry.attributes->fileid == entry.fileid;
    if (!is_mounted_roots) listed.stat.st_ino = NumberOf(fsid_, entry.fileid);
    if (plus_) {
      auto found = Find(entry);
      if (found) listed.found = *std::move(found);
    }
    return Append(std::move(listed));
  }

  uint64_t NumberOf(uint64_t fsid, uint64_t fileid) const {
    return attempt_.file_system.inode_numbers.Of(fsid, fileid);
  }

  // An entry with a node takes the place of what the kernel has under its name
  // (fuse_direntplus_link()), before any notification could. So the server is asked for those that
  // the kernel may have, where the listing says nothing (NAME-37).
  Result<LookupResult> Find(const DirectoryEntry& entry) {
    auto found = open_.LookupListed(entry);
    if (found || !attempt_.file_system.nodes.IsNoted(directory_, entry.name)) return found;
    return open_.Lookup(entry.name, {.no_follow = true});
  }

  bool Append(Listed&& listed) {
    const char* const name = listed.name.c_str();
    bytes_ += plus_ ? fuse_add_direntry_plus(attempt_.request, nullptr, 0, name, nullptr, 0)
                    : fuse_add_direntry(attempt_.request, nullptr, 0, name, nullptr, 0);
    if (bytes_ > bytes_max_) return false;
    entries_.push_back(std::move(listed));
    return true;
  }

  const Try& attempt_;
  const NodeNumber directory_;
  const uint64_t fsid_;
  Directory& open_;
  const size_t bytes_max_;
  const bool plus_;
  std::vector<Listed> entries_;
  size_t bytes_ = 0;
  bool is_empty_ = true;  // but for "." and ".."
  bool leads_back_ = false;
};

void List(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset, fuse_file_info* info,
          bool plus) {
  Directory* const open = info->fh == 0 ? nullptr : &Handles<Directory>::At(*info);
  AnswerOnWorker(request, [number, size, offset, plus, open](const Try& attempt) -> std::errc {
    std::unique_ptr<Directory> opened;  // for this answer, where OPENDIR has not: kStatsOpen
    if (open == nullptr) {
      auto now = attempt.file_system.nodes.At(number).OpenDirectory("", attempt.credential);
      if (!now) return now.error();
      opened = *std::move(now);
    }
    const uint64_t sample = attempt.file_system.caches.Sample();
    Listing listing(attempt, number, open == nullptr ? *opened : *open, size, plus);
    const std::errc error = listing.Read(static_cast<uint64_t>(offset));
    if (error == std::errc{}) listing.Send(sample);
    return error;
  });
}

void ReadDirectory(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset,
                   fuse_file_info* info) {
  List(request, number, size, offset, info, false);
}

void ReadDirectoryPlus(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset,
                       fuse_file_info* info) {
  List(request, number, size, offset, info, true);
}

void ReleaseDirectory(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  if (info->fh != 0) (void)FileSystem::Of(request).directories.Take(info->fh);
  fuse_reply_err(request, 0);
}

// Changes of names are on stable storage when they return (RFC 1813 4.8).
void SyncDirectory(fuse_req_t request, fuse_ino_t, int, fuse_file_info*) {
  fuse_reply_err(request, 0);
}

}  // namespace

void AddDirectoryOperations(fuse_lowlevel_ops& operations) {
  operations.opendir = OpenDirectory;
  operations.readdir = ReadDirectory;
  operations.readdirplus = ReadDirectoryPlus;
  operations.releasedir = ReleaseDirectory;
  operations.fsyncdir = SyncDirectory;
}

}  // namespace nfswalk::mount
