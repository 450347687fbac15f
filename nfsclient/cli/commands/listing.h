// listing: what `ls` prints of a set of files: in which order and in which of its forms.
//
// Thread safety: one thread, as Session.
#ifndef NFSWALK_NFSCLIENT_CLI_COMMANDS_LISTING_H_
#define NFSWALK_NFSCLIENT_CLI_COMMANDS_LISTING_H_

#include <optional>
#include <string>
#include <vector>

#include "nfsclient/cli/session.h"
#include "nfsclient/cli/show/acl_text.h"
#include "nfsclient/cli/show/color.h"
#include "nfsclient/cli/show/long_listing.h"
#include "nfsclient/client.h"

namespace nfswalk::cli {

struct ListedEntry {
  std::string path;
  std::string name;  // what is printed, and where the entry is in its directory
  std::optional<Attributes> attributes = {};
  std::optional<AclText> acl = {};
};

enum class ListOrder { kName, kTime, kSize };  // the newest, the largest first

struct ListingOptions {
  bool details = false;
  bool acl = false;  // of each, in the long form and in JSON
  LongStyle style;
  ListOrder order = ListOrder::kName;
  bool reversed = false;
  ColorWhen color = ColorWhen::kAuto;
};

class Listing {
 public:
  // Borrows both.
  Listing(Session& session, const ListingOptions& options);

  // Fetches attributes that the format needs and the listing lacks; entries that fail have been
  // complained about and are gone. `total`: in the long form begin with TotalLine(). Returns the
  // entries as they were printed, which are all of `directory`.
  std::vector<ListedEntry> Print(std::vector<ListedEntry> entries, const Node& directory,
                                 bool total);
  // All of them have attributes, or the order is that of names.
  void Sort(std::vector<ListedEntry>& entries) const;

 private:
  bool NeedsAttributes() const;
  void Complete(std::vector<ListedEntry>& entries, const Node& directory);
  void ReadAcls(std::vector<ListedEntry>& entries, const Node& directory);
  std::string TargetOf(const ListedEntry& entry, const Node& directory);
  std::string Title(const ListedEntry& entry) const;
  void PrintJson(const ListedEntry& entry, const Node& directory);
  void PrintDetails(const std::vector<ListedEntry>& entries, const Node& directory, bool total);

  Session& session_;
  const ListingOptions& options_;
  const bool colored_;
};

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_COMMANDS_LISTING_H_
