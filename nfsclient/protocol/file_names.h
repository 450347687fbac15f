// file_names: the names by which an open file is opened again.
//
// The state of an open file (OpenState) outlives the name it was opened by: this client renames
// and removes files that are open. Only the owner of the names knows what they are now, so that
// the state asks it at the time of the OPEN, and keeps no name of its own.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_FILE_NAMES_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_FILE_NAMES_H_

#include <optional>
#include <span>
#include <string>

#include "nfsclient/protocol/file_handle.h"

namespace nfswalk::protocol {

struct FileName {
  FileHandle directory;
  std::string name;

  bool operator==(const FileName&) const = default;
};

class FileNames {
 public:
  virtual ~FileNames() = default;
  // Returns a name that the file has now, as far as this client knows, and that is not among
  // `tried`, the likeliest first; nullopt: there is none. It may be another file's on the server:
  // the caller compares the handles. Sends nothing and waits for no call. Throws std::bad_alloc.
  // Thread safety: any thread, one at a time.
  virtual std::optional<FileName> NextName(std::span<const FileName> tried) const = 0;
  // Whether a change of the file's names is in flight, so that its name may already be another on
  // the server than here. Any thread.
  virtual bool AreChanging() const = 0;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_FILE_NAMES_H_
