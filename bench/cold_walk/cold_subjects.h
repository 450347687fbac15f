// cold_subjects: who takes turns in cold_walk: our client, libnfs' synchronous calls, and the calls
// of our client without a client around them.
#ifndef NFSWALK_BENCH_COLD_WALK_COLD_SUBJECTS_H_
#define NFSWALK_BENCH_COLD_WALK_COLD_SUBJECTS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "bench/cold_walk/cold_tree.h"
#include "bench/cold_walk/recording_protocol.h"
#include "bench/cold_walk/walk.h"
#include "bench/measure/server_export.h"
#include "bench/measure/turns.h"
#include "nfsclient/protocol/protocol.h"
#include "nfsclient/superblock/mount_options.h"

namespace nfswalk::bench {

struct ColdTurn {
  Turn turn;  // `ops`: files
  uint64_t rpcs = 0;
};

// One walk with empty or expired caches. May end early, with less, after an interrupt.
using ColdSubject = std::function<std::expected<ColdTurn, std::string>()>;

// Names the trees that are walked and the servers that answer. `server` and `tree` outlive every
// subject.
struct ColdPlace {
  ServerExport& server;
  const ColdTree& tree;
  std::string directory;  // of the export: the tree that is walked
  std::string large;      // of the export: the large directory
  // Ports and process of the stand-ins for a server of our own; 0 with any other server.
  uint16_t distant_port = 0;  // a proxy: round trips take kRoundTrip longer
  uint16_t memory_port = 0;   // answers from memory (RpcServer)
  pid_t memory_pid = 0;
};
inline constexpr std::chrono::milliseconds kRoundTrip{1};

enum class Via : uint8_t { kServer, kDistant, kMemory };

struct ColdSetting {
  int version = 3;
  WalkKind kind = WalkKind::kPath;
  bool compound = true;    // whole paths at once, where the version can
  bool list_ahead = true;  // mount option rdirplus
  Via via = Via::kServer;
  size_t threads = 1;
};
// "nfswalk", "nfswalk nocompound", "nfswalk nordirplus", "nfswalk 1 ms", "nfswalk memory"; `who`
// stands for the first word.
std::string SubjectName(std::string_view who, const ColdSetting& setting);

// Returns the process that answers the calls, for MachineShare.
pid_t ServerPidOf(const ColdPlace& place, const ColdSetting& setting);
MountOptions OptionsOf(const ColdPlace& place, const ColdSetting& setting);
// Without a client around it.
std::expected<std::unique_ptr<protocol::Protocol>, std::string> ConnectProtocol(
    const ColdPlace& place, const ColdSetting& setting);

// The median of lone GETATTRs, without a client around them, in seconds.
std::expected<double, std::string> RoundTrip(const ColdPlace& place, const ColdSetting& setting);

// Our client, with a mount of its own for every turn.
ColdSubject MakeNfswalkWalk(const ColdPlace& place, const ColdSetting& setting);

// The synchronous calls of libnfs, a context a thread and turn. libnfs keeps neither names nor
// attributes for them, so that a walk by path may look at one in `one_in` files.
ColdSubject MakeLibnfsWalk(const ColdPlace& place, const ColdSetting& setting, uint64_t one_in);

// One walk by one thread of our client, and the calls it made after the mount.
std::expected<Record, std::string> RecordWalk(const ColdPlace& place, ColdSetting setting);

// FilesOf() pairs of changes by one thread: by our client, whose caches are warm, and the same
// calls one after the other without a client around them.
ColdSubject MakeNfswalkChanges(const ColdPlace& place, const ColdSetting& setting);
ColdSubject MakeRawChanges(const ColdPlace& place, const ColdSetting& setting);

inline constexpr size_t kRawWindow = 256;
// The ceiling of a walk: the calls of its record, kRawWindow of them in flight at once, by one
// thread that does nothing else and checks nothing but the status. A connection of its own for
// every turn, which is not part of the time. Of the large directory: one after the other, each
// timed, as our client's stats are.
ColdSubject MakeRawCalls(const ColdPlace& place, const ColdSetting& setting, Record record);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_COLD_WALK_COLD_SUBJECTS_H_
