#include "bench/warm_stat/churn.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <system_error>

#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

using Clock = std::chrono::steady_clock;

const Credential kOwner{0, 0};
constexpr uint64_t kUsers = 64;
constexpr uint32_t kFirstUser = 2000;
constexpr uint64_t kScannedDirectories = 4096;
constexpr std::string_view kFile = "elsewhere/files/file";
constexpr std::string_view kDirectory = "elsewhere/directories/directory";
constexpr std::string_view kRenamed[] = {"elsewhere/renames/old", "elsewhere/renames/new"};
constexpr std::string_view kOutside = "elsewhere/other";
constexpr std::string_view kOutsideDirectory = "elsewhere/other/directory";

template <typename T>
std::errc ErrorOf(const Result<T>& result) {
  return result ? std::errc{} : result.error();
}

// Looks for a name that is not there.
std::errc Search(Client& client, std::string_view directory, const Credential& user) {
  const std::errc error = ErrorOf(client.Stat(fmt::format("{}/none", directory), user));
  return error == std::errc::no_such_file_or_directory ? std::errc{} : error;
}

std::errc List(Client& client, std::string_view directory) {
  return client.ReadDir(directory, kOwner, [](const DirectoryEntry&) { return true; });
}

std::string ScannedPath(uint64_t directory) {
  return fmt::format("elsewhere/scan/{}/file", directory % kScannedDirectories);
}

}  // namespace

std::string_view ChurnName(ChurnKind kind) {
  constexpr std::string_view kNames[] = {"none",    "files",     "directories",
                                         "renames", "evictions", "other client"};
  return kNames[static_cast<size_t>(kind)];
}

void AddElsewhere(FileTree& tree) {
  for (const std::string_view directory : {kFile, kDirectory, kOutsideDirectory}) {
    const std::string_view parent = directory.substr(0, directory.rfind('/'));
    AddWithParents(tree, fmt::format("/{}", parent), {.type = S_IFDIR, .permissions = 0755});
  }
  AddWithParents(tree, fmt::format("/{}/file", kRenamed[0]), {});
  for (uint64_t i = 0; i < kScannedDirectories; ++i) AddWithParents(tree, "/" + ScannedPath(i), {});
}

std::errc Scan(Client& client, uint64_t directories) {
  std::errc error{};
  for (uint64_t i = 0; i < directories && error == std::errc{}; ++i) {
    error = ErrorOf(client.Stat(ScannedPath(i), kOwner));
  }
  return error;
}

Churn::Churn(ChurnKind kind, Client& client, Client& other, uint64_t changes_per_s,
             uint64_t scanned)
    : kind_(kind),
      client_(client),
      other_(other),
      changes_per_s_(changes_per_s),
      scanned_(scanned) {
  if (kind != ChurnKind::kNone) thread_ = std::jthread([this] { Run(); });
}

Outcome Churn::Stop() {
  stopped_.store(true);
  if (thread_.joinable()) thread_.join();
  return outcome_;
}

void Churn::Run() {
  // Every kind is back where it began after so many changes.
  constexpr uint64_t kCycle = 6;
  const auto pause = std::chrono::nanoseconds(1'000'000'000 / changes_per_s_);
  auto next = Clock::now();
  uint64_t number = 0;
  do {
    if (const std::errc error = Make(number); error != std::errc{}) {
      outcome_ =
          std::unexpected(fmt::format("a change of {} elsewhere failed: {}", ChurnName(kind_),
                                      std::make_error_code(error).message()));
      return;
    }
    changes_.store(++number);
    // Does not catch up after a late change, since changes that come in a burst count for less.
    next = std::max(next + pause, Clock::now());
    if (!stopped_.load()) std::this_thread::sleep_until(next);
  } while (!stopped_.load() || number % kCycle != 0);
}

std::errc Churn::Make(uint64_t number) {
  switch (kind_) {
    case ChurnKind::kFiles:
      return ChangeFile(number);
    case ChurnKind::kDirectories:
      return ChangeDirectory(number);
    case ChurnKind::kRenames:
      return client_.Rename(kRenamed[number % 2], kRenamed[(number + 1) % 2], kOwner);
    case ChurnKind::kEvictions:
      return ErrorOf(client_.Stat(ScannedPath(scanned_ + number), kOwner));
    case ChurnKind::kOtherClients:
      return ChangeFromOutside(number);
    case ChurnKind::kNone:
      break;
  }
  return {};
}

std::errc Churn::ChangeFile(uint64_t number) {
  if (number % 2 == 0) return ErrorOf(client_.Create(kFile, 0644, true, kOwner));
  return client_.Unlink(kFile, kOwner);
}

std::errc Churn::ChangeDirectory(uint64_t number) {
  if (number % 3 == 0) return ErrorOf(client_.MakeDirectory(kDirectory, 0755, kOwner));
  if (number % 3 == 2) return client_.RemoveDirectory(kDirectory, kOwner);
  const auto user = static_cast<uint32_t>(kFirstUser + number / 3 % kUsers);
  return Search(client_, kDirectory, {user, user});
}

std::errc Churn::ChangeFromOutside(uint64_t number) {
  const bool made = number % 2 == 0;
  const std::errc changed = made ? ErrorOf(other_.MakeDirectory(kOutsideDirectory, 0755, kOwner))
                                 : other_.RemoveDirectory(kOutsideDirectory, kOwner);
  if (changed != std::errc{}) return changed;
  if (const std::errc listed = List(client_, kOutside); listed != std::errc{}) return listed;
  return made ? Search(client_, kOutsideDirectory, kOwner) : std::errc{};
}

}  // namespace nfswalk::bench
