// replay_plan: which calls of a trace are replayed, in which order, and what each must answer.
//
// The recorded answer is compared, never the model's: the tree model only decides which recorded
// answers can be expected of a tree at rest. Sizes are compared for regular files and links; a
// directory's size is the file system's own affair.
#ifndef NFSWALK_BENCH_MAKE_REPLAY_REPLAY_PLAN_H_
#define NFSWALK_BENCH_MAKE_REPLAY_REPLAY_PLAN_H_

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bench/make_replay/learned_tree.h"
#include "bench/trace/trace.h"

namespace nfswalk::bench {

inline constexpr uint64_t kSizeNotCompared = ~uint64_t{0};

// One call, ready to be issued. Views point into the plan; path.data() and link_text.data() end in
// NUL.
struct ReplayCall {
  std::string_view path;
  std::string_view link_text;              // kReadLink
  uint64_t size_bytes = kSizeNotCompared;  // kStat
  uint32_t trace_line = 0;
  uint16_t mode = 0;  // kStat: type and permission bits
  int16_t error = 0;
  CallKind kind = CallKind::kStat;
  bool no_follow = false;
  uint8_t access_mode = 0;
};

// The calls of one or more whole processes, in order: what a thread takes at a time.
struct Lot {
  size_t begin = 0;
  size_t end = 0;
};

class ReplayPlan {
 public:
  // With `special_files` the tree can hold devices, FIFOs and sockets (not if it is made through
  // NFS).
  ReplayPlan(const Trace& trace, bool special_files);

  // The tree to prepare.
  const Tree& tree() const { return learned_.tree(); }
  const std::vector<ReplayCall>& calls() const { return calls_; }
  // Directory listings, which no subject caches: asked in the first pass only.
  const std::vector<ReplayCall>& listings() const { return listings_; }
  const std::vector<Lot>& lots() const { return lots_; }
  const LeftOutCounts& left_out() const { return left_out_; }
  const std::array<uint64_t, kCallKindCount>& replayed_by_kind() const { return by_kind_; }
  size_t streams() const { return streams_; }
  const LearnedTree& learned() const { return learned_; }

 private:
  void FindConflicts(const Trace& trace);
  void AddCalls(const Trace& trace, bool special_files);
  ReplayCall Prepared(const Call& call);
  std::string_view Interned(const std::string& text);

  LearnedTree learned_;
  std::vector<ReplayCall> calls_;
  std::vector<ReplayCall> listings_;
  std::vector<Lot> lots_;
  LeftOutCounts left_out_{};
  std::array<uint64_t, kCallKindCount> by_kind_{};
  size_t streams_ = 0;
  std::unordered_map<std::string, std::string_view> interned_;
};

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MAKE_REPLAY_REPLAY_PLAN_H_
