// link_target: the whole text of a symbolic link, however long.
#ifndef NFSWALK_NFSCLIENT_CLI_SHOW_LINK_TARGET_H_
#define NFSWALK_NFSCLIENT_CLI_SHOW_LINK_TARGET_H_

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include "nfsclient/client.h"

namespace nfswalk::cli {

// Calls ReadLink() of `from`, a Client or a Node; its errors.
template <class From>
Result<std::string> ReadLinkTarget(From& from, std::string_view path,
                                   const Credential& credential) {
  for (size_t room = 4096;; room *= 2) {
    std::string target(room, '\0');
    const Result<size_t> length = from.ReadLink(path, target, credential);
    if (!length) return std::unexpected(length.error());
    // A full buffer may have cut the text (readlink(2)).
    if (*length == room) continue;
    target.resize(*length);
    return target;
  }
}

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_SHOW_LINK_TARGET_H_
