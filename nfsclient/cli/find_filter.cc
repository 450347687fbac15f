#include "nfsclient/cli/find_filter.h"

#include <fnmatch.h>

#include "nfsclient/cli/format.h"
#include "nfsclient/cli/join_path.h"

namespace nfswalk::cli {

bool FindFilter::Matches(std::string_view path, protocol::FileType file_type) const {
  if (type != '\0' && TypeLetter(file_type) != type) return false;
  return name.empty() || fnmatch(name.c_str(), std::string(BaseName(path)).c_str(), 0) == 0;
}

}  // namespace nfswalk::cli
