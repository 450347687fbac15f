// xattrs: the extended attributes of users ("user.*", xattr(7)) of a file that is copied.
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
#include "nfsclient/client.h"

namespace nfswalk::cli {

// Reads those of an open file. Errors: File::ListXattrs()'s and GetXattr()'s; those of
// fgetxattr(2).
struct XattrSource {
  std::function<Result<std::vector<std::string>>()> names;
  std::function<Result<std::string>(const std::string& name)> value;
};
XattrSource XattrsOf(std::shared_ptr<const File> file);
XattrSource XattrsOf(std::shared_ptr<const LocalDescriptor> file);

// Sets one, as setxattr(2).
using XattrSetter = std::function<std::errc(const std::string& name, const std::string& value)>;
XattrSetter SetsXattrsOf(File& file);
XattrSetter SetsXattrsOf(int descriptor);

struct CopiedXattrs {
  std::errc failed{};   // of the source: the first error
  std::errc refused{};  // of `set`, the same
};
// Copies all, one after the other, until `stops()`, but those that the other file system has not,
// or that are removed meanwhile.
CopiedXattrs CopyXattrs(const XattrSource& source, const XattrSetter& set,
                        const std::function<bool()>& stops);

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_COPY_XATTRS_H_
