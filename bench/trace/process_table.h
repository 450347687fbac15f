// process_table: the working directory of every traced process, as far as the trace tells.
//
// It is known from AT_FDCWD</path> of -y and from getcwd, follows chdir and fchdir, and is handed
// to children; CLONE_FS shares it instead.
#ifndef NFSWALK_BENCH_TRACE_PROCESS_TABLE_H_
#define NFSWALK_BENCH_TRACE_PROCESS_TABLE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace nfswalk::bench {

// `path` as seen from `directory`, joined as text. ".." is kept: only a walk can resolve it.
std::string JoinPath(std::string_view directory, std::string_view path);

class ProcessTable {
 public:
  // Empty: unknown.
  const std::string& WorkingDirectory(uint32_t pid) { return *DirectoryOf(pid); }
  void SetWorkingDirectory(uint32_t pid, std::string path) { *DirectoryOf(pid) = std::move(path); }
  void Spawn(uint32_t parent, uint32_t child, bool share_directory);

 private:
  std::shared_ptr<std::string>& DirectoryOf(uint32_t pid);

  std::unordered_map<uint32_t, std::shared_ptr<std::string>> directories_;
};

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_TRACE_PROCESS_TABLE_H_
