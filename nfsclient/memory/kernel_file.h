// kernel_file: the text files of /proc and /sys.
#ifndef NFSWALK_NFSCLIENT_MEMORY_KERNEL_FILE_H_
#define NFSWALK_NFSCLIENT_MEMORY_KERNEL_FILE_H_

#include <string>
#include <string_view>

namespace nfswalk::nfs {

// The whole text; empty if the file cannot be read. Throws std::bad_alloc, which streams swallow.
std::string ReadKernelFile(const std::string& path);

// Takes what is before the first `end`, or all, off `text`, and the `end` too.
inline std::string_view TakeUntil(std::string_view& text, char end) {
  const std::string_view taken = text.substr(0, text.find(end));
  text.remove_prefix(taken.size() < text.size() ? taken.size() + 1 : taken.size());
  return taken;
}

}  // namespace nfswalk::nfs

#endif  // NFSWALK_NFSCLIENT_MEMORY_KERNEL_FILE_H_
