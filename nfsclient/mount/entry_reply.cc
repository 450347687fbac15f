#include "nfsclient/mount/entry_reply.h"

#include <memory>
#include <utility>

namespace nfswalk::mount {
namespace {

constexpr int kTries = 16;

// Lookup() of a name that is opened next: opens the file, before the name can lead to another one.
Result<LookupResult> LookupAndOpen(const Try& attempt, const Node& directory,
                                   const std::string& name, uint32_t rights) {
  OpenRetries& retries = attempt.file_system.open_retries;
  for (int tries = kTries;; --tries) {
    auto found = directory.Lookup(name, attempt.credential, attempt.flags);
    if (!found || found->node == nullptr) {
      retries.NoteMiss(attempt.caller);
      return found;
    }
    if (found->attributes.type != FileType::kRegular) return found;
    auto file = found->node->Open("", rights & ~kTruncate, attempt.credential);
    if (file) {
      found->attributes = (*file)->attributes();
      retries.Keep(attempt.caller, found->node->id(), *std::move(file));
    }
    if (file || file.error() != protocol::kStale || tries == 0) return found;
  }
}

}  // namespace

std::errc ReplyLookup(const Try& attempt, NodeNumber parent, const std::string& name) {
  FileSystem& file_system = attempt.file_system;
  const auto rights = file_system.open_retries.RightsOf(attempt.caller, attempt.credential);
  if (rights && attempt.flags.cached) return std::errc::resource_unavailable_try_again;
  bool is_found = false;
  const std::errc error = ReplyEntry(attempt, parent, name, [&] {
    const Node& directory = file_system.nodes.At(parent);
    auto found = rights ? LookupAndOpen(attempt, directory, name, *rights)
                        : directory.Lookup(name, attempt.credential, attempt.flags);
    is_found = found && found->node != nullptr;
    return found;
  });
  // A lookup that the caches do not answer comes once more.
  const bool is_answered = error == std::errc{} || !attempt.flags.cached;
  if (is_answered) file_system.name_retries.NoteLookup(attempt.caller, parent, name, is_found);
  return error;
}

std::errc AskForNames(const Try& attempt, NodeNumber parent, const std::string& name,
                      NameRetries::After after, std::errc error) {
  NameRetries& retries = attempt.file_system.name_retries;
  if (error == std::errc{}) (void)retries.End(attempt.caller, parent, name);
  switch (error) {
    case std::errc::file_exists:
    case std::errc::no_such_file_or_directory:
    case std::errc::is_a_directory:
    case std::errc::not_a_directory:
    case std::errc::directory_not_empty:
    case std::errc::too_many_symbolic_link_levels:
      return retries.MayAskAgain(attempt.caller, parent, name, after) ? protocol::kStale : error;
    default:
      return error;
  }
}

}  // namespace nfswalk::mount
