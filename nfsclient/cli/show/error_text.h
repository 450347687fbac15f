// error_text: what went wrong, and what the person at the keyboard can do about it.
//
// Thread safety: pure functions.
#ifndef NFSWALK_NFSCLIENT_CLI_SHOW_ERROR_TEXT_H_
#define NFSWALK_NFSCLIENT_CLI_SHOW_ERROR_TEXT_H_

#include <string>
#include <string_view>
#include <system_error>

#include "nfsclient/client.h"

namespace nfswalk::cli {

// "ENOENT"; "EUNKNOWN" if the number has no name here.
std::string_view ErrorName(std::errc error);

// "No such file or directory".
std::string ErrorMessage(std::errc error);

// "stat 'usr/x': No such file or directory (what to do)". The path is escaped.
std::string FailureText(std::string_view command, std::string_view path, std::errc error,
                        const sunrpc_auth::Credential& credential);

// "cp 'usr/x' to '/tmp/x': No space left on device (what to do)": the local file is at fault. Both
// paths are escaped.
std::string LocalFailureText(std::string_view command, std::string_view path,
                             std::string_view local_path, std::errc error);

// "cp 'usr/x' to '/tmp/x': ACL not kept: Operation not supported". Both paths are escaped.
std::string NotKeptText(std::string_view command, std::string_view path, std::string_view to,
                        std::string_view what, std::errc error);

// The server, not the path, is at fault: soft timeout or a connection closed for good.
bool IsServerFailure(std::errc error);

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_SHOW_ERROR_TEXT_H_
