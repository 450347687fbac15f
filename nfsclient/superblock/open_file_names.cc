#include "nfsclient/superblock/open_file_names.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "nfsclient/protocol/file_names.h"

namespace nfswalk::nfs {

using protocol::FileName;

namespace {

class OpenFileNames final : public protocol::FileNames {
 public:
  OpenFileNames(Superblock& superblock, icache::Inode& inode, vfs::DentryRef opened)
      : superblock_(superblock), inode_(inode), opened_(std::move(opened)) {}

  // A dentry that was dropped had its name last: it is the one that was renamed with several links,
  // or another client's change was seen, and no longer the likeliest.
  std::optional<FileName> NextName(std::span<const FileName> tried) const override {
    vfs::DentryCache& dentries = superblock_.dentries;
    std::optional<FileName> next;
    const auto is_next = [&](const vfs::DentryRef& directory, std::string_view name) {
      next = FileName{directory.inode()->handle(), std::string(name)};
      return std::ranges::find(tried, *next) == tried.end();
    };
    const auto is_name = [&](vfs::Dentry* dentry, bool dropped) {
      if (dentry == nullptr || (dentry->hash.load() == 0) != dropped) return false;
      const auto [directory, name] = dentries.NameOf(*dentry);
      return is_next(directory, name);
    };
    const vfs::DentryRef latest = dentries.AliasOf(inode_);
    if (is_name(opened_.get(), false) || is_name(latest.get(), false)) return next;
    for (const vfs::DentryRef& other : dentries.DentriesOf(inode_)) {
      if (other && is_name(other.get(), false)) return next;
    }
    const auto hidden = superblock_.open_inodes.FindPlace(&inode_);
    if (hidden.directory && is_next(hidden.directory, hidden.name)) return next;
    if (is_name(latest.get(), true) || is_name(opened_.get(), true)) return next;
    return std::nullopt;
  }
  bool AreChanging() const override { return superblock_.open_inodes.IsMoving(inode_); }

 private:
  Superblock& superblock_;
  icache::Inode& inode_;
  const vfs::DentryRef opened_;
};

}  // namespace

void FollowNames(protocol::OpenState* state, Superblock& superblock, icache::Inode& inode,
                 const vfs::DentryRef& opened) {
  if (state == nullptr) return;
  state->FollowNames(std::make_unique<OpenFileNames>(superblock, inode, opened.Copy()));
}

}  // namespace nfswalk::nfs
