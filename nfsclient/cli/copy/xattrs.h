// xattrs: the extended attributes of users ("user.*", xattr(7)) of a file that is copied.
//
// Thread safety: as the file's.
#ifndef NFSWALK_NFSCLIENT_CLI_COPY_XATTRS_H_
#define NFSWALK_NFSCLIENT_CLI_COPY_XATTRS_H_

#include <functional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "nfsclient/client.h"

namespace nfswalk::cli {

// Names with their values.
using Xattrs = std::vector<std::pair<std::string, std::string>>;

// Return them all, none where the file system has none. Errors: File::ListXattrs()'s; those of
// fgetxattr(2). One that is removed meanwhile is left out.
Result<Xattrs> XattrsOf(const File& file);
Result<Xattrs> XattrsOf(int descriptor);

// Gives them to a copy, unless its file system has none: then they are not kept.
std::errc SetXattrs(const Xattrs& xattrs, File& file);
std::errc SetXattrs(const Xattrs& xattrs, int descriptor);

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_COPY_XATTRS_H_
