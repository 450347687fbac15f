// mount_source: what names an export on a command line: a URL, or host:/path as in nfs(5).
//
// Thread safety: pure functions.
#ifndef NFSWALK_NFSCLIENT_CLI_MOUNT_SOURCE_H_
#define NFSWALK_NFSCLIENT_CLI_MOUNT_SOURCE_H_

#include <string>
#include <string_view>

#include "nfsclient/client.h"

namespace nfswalk::cli {

// Whether it is host:/path: a colon before the first slash. An IPv6 address stands in brackets.
bool IsDevice(std::string_view text);

// Returns the URL of host:/path, whose path has no escapes, and anything else as it is.
std::string UrlOf(std::string_view source);

// Whether two sources name one export of one host, however they are spelled: the scheme and the
// host in any case, slashes more or less, host:/path, the port of NFS. Addresses are not asked for:
// a host by its name and by its address are two.
bool NameSameExport(std::string_view a, std::string_view b);

// Whether two addresses may be of one server. A port that is not given may be any.
bool MayBeSameServer(const protocol::ServerAddress& a, const protocol::ServerAddress& b);

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_MOUNT_SOURCE_H_
