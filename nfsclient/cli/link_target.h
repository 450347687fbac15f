// link_target: the whole text of a symbolic link, however long.
#ifndef NFSWALK_NFSCLIENT_CLI_LINK_TARGET_H_
#define NFSWALK_NFSCLIENT_CLI_LINK_TARGET_H_

#include <string>
#include <string_view>

#include "nfsclient/cli/session.h"
#include "nfsclient/client.h"

namespace nfswalk::cli {

// The errors of Client::ReadLink.
Result<std::string> ReadLinkTarget(Session& session, std::string_view path);

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_LINK_TARGET_H_
