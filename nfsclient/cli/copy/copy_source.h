// copy_source: where cp takes files from: an export, or this machine.
//
// The tree may change meanwhile: what is opened and read is what was listed, or an error. A file
// system that is mounted on a directory of this machine when that is opened (autofs) is entered.
// Directories of this machine are held by descriptors: one for each directory between the start and
// the position, and for one of the files that wait to be copied, as far as half of the limit goes.
//
// Thread safety: all calls but Walk() at once; a file is read by one thread.
#ifndef NFSWALK_NFSCLIENT_CLI_COPY_COPY_SOURCE_H_
#define NFSWALK_NFSCLIENT_CLI_COPY_COPY_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "nfsclient/cli/copy/xattrs.h"
#include "nfsclient/cli/tree_walk.h"
#include "nfsclient/client.h"
#include "threads/task_threads.h"

namespace nfswalk::cli {

// An open file.
struct SourceFile {
  Attributes attributes;
  // Reads until its argument is full or the file ends.
  std::function<Result<size_t>(std::span<std::byte>, uint64_t offset_bytes)> read;
  // As File::Seek().
  std::function<Result<uint64_t>(uint64_t offset_bytes, Content content)> seek;
  XattrSource xattrs;
  std::shared_ptr<const File> of_export = nullptr;  // if it is
};

struct CopiedData {
  std::errc failed{};   // of the source
  std::errc refused{};  // of `skip`, `write`
  uint64_t size_bytes = 0;
};
// Copies the data of a file in pieces that fit `room`. `skip(bytes)`: there is a hole;
// `write(data)`. Both return errors, which end the copy. `copy(offset_bytes, bytes)`, if given:
// returns how much was copied without being read here, 0: that is to be read.
CopiedData CopyData(const SourceFile& source, std::span<std::byte> room,
                    const std::function<std::errc(uint64_t bytes)>& skip,
                    const std::function<std::errc(std::span<const std::byte>)>& write,
                    const std::function<uint64_t(uint64_t, uint64_t)>& copy = nullptr);

class CopySource {
 public:
  virtual ~CopySource() = default;

  // Returns the file that the path leads to, through links.
  virtual Result<TreeEntry> Find(const std::string& path) = 0;
  // As WalkTree(), by the thread that called LocalSource().
  virtual void Walk(const std::string& start, const TreeOptions& options, TreeVisitor& visitor) = 0;
  // The entry is one that Find() or Walk() gave out. protocol::kStale if its name is that of
  // another file by now.
  virtual Result<SourceFile> Open(const TreeEntry& entry) = 0;
  virtual Result<XattrSource> XattrsOfDirectory(const TreeEntry& entry) = 0;
  virtual Result<std::string> ReadLink(const TreeEntry& entry) = 0;
};

// The sources borrow what they are given. `threads`: are waited for where the entries of their
// copies hold many descriptors.
std::unique_ptr<CopySource> ExportSource(Client& client, const Credential& credential);
std::unique_ptr<CopySource> LocalSource(TaskThreads& threads);

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_COPY_COPY_SOURCE_H_
