#include "nfsclient/memory/kernel_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace nfswalk::nfs {
namespace {

// Closes it, also where there is no memory.
struct OpenFile {
  explicit OpenFile(const std::string& path)
      : descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~OpenFile() {
    if (descriptor >= 0) close(descriptor);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  const int descriptor;
};

}  // namespace

std::string ReadKernelFile(const std::string& path) {
  const OpenFile file(path);
  std::string text;
  std::array<char, 4096> piece;
  for (;;) {
    const ssize_t bytes = read(file.descriptor, piece.data(), piece.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return {};
    if (bytes == 0) return text;
    text.append(piece.data(), static_cast<size_t>(bytes));
  }
}

}  // namespace nfswalk::nfs
