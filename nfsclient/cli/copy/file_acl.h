// file_acl: the access control list (acl(5), nfs4_acl(5)) of a file whose mode `cp -p` keeps.
//
// A copy without the ACL may not have the mode as it is, which may be more than the ACL: the
// group's bits are the mask of a POSIX ACL, and users and groups that it names may have less than
// others.
//
// Thread safety: pure functions, but for what they call.
#ifndef NFSWALK_NFSCLIENT_CLI_COPY_FILE_ACL_H_
#define NFSWALK_NFSCLIENT_CLI_COPY_FILE_ACL_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <system_error>

#include "nfsclient/cli/copy/xattrs.h"
#include "nfsclient/cli/session.h"

namespace nfswalk::cli {

struct FileAcl {
  std::string name = {};  // of the extended attribute
  std::string value = {};
  bool is_as_mode = false;  // a mode says as much
};

struct FileRights {
  uint32_t mode = 0;  // of a copy without the ACL
  std::optional<FileAcl> acl = {};
};

// Returns what is kept of a file with this mode. An ACL that cannot be read is reported for the
// path `from`; all but the owner may do nothing then.
FileRights RightsOf(Session& session, const XattrSource& source, const std::string& from,
                    uint32_t mode);

// Gives a copy that is its owner's alone the rights of a file with an ACL: that, by which the
// server or the kernel changes the mode, or else the mode, by `set_mode`. A copy without an ACL
// that says more than its mode is reported for both paths. Returns the error of `set_mode`.
// Preconditions: rights.acl.
std::errc SetRights(Session& session, const FileRights& rights, const std::string& from,
                    const XattrSetter& set, const std::function<std::errc(uint32_t)>& set_mode,
                    const std::string& to);

// Reports the POSIX ACL that new files of a directory would get, which is not kept.
void ReportDefaultAcl(Session& session, const XattrSource& source, const std::string& from,
                      const std::string& to);

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_COPY_FILE_ACL_H_
