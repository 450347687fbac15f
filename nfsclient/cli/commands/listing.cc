#include "nfsclient/cli/commands/listing.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "nfsclient/cli/show/link_target.h"
#include "threads/task_threads.h"

namespace nfswalk::cli {
namespace {

constexpr size_t kAclThreads = 8;

bool IsNewer(const protocol::Time& a, const protocol::Time& b) {
  return std::pair(a.seconds, a.nanoseconds) > std::pair(b.seconds, b.nanoseconds);
}

// Ties are broken by name.
bool ComesBefore(const ListedEntry& a, const ListedEntry& b, ListOrder order) {
  if (order == ListOrder::kTime && a.attributes->mtime != b.attributes->mtime) {
    return IsNewer(a.attributes->mtime, b.attributes->mtime);
  }
  if (order == ListOrder::kSize && a.attributes->size_bytes != b.attributes->size_bytes) {
    return a.attributes->size_bytes > b.attributes->size_bytes;
  }
  return a.name < b.name;
}

}  // namespace

Listing::Listing(Session& session, const ListingOptions& options)
    : session_(session),
      options_(options),
      colored_(!session.json() && UseColor(options.color, session.console().out_is_terminal())) {}

bool Listing::NeedsAttributes() const {
  return session_.json() || options_.details || colored_ || options_.order != ListOrder::kName;
}

void Listing::Complete(std::vector<ListedEntry>& entries, const Node& directory) {
  std::vector<std::string_view> names;
  for (const ListedEntry& entry : entries) {
    if (!entry.attributes) names.push_back(entry.name);
  }
  std::vector<Result<Attributes>> found(names.size());
  directory.StatEach(names, session_.credential(), found, {.no_follow = true});
  auto next = found.begin();
  std::erase_if(entries, [&](ListedEntry& entry) {
    if (entry.attributes) return false;
    const Result<Attributes>& attributes = *next++;
    if (attributes) {
      entry.attributes = *attributes;
    } else {
      session_.Fail(entry.path, attributes.error());
    }
    return !attributes;
  });
}

// Asks for several at once. Those that cannot be read have been complained about.
void Listing::ReadAcls(std::vector<ListedEntry>& entries, const Node& directory) {
  std::vector<Result<std::optional<AclText>>> found(entries.size(), std::nullopt);
  {
    TaskThreads threads(kAclThreads, entries.size());
    for (size_t i = 0; i < entries.size(); ++i) {
      if (session_.done()) return;
      if (entries[i].attributes->type == protocol::FileType::kSymlink) continue;
      found[i] = std::unexpected(std::errc::not_enough_memory);  // unless its task does not end so
      threads.Run([this, &found, &entries, &directory, i] {
        found[i] =
            ReadAclText(directory, entries[i].name, session_.credential(), {.no_follow = true});
      });
    }
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!found[i]) session_.Fail(entries[i].path, found[i].error());
    if (found[i]) entries[i].acl = *std::move(found[i]);
  }
}

void Listing::Sort(std::vector<ListedEntry>& entries) const {
  std::ranges::sort(entries, [&](const ListedEntry& a, const ListedEntry& b) {
    return options_.reversed ? ComesBefore(b, a, options_.order)
                             : ComesBefore(a, b, options_.order);
  });
}

std::vector<ListedEntry> Listing::Print(std::vector<ListedEntry> entries, const Node& directory,
                                        bool total) {
  if (NeedsAttributes()) Complete(entries, directory);
  Sort(entries);
  if (options_.acl && (session_.json() || options_.details)) ReadAcls(entries, directory);
  if (!session_.json() && options_.details) {
    PrintDetails(entries, directory, total);
    return entries;
  }
  for (const ListedEntry& entry : entries) {
    if (session_.done()) break;
    if (session_.json()) {
      PrintJson(entry, directory);
    } else {
      session_.console().Print(Title(entry) + "\n");
    }
  }
  return entries;
}

// "" for all but links. A link that cannot be read has been complained about.
std::string Listing::TargetOf(const ListedEntry& entry, const Node& directory) {
  if (entry.attributes->type != protocol::FileType::kSymlink) return {};
  auto target = ReadLinkTarget(directory, entry.name, session_.credential());
  if (target) return *std::move(target);
  session_.Fail(entry.path, target.error());
  return {};
}

std::string Listing::Title(const ListedEntry& entry) const {
  std::string name = session_.console().ForOutput(entry.name);
  return colored_ ? Colored(name, *entry.attributes) : name;
}

void Listing::PrintJson(const ListedEntry& entry, const Node& directory) {
  const std::string target = TargetOf(entry, directory);
  JsonObject object = PathJson(entry.path);
  AddBytes(object, "name", entry.name);
  AddAttributes(object, *entry.attributes);
  if (!target.empty()) AddBytes(object, "target", target);
  if (entry.acl) object.Set("acl", entry.acl->entries);
  session_.Print(object);
}

void Listing::PrintDetails(const std::vector<ListedEntry>& entries, const Node& directory,
                           bool total) {
  std::vector<ListedFile> files;
  for (const ListedEntry& entry : entries) {
    const std::string target = TargetOf(entry, directory);
    std::string title = Title(entry);
    if (!target.empty()) title += " -> " + session_.console().ForOutput(target);
    const bool has_acl = entry.acl && !entry.acl->is_as_mode;
    files.push_back({std::move(title), *entry.attributes, has_acl});
  }
  if (total) session_.console().Print(TotalLine(files, options_.style));
  session_.console().Print(LongListing(files, options_.style));
}

}  // namespace nfswalk::cli
