// local_copy: files of the export, written to the local file system.
//
// Nothing that a server says is followed out of the place that the user named: names are single
// components, and below that place links are replaced, never written through.
//
// Thread safety: one thread, as Session.
#ifndef NFSWALK_NFSCLIENT_CLI_LOCAL_COPY_H_
#define NFSWALK_NFSCLIENT_CLI_LOCAL_COPY_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "nfsclient/cli/session.h"
#include "nfsclient/cli/tree_walk.h"

namespace nfswalk::cli {

// Copies one tree: the walk begins at what becomes `target`.
class LocalCopy : public TreeVisitor {
 public:
  // `preserve`: mode and times. Else modes are cut down by the process' umask, as those of new
  // files.
  LocalCopy(Session& session, std::string target, bool preserve);

  void Enter(const TreeEntry& entry) override;
  void Leave(const TreeEntry& directory) override;
  void Fail(const std::string& path, std::errc error) override { session_.Fail(path, error); }
  bool done() const override { return session_.done(); }

 private:
  struct Directory {
    std::string path;
    bool is_new = false;
  };

  std::string TargetOf(const TreeEntry& entry) const;
  void MakeDirectory(const TreeEntry& entry, const std::string& target);
  void CopyFile(const TreeEntry& entry, std::string target);
  void CopyLink(const TreeEntry& entry, std::string target);
  // errc{} and in `target` the path to write to, if that is free or holds what is replaced.
  std::errc FindPlace(size_t depth, std::string& target) const;
  uint32_t ModeOf(const Attributes& attributes) const;
  void Report(const TreeEntry& entry, const std::string& target, uint64_t size_bytes);

  Session& session_;
  const std::string start_;
  const bool preserve_;
  const uint32_t umask_;
  std::vector<Directory> inside_;
  // Directories from this depth on could not be made: what is in them is passed over.
  size_t lost_depth_ = std::numeric_limits<size_t>::max();
};

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_LOCAL_COPY_H_
