// unfinished_file: a local file, or symbolic link, that appears under its name when it is whole, or
// not at all.
//
// It comes into being under another name of the same directory, ".nfswalk-" and six letters, and is
// renamed at its end, its data on stable storage. What is not renamed is removed: by the
// destructor, or, while an InterruptGuard lives, before a signal ends the process.
//
// Names are of the directory given as a descriptor, which outlives the UnfinishedFile: no link
// leads elsewhere.
//
// Thread safety: each is one thread's. Errors are those of open(2), write(2), rename(2) ...
#ifndef NFSWALK_NFSCLIENT_CLI_COPY_UNFINISHED_FILE_H_
#define NFSWALK_NFSCLIENT_CLI_COPY_UNFINISHED_FILE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <system_error>

#include "nfsclient/cli/copy/interrupt_guard.h"
#include "nfsclient/cli/copy/local_descriptor.h"
#include "nfsclient/cli/copy/xattrs.h"
#include "nfsclient/client.h"

namespace nfswalk::cli {

class UnfinishedFile {
 public:
  UnfinishedFile();
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

  // An empty file that gets `mode` as any new file of `directory` does (umask(2), or its default
  // ACL), or a link. One of both, once.
  [[nodiscard]] std::errc Create(int directory, uint32_t mode);
  [[nodiscard]] std::errc CreateLink(int directory, const std::string& target);

  // For files, as all that follows: writes behind what was written before.
  [[nodiscard]] std::errc Write(std::span<const std::byte> data);
  // Leaves a hole there.
  [[nodiscard]] std::errc Skip(uint64_t bytes);
  [[nodiscard]] std::errc SetMode(uint32_t mode) const { return descriptor_.SetMode(mode); }
  [[nodiscard]] std::errc SetModeAlone(uint32_t mode) const {
    return descriptor_.SetModeAlone(mode);
  }
  // Takes those of the file that Finish(name) will replace, as in LocalDescriptor.
  [[nodiscard]] std::errc TakeRights(const std::string& name,
                                     const LocalDescriptor& replaced) const {
    return descriptor_.TakeRights(directory_, name, replaced);
  }

  // Sets extended attributes of it.
  XattrSetter SetsXattrs() const { return SetsXattrsOf(descriptor_.get()); }

  // For both. Last of all before Finish().
  [[nodiscard]] std::errc SetTimes(const Attributes& attributes) const {
    return descriptor_.SetTimes(attributes);
  }
  // Takes the place of a file that is there. The new name is on stable storage when the directory
  // is synchronized.
  [[nodiscard]] std::errc Finish(const std::string& name);

 private:
  void Remove() const;

  LocalDescriptor descriptor_;
  int directory_ = -1;
  std::string name_;  // "" when there is nothing to remove; changed within a BeginChange()
  Unfinished unfinished_;
};

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_COPY_UNFINISHED_FILE_H_
