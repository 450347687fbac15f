// export_copy: files that are written to an export: cp to a URL.
//
// A file is written under another name, ".nfswalk-" and six letters, and renamed when it is whole;
// not in a directory that the copy makes, which is its owner's alone until all in it is whole.
// Nothing that the source says leads out of the place that the user named: names are single
// components, directories are held by nodes, and below that place links are replaced, never
// followed.
//
// Durability: a file's data is on the server's stable storage before others see its name.
//
// Thread safety: one thread, as Session; files are copied by its TaskThreads.
#ifndef NFSWALK_NFSCLIENT_CLI_COPY_EXPORT_COPY_H_
#define NFSWALK_NFSCLIENT_CLI_COPY_EXPORT_COPY_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "nfsclient/cli/copy/copy_source.h"
#include "nfsclient/cli/session.h"
#include "nfsclient/cli/tree_walk.h"
#include "threads/task_threads.h"

namespace nfswalk::cli {

// Copies one tree: the walk begins at what becomes `target`, or, for "", the directory itself.
class ExportCopy : public TreeVisitor {
 public:
  struct Settings {
    CopySource& source;
    TaskThreads& threads;
    // Mode, times, extended attributes and ACLs; else modes are cut down by the umask, and by what
    // the server makes of those that it is asked for, and a file that is replaced passes its rights
    // on.
    bool preserve = false;
    uint32_t umask = 0;
    bool same_server = false;  // `source` is an export of the server that is written to
  };

  // `directory`: where the name `target` is; shown as `path`.
  ExportCopy(Session& session, const Settings& settings, std::shared_ptr<Node> directory,
             std::string target, std::string path);

  void Enter(const TreeEntry& entry) override;
  void Leave(const TreeEntry& directory) override;
  void Fail(const std::string& path, std::errc error) override { session_.Fail(path, error); }
  bool done() const override { return session_.done(); }

 private:
  class Directory;
  struct Place {
    std::shared_ptr<Directory> directory;
    std::string name;
    std::string path;  // for people
  };

  bool IsTarget(const TreeEntry& entry) const;
  void EnterDirectory(const TreeEntry& entry, const Place& place);
  // `mode_at_end`: of a new one, once its entries are there; unless -p gives it another.
  Result<std::shared_ptr<Node>> MakeDirectory(const TreeEntry& entry, const Place& place,
                                              bool& is_new, bool& was_there,
                                              std::optional<uint32_t>& mode_at_end);
  CopiedData CopyContents(const SourceFile& source, File& file, uint64_t& end);
  void CopyFile(const TreeEntry& entry, const Place& place);
  void CopyLink(const TreeEntry& entry, const Place& place);
  Result<std::optional<Attributes>> Replaced(const Place& place) const;
  uint32_t ModeOf(const Attributes& attributes) const;
  SetAttributes FinalAttributes(const Attributes& attributes) const;
  SetAttributes ReplacedAttributes(File& file, const Attributes& replaced) const;
  void Report(const TreeEntry& entry, const std::string& path, uint64_t size_bytes);

  Session& session_;
  const Settings settings_;
  const std::shared_ptr<Directory> start_;
  const std::string target_;
  const std::string path_;
  std::optional<std::pair<uint64_t, uint64_t>> target_id_;  // fsid, fileid
  std::vector<std::shared_ptr<Directory>> inside_;
  // Directories from this depth on are not made: what is in them is passed over.
  size_t lost_depth_ = std::numeric_limits<size_t>::max();
};

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_COPY_EXPORT_COPY_H_
