#include "bench/inode_scale/hold_times.h"

#include <atomic>
#include <bit>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/measure/team.h"
#include "bench/measure/turns.h"
#include "nfsclient/icache/inode.h"
#include "nfsclient/icache/inode_list.h"
#include "nfsclient/icache/inode_table.h"
#include "rcu/mix64.h"

namespace nfswalk::bench {
namespace {

constexpr size_t kTurns = 5;
constexpr uint64_t kTransfers = 20'000;

// Not 0.
uint64_t HashOf(uint64_t file) { return rcu::Mix64(file) | 1; }

// The inodes, and the tables and lists that they are put into and taken out of.
class HeldInodes {
 public:
  HeldInodes(size_t files, size_t chain_load)
      : inodes_(files), table_(std::bit_ceil(files / chain_load), chain_load, size_t{1}) {}

  void Insert() {
    for (size_t i = 0; i < inodes_.size(); ++i) {
      const uint64_t hash = HashOf(i);
      inodes_[i].hash.store(hash, std::memory_order_relaxed);  // no other thread
      auto chain = table_.Lock(hash);
      if (chain.Find(hash, NoMatch) == nullptr) chain.Insert(&inodes_[i]);
    }
  }
  void FindNothing() {
    for (size_t i = 0; i < inodes_.size(); ++i) {
      const uint64_t hash = HashOf(i + inodes_.size());
      auto chain = table_.Lock(hash);
      if (chain.Find(hash, NoMatch) != nullptr) std::abort();
    }
  }
  void Unhash() {
    for (size_t i = 0; i < inodes_.size(); ++i) {
      auto chain = table_.Lock(HashOf(i));
      chain.Remove(&inodes_[i]);
    }
  }
  void JoinAndLeaveList() {
    for (icache::Inode& inode : inodes_) list_.Add(inode);
    for (icache::Inode& inode : inodes_) list_.Remove(inode);
  }

 private:
  static bool NoMatch(const icache::Inode&) { return false; }

  std::vector<icache::Inode> inodes_;
  icache::StripedInodeTable table_;
  icache::InodeList list_{{0}};
};

// Two processors take turns at writing one line.
class PingPong {
 public:
  void Play(size_t thread) {
    for (uint64_t i = thread; i < kTransfers; i += 2) {
      while (turn_.load(std::memory_order_acquire) != i) {  // pairs with the other thread's store
      }
      turn_.store(i + 1, std::memory_order_release);  // pairs with the other thread's load
    }
  }

 private:
  alignas(64) std::atomic<uint64_t> turn_{0};
};

struct Hold {
  std::string_view name;
  uint64_t ops;
  size_t threads;
  std::function<void(size_t thread)> work;
};

}  // namespace

Outcome MeasureHoldTimes(size_t files, size_t chain_load, RowWriter& writer) {
  HeldInodes inodes(files, chain_load);
  std::vector<Hold> holds = {
      {"hash_insert", files, 1, [&](size_t) { inodes.Insert(); }},
      {"hash_find", files, 1, [&](size_t) { inodes.FindNothing(); }},
      {"hash_unhash", files, 1, [&](size_t) { inodes.Unhash(); }},
      {"list", 2 * files, 1, [&](size_t) { inodes.JoinAndLeaveList(); }},
  };
  PingPong* ping_pong = nullptr;
  if (Processors() > 1) {
    holds.push_back({"transfer", kTransfers, 2, [&](size_t thread) { ping_pong->Play(thread); }});
  }
  Turns turns(kTurns);
  for (size_t i = 0; i < holds.size(); ++i) turns.AddRow();
  while (turns.BeginRound()) {
    PingPong new_game;
    ping_pong = &new_game;
    for (size_t i = 0; i < holds.size(); ++i) {
      const auto time =
          RunTeam(holds[i].threads, Placement::kPinned, [&](size_t thread) -> Outcome {
            holds[i].work(thread);
            return {};
          });
      if (!time) return std::unexpected(time.error());
      if (!turns.Wants(i)) continue;
      turns.Add(i, {.ops = holds[i].ops, .seconds = time->seconds, .share = time->share});
    }
  }
  for (size_t i = 0; i < holds.size(); ++i) {
    if (!turns.Complete(i)) continue;
    Row row;
    row.Set("hold", holds[i].name).Set("threads", holds[i].threads).Set("files", files);
    AddTiming(row, turns, i, /*processors=*/1);
    writer.Write(row);
  }
  return {};
}

}  // namespace nfswalk::bench
