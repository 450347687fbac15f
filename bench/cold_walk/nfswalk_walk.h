// nfswalk_walk: cold walks by our own client.
#ifndef NFSWALK_BENCH_COLD_WALK_NFSWALK_WALK_H_
#define NFSWALK_BENCH_COLD_WALK_NFSWALK_WALK_H_

#include <expected>
#include <memory>
#include <string>

#include "bench/cold_walk/cold_subject.h"
#include "bench/cold_walk/cold_tree.h"
#include "bench/cold_walk/recording_protocol.h"
#include "bench/make_replay/replay_server.h"

namespace nfswalk::bench {

// Where a walk takes place. What it points to outlives every subject.
struct ColdPlace {
  ReplayServer& server;
  const ColdTree& tree;
  std::string directory;  // of the export: the tree
};

struct NfswalkSetting {
  int version = 3;
  bool compound = true;    // whole paths at once, where the version can
  bool list_ahead = true;  // mount option rdirplus
  ColdMode mode = ColdMode::kPath;
  size_t threads = 1;
};
// "nfswalk", "nfswalk nocompound", "nfswalk nordirplus".
std::string SubjectOf(const NfswalkSetting& setting, std::string_view who);

// A mount of its own for every turn.
std::unique_ptr<ColdSubject> MakeNfswalkSubject(const ColdPlace& place,
                                                const NfswalkSetting& setting);

// One walk by one thread, and the calls it made after the mount. The error is a sentence.
std::expected<Record, std::string> RecordWalk(const ColdPlace& place, NfswalkSetting setting,
                                              const std::atomic<bool>& stop);

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_COLD_WALK_NFSWALK_WALK_H_
