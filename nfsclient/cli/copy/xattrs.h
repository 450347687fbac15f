// xattrs: the extended attributes (xattr(7)) of a file that is copied.
//
// Thread safety: as the file's.
#ifndef NFSWALK_NFSCLIENT_CLI_COPY_XATTRS_H_
#define NFSWALK_NFSCLIENT_CLI_COPY_XATTRS_H_

#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "nfsclient/cli/copy/local_descriptor.h"
#include "nfsclient/cli/session.h"
#include "nfsclient/client.h"

namespace nfswalk::cli {

// Reads those of an open file, or of a directory. Errors: File::ListXattrs()'s and GetXattr()'s;
// those of fgetxattr(2).
struct XattrSource {
  std::function<Result<std::vector<std::string>>()> names;            // of users alone
  std::function<Result<std::string>(const std::string& name)> value;  // of any name
};
XattrSource XattrsOf(std::shared_ptr<const File> file);
XattrSource XattrsOf(std::shared_ptr<const Node> node, const Credential& credential);
XattrSource XattrsOf(std::shared_ptr<const LocalDescriptor> file);

// Sets one, as setxattr(2).
using XattrSetter = std::function<std::errc(const std::string& name, const std::string& value)>;
XattrSetter SetsXattrsOf(File& file);
XattrSetter SetsXattrsOf(Node& node, const Credential& credential);
XattrSetter SetsXattrsOf(int descriptor);

// Copies those of users, one after the other, but those that the other file system has not, or that
// are removed meanwhile. Reports the first error of each side for the paths `from` and `to`.
void CopyXattrs(Session& session, const XattrSource& source, const std::string& from,
                const XattrSetter& set, const std::string& to);

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_COPY_XATTRS_H_
