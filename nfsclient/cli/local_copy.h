// local_copy: files of the export, written to the local file system.
//
// Nothing that a server says, and no link that somebody who may write at the target puts there at
// any time, leads out of the place that the user named: names are single components, directories
// are held by descriptors, and below that place links are replaced, never followed.
//
// Durability: a file's data is on stable storage before it has its name, the names in a directory
// when it is left, the name of the first one after Sync().
//
// Descriptors: one for each directory between the target and the position.
//
// Thread safety: one thread, as Session.
#ifndef NFSWALK_NFSCLIENT_CLI_LOCAL_COPY_H_
#define NFSWALK_NFSCLIENT_CLI_LOCAL_COPY_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <system_error>
#include <vector>

#include "nfsclient/cli/local_descriptor.h"
#include "nfsclient/cli/session.h"
#include "nfsclient/cli/tree_walk.h"

namespace nfswalk::cli {

// Copies one tree: the walk begins at what becomes `start`.
class LocalCopy : public TreeVisitor {
 public:
  struct Place {
    int directory = -1;  // borrowed; -1: the user named `path` itself, and a link there leads to
                         // the file to replace
    std::string name;    // in it
    std::string path;    // for people
  };

  // `preserve`: mode and times. Else modes are cut down by the process' umask, as those of new
  // files.
  LocalCopy(Session& session, Place start, bool preserve);

  void Enter(const TreeEntry& entry) override;
  void Leave(const TreeEntry& directory) override;
  void Fail(const std::string& path, std::errc error) override { session_.Fail(path, error); }
  bool done() const override { return session_.done(); }

  // Makes the name of a start that the user named durable.
  [[nodiscard]] std::errc Sync() const;

 private:
  struct Directory {
    LocalDescriptor descriptor;
    std::string path;
    bool is_new = false;
  };

  Result<Place> PlaceOf(const TreeEntry& entry);
  Result<Place> NamedPlace(protocol::FileType type);
  void MakeDirectory(const TreeEntry& entry, const Place& place);
  void CopyFile(const TreeEntry& entry, const Place& place);
  void CopyLink(const TreeEntry& entry, const Place& place);
  uint32_t ModeOf(const Attributes& attributes) const;
  void Report(const TreeEntry& entry, const Place& place, uint64_t size_bytes);

  Session& session_;
  const Place start_;
  const bool preserve_;
  const uint32_t umask_;
  LocalDescriptor named_in_;  // where a start is that the user named
  std::vector<Directory> inside_;
  // Directories from this depth on could not be made: what is in them is passed over.
  size_t lost_depth_ = std::numeric_limits<size_t>::max();
};

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_LOCAL_COPY_H_
