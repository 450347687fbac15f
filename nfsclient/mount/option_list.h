// option_list: what follows -o: options of nfs(5) and the client's, and those of FUSE and of
// mount(8).
//
// Thread safety: pure function.
#ifndef NFSWALK_NFSCLIENT_MOUNT_OPTION_LIST_H_
#define NFSWALK_NFSCLIENT_MOUNT_OPTION_LIST_H_

#include <string>
#include <string_view>
#include <vector>

namespace nfswalk::mount {

struct OptionList {
  std::vector<std::string> fuse;    // libfuse's
  std::vector<std::string> client;  // of a mount's URL (ParseMountUrl): all others
  bool others = false;              // allow_other
  bool nonempty = false;
};

// Adds `options`, separated by commas. Leaves out what only mount(8) and systemd.mount(5) read in
// fstab, and what mount(8) has for other file systems than NFS, whose times are the server's.
void AddOptions(OptionList& list, std::string_view options);

// Why one of OptionList::client is refused that is known nevertheless, with what to do; "" if it is
// not one of those.
std::string_view RefusedMountOption(std::string_view option);

// The names that a mount takes beside those of its URL, separated by commas.
std::string MountOnlyNames();

}  // namespace nfswalk::mount

#endif  // NFSWALK_NFSCLIENT_MOUNT_OPTION_LIST_H_
