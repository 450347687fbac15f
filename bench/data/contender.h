// contender: who takes turns in data: one subject at one work.
#ifndef NFSWALK_BENCH_DATA_CONTENDER_H_
#define NFSWALK_BENCH_DATA_CONTENDER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <vector>

#include "bench/measure/server_export.h"
#include "bench/measure/turns.h"
#include "tests/fixtures/delaying_proxy.h"

namespace nfswalk::bench {

inline constexpr std::chrono::milliseconds kRoundTrip{1};

// How much work a turn is.
struct DataSizes {
  uint64_t mebibytes = 1024;  // written and read
  uint64_t random_reads = 20'000;
  uint64_t small_files = 10'000;  // created
  uint64_t names = 10'000;        // of the batches
  uint64_t tree_files = 4'000;    // of the tree of the commands; git's sources have as many
};

// How a command reaches the server.
enum class Way : uint8_t {
  kDirect,
  kDistant,  // round trips take kRoundTrip longer
  kCounted,  // its calls are counted
};

// A build of the nfswalk command.
struct Program {
  std::string subject;
  std::string file;
};

// Holds the server, sizes, directories, proxies and programs of the work. Outlives every contender.
struct DataPlace {
  ServerExport& server;
  DataSizes sizes;
  std::string directory;      // of the export
  std::string backing = {};   // the same without NFS; empty: of a server elsewhere, as the next two
  std::string scratch = {};   // beside it, for copies that leave the export
  const fixtures::DelayingProxy* distant = nullptr;  // of a server of our own, as the next
  const fixtures::DelayingProxy* counted = nullptr;
  std::vector<Program> programs = {};  // the first one is the build beside this program
};

struct DataTurn {
  Turn turn;
  uint64_t rpcs = 0;  // 0: not counted
  // Largest growth of the process that a turn runs, and its limit of dirty data. 0: not measured.
  uint64_t growth_bytes = 0, limit_bytes = 0;
};

struct Contender {
  std::string work;
  std::string subject;
  int version = 0;       // 0: no NFS
  size_t files = 1;      // open at the same time, or those of a copy
  size_t in_flight = 0;  // 0: of the subject's choice
  size_t readers = 0;    // threads that read beside the one that writes
  bool distant = false;
  // Takes one turn. May end early, with less, after an interrupt.
  std::function<std::expected<DataTurn, std::string>()> take = {};
};

// The contenders of each kind of work, in the order of their turns.
std::vector<Contender> Transfers(const DataPlace& place);   // "write", "read", "random"
std::vector<Contender> Streams(const DataPlace& place);     // "stream"
std::vector<Contender> SmallFiles(const DataPlace& place);  // "create"
std::vector<Contender> Commands(const DataPlace& place);    // "cat", "cp to", "cp from"
std::vector<Contender> Trees(const DataPlace& place);       // "find", "du", "chmod -R", "rm -r"
std::vector<Contender> BatchStats(const DataPlace& place);  // "stat"

// The directory that MakeCopied() makes, in the export and beside it, of `tree_files` files.
inline constexpr const char* kSources = "sources";

// Makes what is transferred, looked up and copied.
Outcome MakeTransferred(const DataPlace& place);
Outcome MakeNames(const DataPlace& place);
Outcome MakeCopied(const DataPlace& place);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_DATA_CONTENDER_H_
