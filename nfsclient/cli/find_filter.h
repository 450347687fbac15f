// find_filter: which files `nfswalk find` prints.
//
// Thread safety: as any value.
#ifndef NFSWALK_NFSCLIENT_CLI_FIND_FILTER_H_
#define NFSWALK_NFSCLIENT_CLI_FIND_FILTER_H_

#include <string>
#include <string_view>

#include "nfsclient/client.h"

namespace nfswalk::cli {

struct FindFilter {
  std::string name;  // shell pattern (glob(7)) for the last component; "" matches all
  char type = '\0';  // letter as in `find -type`; NUL matches all

  bool Matches(std::string_view path, protocol::FileType file_type) const;
};

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_FIND_FILTER_H_
