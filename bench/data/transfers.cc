
#include <algorithm>
#include <random>
#include <utility>

#include "bench/data/contender.h"
#include "bench/data/file_thread.h"
#include "bench/measure/machine_share.h"
#include "bench/measure/team.h"
#include "bench/measure/terminal.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr int kVersions[] = {3, 4};
constexpr size_t kFiles[] = {1, 4};
constexpr size_t kRandomDepths[] = {1, 16, 64};
// Raw calls in flight in sequential work, for all threads together; the report takes the fastest.
constexpr size_t kRawDepths[] = {4, 16, 64};

enum class Work : uint8_t { kWrite, kRead, kRandom };

struct Way {
  const char* subject;
  MadeThreads (*make)(const DataPlace& place, const TransferSetting& setting);
};
constexpr Way kNfswalk = {"nfswalk", MakeNfswalkThreads};
constexpr Way kLibnfs = {"libnfs sync", MakeLibnfsThreads};
constexpr Way kAsyncLibnfs = {"libnfs async", MakeAsyncLibnfsThreads};
constexpr Way kRaw = {"raw calls", MakeRawThreads};
constexpr Way kLocal = {"kernel, tmpfs", MakeLocalThreads};

const char* NameOf(Work work) {
  return work == Work::kWrite ? "write" : work == Work::kRead ? "read" : "random";
}

// All bytes of the place are in one file, and again in several.
std::string FileName(size_t files, size_t file) { return fmt::format("{}-{}", files, file); }

struct Transfer {
  Work work;
  size_t files;  // each by a thread; or one, by `threads`
  TransferSetting setting;
};

// Returns random offsets within the file, the same ones in every turn.
std::vector<uint64_t> RandomOffsets(const DataSizes& sizes) {
  std::mt19937_64 random(1);
  std::uniform_int_distribution<uint64_t> page(0, sizes.mebibytes * kMiB / kRandomBytes - 1);
  std::vector<uint64_t> offsets(sizes.random_reads);
  std::ranges::generate(offsets, [&] { return page(random) * kRandomBytes; });
  return offsets;
}

// Reads what was written, by others than those who wrote it.
Outcome CompareWritten(const DataPlace& place, const Transfer& transfer) {
  const Way& way = place.backing.empty() ? kNfswalk : kLocal;
  const auto readers = way.make(place, {.threads = transfer.files});
  if (!readers) return std::unexpected(readers.error());
  for (size_t file = 0; file < transfer.files; ++file) {
    FileThread& reader = *(*readers)[file];
    reader.CompareAll();
    Outcome compared = reader.Open(FileName(transfer.files, file));
    if (compared) compared = reader.Read(place.sizes.mebibytes * kMiB / transfer.files);
    if (!compared) return compared;
  }
  return {};
}

// Takes one turn. What was written is compared after it, and with `compares` what is read: once
// more, each byte of it, through the same open files.
std::expected<DataTurn, std::string> TakeTurn(const DataPlace& place, const Way& way,
                                              const Transfer& transfer, bool compares) {
  auto made = way.make(place, transfer.setting);
  if (!made) return std::unexpected(std::move(made.error()));
  const FileThreads threads = std::move(*made);
  const uint64_t bytes = place.sizes.mebibytes * kMiB / transfer.files;
  const auto offsets = RandomOffsets(place.sizes);
  const auto prepare = [&](size_t thread) {
    return threads[thread]->Open(FileName(transfer.files, thread % transfer.files));
  };
  const auto work = [&](size_t thread) -> Outcome {
    if (transfer.work == Work::kWrite) return threads[thread]->Write(bytes);
    if (transfer.work == Work::kRead) return threads[thread]->Read(bytes);
    const size_t first = offsets.size() * thread / threads.size();
    const size_t end = offsets.size() * (thread + 1) / threads.size();
    return threads[thread]->ReadAt(std::span(offsets).subspan(first, end - first));
  };
  const MachineShare machine(place.server.server_pid());
  const auto time = RunTeam(threads.size(), Placement::kAnywhere, work, prepare);
  if (!time) return std::unexpected(time.error());
  const bool is_random = transfer.work == Work::kRandom;
  Turn turn{.ops = is_random ? offsets.size() : place.sizes.mebibytes, .seconds = time->seconds};
  machine.AddTo(turn);
  Outcome compared;
  if (transfer.work == Work::kWrite) {
    compared = CompareWritten(place, transfer);
  } else if (compares) {
    for (const auto& thread : threads) thread->CompareAll();
    for (size_t i = 0; i < threads.size() && compared; ++i) compared = work(i);
  }
  if (!compared) return std::unexpected(std::move(compared.error()));
  return DataTurn{.turn = turn};
}

