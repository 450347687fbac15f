#include "bench/make_replay/replay_plan.h"

#include <unistd.h>

#include <cerrno>
#include <optional>

namespace nfswalk::bench {
namespace {

// Enough calls that taking the next lot, a write to a word that all threads share, is lost in the
// work.
constexpr size_t kCallsInLotMin = 1024;

bool IsReplayed(CallKind kind) { return kind != CallKind::kChange && kind != CallKind::kExecute; }

// Whether the finished tree gives the recorded answer.
bool AnswersAsRecorded(const Tree& tree, const Call& call) {
  const WalkResult walk = tree.Walk(call.path, call.no_follow, AtMissing::kFail, nullptr);
  if (walk.error != 0) return walk.error == call.error;
  const TreeNode& node = *tree.Find(walk.canonical);
  switch (call.kind) {
    case CallKind::kReadLink:
      if (node.type != S_IFLNK) return call.error == EINVAL;
      return call.error == 0 && *node.link_text == call.text;
    case CallKind::kStat: {
      if (call.error != 0) return false;
      const bool sized = node.type == S_IFREG || node.type == S_IFLNK;
      return call.attributes->mode == (node.type | *node.permissions) &&
             (!sized || node.size_bytes == call.attributes->size_bytes);
    }
    case CallKind::kAccess: {
      // Recorded as root: only execution of a regular file can be refused.
      const bool refused = (call.access_mode & X_OK) != 0 && node.type == S_IFREG &&
                           (node.permissions.value_or(0) & 0111) == 0;
      return call.error == (refused ? EACCES : 0);
    }
    default:
      return call.error == 0 && (!call.must_be_directory || node.type == S_IFDIR);
  }
}

}  // namespace

ReplayPlan::ReplayPlan(const Trace& trace, bool special_files)
    : learned_(trace), left_out_(trace.left_out) {
  FindConflicts(trace);
  AddCalls(trace, special_files);
}

void ReplayPlan::FindConflicts(const Trace& trace) {
  for (const Call& call : trace.calls) {
    if (!IsReplayed(call.kind) || learned_.TroubleOn(call.path, call.no_follow).any()) continue;
    if (!AnswersAsRecorded(tree(), call)) learned_.AddConflict(call.path, call.no_follow);
  }
}

void ReplayPlan::AddCalls(const Trace& trace, bool special_files) {
  // Processes in the order of their first call.
  std::vector<std::vector<ReplayCall>> streams;
  std::unordered_map<uint32_t, size_t> stream_of_process;
  for (const Call& call : trace.calls) {
    if (!IsReplayed(call.kind)) continue;
    const PathTrouble trouble = learned_.TroubleOn(call.path, call.no_follow);
    const WalkResult walk = tree().Walk(call.path, call.no_follow, AtMissing::kFail, nullptr);
    const bool special = walk.error == 0 && IsSpecial(tree().Find(walk.canonical)->type);
    std::optional<LeftOut> reason;
    if (special && !special_files) reason = LeftOut::kSpecialFile;
    if (trouble.conflicting) reason = LeftOut::kConflictingAnswers;
    if (trouble.changed) reason = LeftOut::kChangedByTrace;
    if (trouble.per_process) reason = LeftOut::kPerProcess;
    if (reason) {
      ++At(left_out_, *reason);
      continue;
    }
    ++by_kind_[static_cast<size_t>(call.kind)];
    if (call.kind == CallKind::kReadDir) {
      listings_.push_back(Prepared(call));
      continue;
    }
    const auto [stream, is_new] = stream_of_process.try_emplace(call.pid, streams.size());
    if (is_new) streams.emplace_back();
    streams[stream->second].push_back(Prepared(call));
  }
  streams_ = streams.size();
  for (const std::vector<ReplayCall>& stream : streams) {
    if (lots_.empty() || lots_.back().end - lots_.back().begin >= kCallsInLotMin) {
      lots_.push_back({calls_.size(), calls_.size()});
    }
    calls_.insert(calls_.end(), stream.begin(), stream.end());
    lots_.back().end = calls_.size();
  }
}

ReplayCall ReplayPlan::Prepared(const Call& call) {
  ReplayCall prepared;
  prepared.path = Interned(call.path);
  prepared.kind = call.kind;
  prepared.no_follow = call.no_follow;
  prepared.access_mode = call.access_mode;
  prepared.error = static_cast<int16_t>(call.error);
  prepared.trace_line = call.line;
  if (call.kind == CallKind::kReadLink) prepared.link_text = Interned(call.text);
  if (call.attributes) {
    prepared.mode = static_cast<uint16_t>(call.attributes->mode);
    const uint32_t type = call.attributes->mode & S_IFMT;
    const bool sized = (type == S_IFREG || type == S_IFLNK) && call.attributes->size_bytes;
    if (sized) prepared.size_bytes = *call.attributes->size_bytes;
  }
  return prepared;
}

std::string_view ReplayPlan::Interned(const std::string& text) {
  const auto [entry, is_new] = interned_.try_emplace(text);
  if (is_new) entry->second = entry->first;  // keys of a node-based map stay where they are
  return entry->second;
}

}  // namespace nfswalk::bench
