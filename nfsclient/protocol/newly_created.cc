#include "nfsclient/protocol/newly_created.h"

namespace nfswalk::protocol {

bool LooksNewlyCreated(const Attributes& found, FileType type, const SetAttributes& requested,
                       const Credential& credential) {
  // A server may squash root to any user.
  const uint32_t uid = requested.uid.value_or(credential.uid());
  const bool owner = found.uid == uid || credential.uid() == 0;
  // A directory may inherit the set-group-ID bit; symbolic links have no mode.
  const bool mode =
      type == FileType::kSymlink || !requested.mode || ((found.mode ^ *requested.mode) & 0777) == 0;
  const uint32_t links_max = type == FileType::kDirectory ? 2 : 1;
  const bool empty =
      type != FileType::kRegular || found.size_bytes == requested.size_bytes.value_or(0);
  return found.type == type && owner && mode && found.nlink <= links_max && empty;
}

}  // namespace nfswalk::protocol
