// long_listing: files as `ls -l --time-style=long-iso` lists them, columns aligned.
//
// Thread safety: as owner_name.h; the time zone of the process (tzset(3)).
#ifndef NFSWALK_NFSCLIENT_CLI_SHOW_LONG_LISTING_H_
#define NFSWALK_NFSCLIENT_CLI_SHOW_LONG_LISTING_H_

#include <string>
#include <vector>

#include "nfsclient/client.h"

namespace nfswalk::cli {

struct ListedFile {
  std::string title;  // printed as it is
  Attributes attributes;
  bool has_acl = false;  // that says more than the mode: a plus behind the rights
};

struct LongStyle {
  bool numeric = false;  // users and groups as numbers
  bool human = false;    // sizes as HumanSize()
};

// One line for each file.
std::string LongListing(const std::vector<ListedFile>& files, LongStyle style);

// "total 12\n": the disk space of all, in KiB or as HumanSize().
std::string TotalLine(const std::vector<ListedFile>& files, LongStyle style);

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_SHOW_LONG_LISTING_H_
