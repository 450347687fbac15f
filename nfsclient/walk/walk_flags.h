// walk_flags: what both passes of a walk need to know about the call.
#ifndef NFSWALK_NFSCLIENT_WALK_WALK_FLAGS_H_
#define NFSWALK_NFSCLIENT_WALK_WALK_FLAGS_H_

namespace nfswalk::walk {

// path_resolution(7), WALK-10: all links of one call together, not nested ones.
inline constexpr int kLinksMax = 40;

struct WalkFlags {
  bool follow_last = true;
  bool no_symlinks = false;
  bool beneath = false;
  bool strict = false;
  bool cached = false;      // EAGAIN instead of anything that may sleep
  bool open = false;        // LOOKUP_OPEN: the file will be opened by its name on the server
  bool dont_cache = false;  // what the walk ends at leaves the cache with it if it brought it in
};

}  // namespace nfswalk::walk

#endif  // NFSWALK_NFSCLIENT_WALK_WALK_FLAGS_H_
