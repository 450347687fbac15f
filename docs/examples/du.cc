// du: sums the disk usage of a tree on the server, with many threads.
// usage: du URL [DIRECTORY [THREADS]]
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "nfsclient/client.h"

int main(int argc, char** argv) {
  auto options = nfswalk::ParseMountUrl(argc > 1 ? argv[1] : "");
  if (!options) return fprintf(stderr, "%s\n", options.error().c_str()), 2;
  auto client = nfswalk::Client::Mount(*options);
  if (!client) return fprintf(stderr, "%s\n", client.error().message.c_str()), 3;
  const auto me = nfswalk::Credential::OfProcess();

  std::mutex mutex;  // guards all below
  std::condition_variable changed;
  std::vector<std::string> to_visit{argc > 2 ? argv[2] : "/"};
  std::set<uint64_t> counted;  // hard links
  uint64_t bytes = 0;
  size_t busy = 0, failed = 0;

  auto visit = [&](const std::string& directory) {
    auto each = [&](const nfswalk::DirectoryEntry& entry) {
      const std::string path = directory + "/" + entry.name;
      auto found = entry.attributes;  // most servers send them with the names
      if (!found)
        found = (*client)->Stat(path, me, {.no_follow = true}).value_or(nfswalk::Attributes{});
      std::lock_guard lock(mutex);
      if (found->nlink < 2 || counted.insert(found->fileid).second) bytes += found->used_bytes;
      if (found->type == nfswalk::protocol::FileType::kDirectory) to_visit.push_back(path);
      return true;
    };
    const std::errc error = (*client)->ReadDir(directory, me, each);
    if (error == std::errc{}) return true;
    return fprintf(stderr, "%s: errno %d\n", directory.c_str(), int(error)), false;
  };
  auto work = [&] {
    for (std::unique_lock lock(mutex);;) {
      changed.wait(lock, [&] { return !to_visit.empty() || busy == 0; });
      if (to_visit.empty()) return changed.notify_all();
      const std::string directory = std::exchange(to_visit.back(), {});
      to_visit.pop_back(), ++busy, lock.unlock();
      const bool done = visit(directory);
      lock.lock(), --busy, failed += !done, changed.notify_all();
    }
  };
  std::vector<std::jthread> threads(argc > 3 ? strtoul(argv[3], nullptr, 10) : 16);
  for (auto& thread : threads) thread = std::jthread(work);
  threads.clear();
  printf("%llu\n", static_cast<unsigned long long>(bytes));
  return failed == 0 ? 0 : 1;
}