class ContenderList {
 public:
  explicit ContenderList(const DataPlace& place) : place_(place) {}

  void AddSequential(Work work, int version, size_t files) {
    const TransferSetting one{.version = version, .threads = files};
    Add(kNfswalk, {work, files, one}, 0);
    Add(kLibnfs, {work, files, one}, files);
    AddDeep(kAsyncLibnfs, {work, files, one}, kUsualDepth);
    for (const size_t depth : kRawDepths) AddDeep(kRaw, {work, files, one}, depth);
  }
  void AddRandom(int version, size_t depth) {
    Add(kNfswalk, {Work::kRandom, 1, {.version = version, .threads = depth}}, depth);
    const Transfer transfer{Work::kRandom, 1, {.version = version}};
    if (depth == 1) Add(kLibnfs, transfer, depth);
    if (depth > 1) AddDeep(kAsyncLibnfs, transfer, depth);
    AddDeep(kRaw, transfer, depth);
  }
  void AddLocal() {
    for (const Work work : {Work::kWrite, Work::kRead}) {
      for (const size_t files : kFiles) {
        Add(kLocal, {work, files, {.version = 0, .threads = files}}, files);
      }
    }
    Add(kLocal, {Work::kRandom, 1, {.version = 0}}, 1);
  }
  std::vector<Contender> Take() { return std::move(all_); }

 private:
  // `depth`: of all threads together.
  void AddDeep(const Way& way, Transfer transfer, size_t depth) {
    transfer.setting.in_flight = depth / transfer.files;
    Add(way, transfer, depth);
  }
  void Add(const Way& way, const Transfer& transfer, size_t in_flight) {
    all_.push_back(
        {.work = NameOf(transfer.work),
         .subject = way.subject,
         .version = transfer.setting.version,
         .files = transfer.files,
         .in_flight = in_flight,
         .take = [&place = place_, way, transfer, is_first = true]() mutable {
           return TakeTurn(place, way, transfer, std::exchange(is_first, false));
         }});
  }

  const DataPlace& place_;
  std::vector<Contender> all_;
};

}  // namespace

std::vector<Contender> Transfers(const DataPlace& place) {
  ContenderList list(place);
  for (const int version : kVersions) {
    for (const Work work : {Work::kWrite, Work::kRead}) {
      for (const size_t files : kFiles) list.AddSequential(work, version, files);
    }
    for (const size_t depth : kRandomDepths) list.AddRandom(version, depth);
  }
  if (!place.backing.empty()) list.AddLocal();
  return list.Take();
}

Outcome MakeTransferred(const DataPlace& place) {
  auto client = place.server.Mount(place.server.OptionsFor(place.directory));
  if (!client) return std::unexpected(std::move(client.error()));
  for (const size_t files : kFiles) {
    for (size_t file = 0; file < files; ++file) {
      const std::string name = FileName(files, file);
      if (!(*client)->Create(name, 0644, true, Credential::OfProcess())) {
        return TransferFailed("creating " + name);
      }
    }
    const TransferSetting setting{.threads = files};
    auto filled = TakeTurn(place, kNfswalk, {Work::kWrite, files, setting}, false);
    if (!filled) return std::unexpected(std::move(filled.error()));
  }
  return {};
}

}  // namespace nfswalk::bench
