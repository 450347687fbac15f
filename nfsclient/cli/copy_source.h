// copy_source: where cp takes files from: an export, or this machine.
//
// Thread safety: all calls at once; a reader is one thread's.
#ifndef NFSWALK_NFSCLIENT_CLI_COPY_SOURCE_H_
#define NFSWALK_NFSCLIENT_CLI_COPY_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "nfsclient/cli/tree_walk.h"
#include "nfsclient/client.h"

namespace nfswalk::cli {

class CopySource {
 public:
  // Reads until its argument is full or the file ends.
  using Reader = std::function<Result<size_t>(std::span<std::byte>, uint64_t offset_bytes)>;

  virtual ~CopySource() = default;

  // Of what the path leads to; with `follow` false of a symbolic link itself.
  virtual Result<Attributes> Stat(const std::string& path, bool follow) = 0;
  // As WalkTree().
  virtual void Walk(const std::string& start, const TreeOptions& options, TreeVisitor& visitor) = 0;
  virtual Result<Reader> Open(const std::string& path) = 0;
  virtual Result<std::string> ReadLink(const std::string& path) = 0;
};

// Borrows both.
std::unique_ptr<CopySource> ExportSource(Client& client, const Credential& credential);
std::unique_ptr<CopySource> LocalSource();

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_COPY_SOURCE_H_
