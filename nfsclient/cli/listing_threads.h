// listing_threads: directories that will be needed soon, listed by threads before they are.
//
// A directory has a place, the numbers of the entries that lead to it: the order of places is that
// of the walk. Threads take the first directory not taken yet, unless too much that comes
// before it was listed already and waits.
//
// Thread safety: Add() and Take() by the walking thread; the threads are inside.
#ifndef NFSWALK_NFSCLIENT_CLI_LISTING_THREADS_H_
#define NFSWALK_NFSCLIENT_CLI_LISTING_THREADS_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "nfsclient/cli/tree_entry.h"
#include "nfsclient/client.h"

namespace nfswalk::cli {

using Place = std::vector<uint32_t>;

struct ListedDirectory;

struct ListedChild {
  std::string name;
  Result<Attributes> attributes;
  std::shared_ptr<ListedDirectory> inside;  // null unless it is to be looked into
};

struct ListedDirectory {
  TreeEntry entry;
  Place place;
  // From here on: of the thread that lists it, then of the walking thread.
  std::shared_ptr<const Node> node = nullptr;  // null: not entered yet
  std::vector<ListedChild> children = {};
  std::errc error = {};  // why `children` is not all
  bool listed = false;   // guarded by ListingThreads's mutex
};

// Preconditions: the child has attributes, and is one of the directory.
TreeEntry EntryOf(const ListedDirectory& directory, const ListedChild& child);

class ListingThreads {
 public:
  // As many of the threads as can be started.
  ListingThreads(const Credential& credential, const TreeOptions& options);
  ~ListingThreads();  // waits for calls that are in flight
  ListingThreads(const ListingThreads&) = delete;
  ListingThreads& operator=(const ListingThreads&) = delete;

  // The directory is listed when this returns: by a thread, or by this call.
  void Take(ListedDirectory& directory);

 private:
  void Run(const std::stop_token& stop);
  // Null: stopped.
  std::shared_ptr<ListedDirectory> Next(const std::stop_token& stop);
  bool MayTakeFirst() const;
  void List(ListedDirectory& directory);
  std::errc Read(ListedDirectory& directory);
  void Complete(ListedDirectory& directory);
  void ListInside(ListedDirectory& directory, ListedChild& child);

  const Credential& credential_;
  const TreeOptions options_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable_any changed_;
  std::map<Place, std::shared_ptr<ListedDirectory>> waiting_;
  std::map<Place, size_t> ahead_;  // taken by a thread, and how many entries it has

  std::vector<std::jthread> threads_;
};

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_LISTING_THREADS_H_
