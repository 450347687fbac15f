// join_path: a directory's path and a name in it.
#ifndef NFSWALK_NFSCLIENT_CLI_JOIN_PATH_H_
#define NFSWALK_NFSCLIENT_CLI_JOIN_PATH_H_

#include <string>
#include <string_view>

namespace nfswalk::cli {

// "usr/bin"; no second slash after one that is there. Preconditions: `directory` is not empty.
inline std::string JoinPath(std::string_view directory, std::string_view name) {
  std::string path(directory);
  if (!path.ends_with('/')) path += '/';
  return path += name;
}

// "usr/lib/" -> "lib", "/" -> "/": what `find -name` compares.
inline std::string_view BaseName(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path.size() > 1 ? path.substr(path.rfind('/') + 1) : path;
}

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_JOIN_PATH_H_
