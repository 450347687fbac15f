// local_copy: files of the export, written to the local file system.
//
// Nothing that a server says, and no link that another user with write permission at the target
// makes there at any time, leads out of the place that the user named: names are single components,
// directories are held by descriptors, and below that place links are replaced, never followed.
//
// Durability: a file's data is on stable storage before it has its name, the names in a directory
// when it is left, the name of the first one after Sync().
//
// Descriptors: one for each directory between the target and the position, or one of the files
// that wait for their turn, and, with -p, for each that was left until its attributes are kept.
//
// Thread safety: one thread, as Session; files are copied by its TaskThreads.
#ifndef NFSWALK_NFSCLIENT_CLI_COPY_LOCAL_COPY_H_
#define NFSWALK_NFSCLIENT_CLI_COPY_LOCAL_COPY_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "nfsclient/cli/copy/copy_source.h"
#include "nfsclient/cli/copy/local_descriptor.h"
#include "nfsclient/cli/session.h"
#include "nfsclient/cli/tree_walk.h"
#include "threads/task_threads.h"

namespace nfswalk::cli {

class UnfinishedFile;

// Copies one tree: the walk begins at what becomes `start`.
class LocalCopy : public TreeVisitor {
 public:
  class Directory;
  struct Place {
    int directory = -1;  // borrowed; -1: the user named `path` itself, and a link there leads to
                         // the file to replace
    std::string name;    // in it
    std::string path;    // for people
    std::shared_ptr<Directory> owner = nullptr;  // of `directory`, unless it is borrowed
  };

  // `preserve`: mode, times, extended attributes and ACLs. Else modes are cut down by the process'
  // umask, as those of new files, and a file that is replaced passes its rights on. Borrows all but
  // `start`.
  LocalCopy(Session& session, CopySource& source, TaskThreads& threads, Place start, bool preserve);

  void Enter(const TreeEntry& entry) override;
  void Leave(const TreeEntry& directory) override;
  void Fail(const std::string& path, std::errc error) override { session_.Fail(path, error); }
  bool done() const override { return session_.done(); }

  // Makes the name of a start that the user named durable. Preconditions: the copies have ended.
  [[nodiscard]] std::errc Sync() const;

 private:
  // Whether a file that is there passes its rights on to the one that replaces it: it may have been
  // there before the copy.
  static bool GivesRights(const Place& place);
  Result<Place> PlaceOf(const TreeEntry& entry);
  Result<Place> NamedPlace(protocol::FileType type);
  void MakeDirectory(const TreeEntry& entry, const Place& place);
  std::errc Keep(const TreeEntry& entry, const Place& place, const SourceFile& source,
                 UnfinishedFile& local);
  void CopyFile(const TreeEntry& entry, const Place& place);
  void CopyLink(const TreeEntry& entry, const Place& place);
  void Report(const TreeEntry& entry, const Place& place, uint64_t size_bytes);

  Session& session_;
  CopySource& source_;
  TaskThreads& threads_;
  const Place start_;
  const bool preserve_;
  LocalDescriptor named_in_;  // where a start is that the user named
  std::vector<std::shared_ptr<Directory>> inside_;
  // Directories from this depth on could not be made: what is in them is passed over.
  size_t lost_depth_ = std::numeric_limits<size_t>::max();
};

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_COPY_LOCAL_COPY_H_
