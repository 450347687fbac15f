#include "bench/trace/process_table.h"

namespace nfswalk::bench {

std::string JoinPath(std::string_view directory, std::string_view path) {
  if (path.starts_with('/')) return std::string(path);
  std::string joined(directory);
  if (!joined.ends_with('/')) joined.push_back('/');
  return joined.append(path);
}

void ProcessTable::Spawn(uint32_t parent, uint32_t child, bool share_directory) {
  // Not by reference across the insertion of the child.
  const std::shared_ptr<std::string> directory = DirectoryOf(parent);
  directories_[child] = share_directory ? directory : std::make_shared<std::string>(*directory);
}

std::shared_ptr<std::string>& ProcessTable::DirectoryOf(uint32_t pid) {
  std::shared_ptr<std::string>& directory = directories_[pid];
  if (directory == nullptr) directory = std::make_shared<std::string>();
  return directory;
}

}  // namespace nfswalk::bench
