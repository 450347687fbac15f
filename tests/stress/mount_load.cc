#include "tests/stress/mount_load.h"

#include <span>
#include <string_view>
#include <utility>

#include "nfsclient/superblock/superblock.h"
#include "tests/fixtures/client_internals.h"

namespace nfswalk {
namespace {

constexpr size_t kFilesOpenMax = 4;

const std::array<Credential, 3> kCredentials{Credential(0, 0), Credential(0, 7),
                                             Credential(0, 0, {5, 6})};

template <typename T>
std::errc ErrorOf(const Result<T>& result) {
  return result ? kOk : result.error();
}

void AwaitCount(const std::atomic<uint32_t>& count, uint32_t wanted) {
  for (uint32_t now = count; now < wanted; now = count) count.wait(now);
}

}  // namespace

std::vector<ClientCall> MountLoad::CallsOfEveryKind(const std::string& base,
                                                    const Credential& who) {
  const auto stat = [=](const std::string& name, ResolveFlags flags) -> ClientCall {
    return [=](Client& c, File&, Node&) { return ErrorOf(c.Stat(base + name, who, flags)); };
  };
  return {
      stat("work/same", {}),
      stat("work/same", {.strict = true}),
      stat("work/other", {.no_follow = true}),
      [=](Client& c, File&, Node&) { return c.Access(base + "link/f1", kMayRead, who); },
      [=](Client& c, File&, Node&) {
        std::array<char, 8> text;
        return ErrorOf(c.ReadLink(base + "link", text, who));
      },
      [=](Client& c, File&, Node&) {
        return c.ReadDir(base + "work", who, [](const auto&) { return true; });
      },
      [=](Client& c, File&, Node&) { return ErrorOf(c.Open(base + "stable/f2", kMayRead, who)); },
      [=](Client& c, File&, Node&) {
        return ErrorOf(c.Create(base + "work/new", 0644, true, who));
      },
      [=](Client& c, File&, Node&) { return ErrorOf(c.MakeDirectory(base + "work/d", 0755, who)); },
      [=](Client& c, File&, Node&) { return ErrorOf(c.MakeSymlink("x", base + "work/l", who)); },
      [=](Client& c, File&, Node&) { return c.Link(base + "stable/f1", base + "work/f1", who); },
      [=](Client& c, File&, Node&) {
        return c.Rename(base + "stable/f1", base + "work/same", who);
      },
      [=](Client& c, File&, Node&) { return c.Unlink(base + "stable/f3", who); },
      [=](Client& c, File&, Node&) { return c.RemoveDirectory(base + "work/same", who); },
      [=](Client& c, File&, Node&) {
        return ErrorOf(c.SetAttributesOf(base + "stable/f4", {.mode = 0600}, who));
      },
      [=](Client& c, File&, Node&) { return ErrorOf(c.Resolve(base + "work/node", who)); },
      [=](Client&, File&, Node& node) { return ErrorOf(node.Stat("below", who)); },
      [](Client&, File& file, Node&) {
        std::array<std::byte, 4> bytes{};
        const auto written = file.PWrite(bytes, 0);
        return written ? file.Sync() : written.error();
      },
      [](Client&, File& file, Node&) {
        std::array<std::byte, 4> bytes{};
        return ErrorOf(file.PRead(bytes, bytes.size()));  // what is written above is in memory
      },
  };
}

MountLoad::MountLoad(const std::shared_ptr<Client>& client, std::string base, uint64_t seed,
                     LoadTally& tally)
    : base_(std::move(base)), tally_(tally) {
  const auto start = [&](void (MountLoad::*step)(Worker&)) {
    threads_.emplace_back(&MountLoad::Run, this, Worker{client, std::mt19937_64(seed++)}, step);
  };
  start(&MountLoad::Walk);
  start(&MountLoad::Walk);
  start(&MountLoad::Change);
  start(&MountLoad::Reclaim);
}

MountLoad::~MountLoad() {
  Release();
  for (std::thread& thread : threads_) thread.join();
}

void MountLoad::AwaitWork() { AwaitCount(working_, kWorkers); }
void MountLoad::AwaitLastCalls() { AwaitCount(made_last_call_, kWorkers); }

void MountLoad::Release() {
  released_ = true;
  released_.notify_all();
}

void MountLoad::Run(Worker worker, void (MountLoad::*step)(Worker&)) {
  for (; !stop_; ++worker.turn) {
    (this->*step)(worker);
    std::this_thread::yield();  // there are more threads than processors
    if (worker.turn + 1 == kStepsBeforeWork) {
      ++working_;
      working_.notify_all();
    }
  }
  tally_.files_left_open += worker.files.size();
  UseFiles(worker);
  worker.files.clear();
  worker.client.reset();
  ++made_last_call_;
  made_last_call_.notify_all();
  released_.wait(false);
}

void MountLoad::Note(std::errc error, bool is_stable) {
  ++tally_.calls;
  if (error == std::errc::operation_canceled) ++tally_.canceled;
  if (is_stable && error != kOk && error != std::errc::operation_canceled) ++tally_.wrong;
}

void MountLoad::Walk(Worker& worker) {
  Client& client = *worker.client;
  const uint64_t random = worker.random();
  const std::string number = std::to_string(random % kStableFiles);
  const std::string path = Name((random & 64) != 0 ? kStable : kLink, "f" + number);
  const Credential& who = kCredentials[(random >> 8) % kCredentials.size()];
  std::array<char, 64> text;
  switch ((random >> 16) % 6) {
    case 0:
      return Note(client.Access(path, kMayRead, who), true);
    case 1:
      return Note(ErrorOf(client.ReadLink(base_ + "/" + kLink, text, who)), true);
    case 2:
      return Note(ErrorOf(client.Stat(Name(kWork, "w" + number), who, {.strict = true})));
    case 3:  // a name that is not cached: an RPC
      return Note(ErrorOf(client.Stat(Name(kStable, "no" + std::to_string(random)), who)));
    case 4:
      return Note(client.ReadDir(base_ + "/" + kStable, who, [](const auto&) { return true; }),
                  true);
    default: {
      const auto found = client.Stat(path, who);
      if (found && found->type != protocol::FileType::kRegular) ++tally_.wrong;
      return Note(ErrorOf(found), true);
    }
  }
}

void MountLoad::Change(Worker& worker) {
  Client& client = *worker.client;
  const uint64_t random = worker.random();
  const std::string path = Name(kWork, "w" + std::to_string(random % kStableFiles));
  const std::string other = Name(kWork, "w" + std::to_string((random >> 8) % kStableFiles));
  switch ((random >> 16) % 6) {
    case 0:
      return Note(ErrorOf(client.Create(path, 0644, false, kCredentials[0])));
    case 1:
      return Note(client.Unlink(path, kCredentials[0]));
    case 2:
      return Note(client.Rename(path, other, kCredentials[0]));
    case 3:
      return Note(ErrorOf(client.MakeSymlink("../stable", path, kCredentials[0])));
    case 4:
      return UseFiles(worker);
    default: {
      auto file = client.Open(Name(kStable, "f0"), kMayRead | kMayWrite, kCredentials[0]);
      Note(ErrorOf(file), true);
      if (file) worker.files.push_back(std::move(*file));
      if (worker.files.size() > kFilesOpenMax) worker.files.pop_front();
    }
  }
}

void MountLoad::UseFiles(Worker& worker) {
  std::array<std::byte, 16> bytes{};
  for (const auto& file : worker.files) {
    Note(ErrorOf(file->PWrite(bytes, 0)), true);
    (void)file->PRead(bytes, 0);
    if (file->attributes().type != protocol::FileType::kRegular) ++tally_.wrong;
  }
}

void MountLoad::Reclaim(Worker& worker) {
  Client& client = *worker.client;
  nfs::Superblock& superblock = ClientInternals::SuperblockOf(client);
  switch (worker.random() % 6) {
    case 0:
      client.DropCaches();
      break;
    case 1:
      client.InvalidateCaches();
      break;
    case 2:
      superblock.dentries.Prune(8);
      break;
    case 3:
      ClientInternals::InodesOf(client).Prune(8);
      break;
    case 4:
      (void)superblock.inodes->IterInodes({}, [&](icache::Inode&) {
        ++tally_.inodes_iterated;
        return icache::IterStep::kNext;
      });
      break;
    default:
      (void)ClientInternals::InodesOf(client).IterInodesUnsafe({.visit = [&](icache::Inode&) {
        ++tally_.inodes_iterated;
        return icache::IterStep::kNext;
      }});
      (void)client.stats();
  }
}

}  // namespace nfswalk
