// walk_request: the walk that a call of Node asks for (path_init()).
//
// Thread safety: as any value. Lifetime: refers to the call's arguments.
#ifndef NFSWALK_NFSCLIENT_API_WALK_REQUEST_H_
#define NFSWALK_NFSCLIENT_API_WALK_REQUEST_H_

#include <string_view>
#include <system_error>

#include "nfsclient/client.h"
#include "nfsclient/superblock/superblock.h"
#include "nfsclient/walk/walk_flags.h"
#include "nfsclient/walk/walk_start.h"

namespace nfswalk {

inline walk::WalkFlags FlagsOf(const nfs::Superblock& superblock, PathCall call,
                               ResolveFlags flags) {
  return {.call = call,
          .follow_last = !flags.no_follow,
          .no_symlinks = flags.no_symlinks,
          .beneath = flags.beneath,
          .strict = flags.strict || superblock.options.contract == WalkContract::kStrict,
          .cached = flags.cached,
          .dont_cache = flags.dont_cache};
}

// The start, path and flags of a walk; `error` ends the call before it.
struct WalkRequest {
  walk::WalkStart start;
  std::string_view path;
  walk::WalkFlags flags;
  std::errc error = {};
};

// path_init() with a dirfd.
[[gnu::always_inline]] inline WalkRequest RequestFromNode(const nfs::Superblock& superblock,
                                                          const vfs::DentryRef& node, PathCall call,
                                                          std::string_view path,
                                                          ResolveFlags flags) {
  const bool scoped = flags.beneath || flags.in_root;
  WalkRequest request{.start = {node, scoped ? node : superblock.root},
                      .path = path,
                      .flags = FlagsOf(superblock, call, flags)};
  if (path.empty()) {  // AT_EMPTY_PATH: a walk of no steps
    request.path = "/";
    request.flags.beneath = false;
  } else if (path.front() == '/' && !flags.in_root) {
    return {.start = walk::AtRoot(superblock), .path = path, .flags = request.flags};
  } else if (!node.inode()->is_directory()) {
    request.error = std::errc::not_a_directory;
  }
  return request;
}

// `node` null: the export's root, the only root there is, so that in_root changes nothing. Two
// scopes contradict each other (openat2(2)).
[[gnu::always_inline]] inline WalkRequest RequestOf(const nfs::Superblock& superblock,
                                                    const vfs::DentryRef* node, PathCall call,
                                                    std::string_view path, ResolveFlags flags) {
  WalkRequest request = node != nullptr ? RequestFromNode(superblock, *node, call, path, flags)
                                        : WalkRequest{.start = walk::AtRoot(superblock),
                                                      .path = path,
                                                      .flags = FlagsOf(superblock, call, flags)};
  if (flags.beneath && flags.in_root) request.error = std::errc::invalid_argument;
  return request;
}

// The error of a call that `cached` does not make from the caches alone: a change, an open.
inline std::errc CachedError(const nfs::Superblock& superblock) {
  return superblock.shut_down.load() ? std::errc::operation_canceled
                                     : std::errc::resource_unavailable_try_again;
}

}  // namespace nfswalk

#endif  // NFSWALK_NFSCLIENT_API_WALK_REQUEST_H_
