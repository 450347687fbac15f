#include "bench/inode_scale/hold_times.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "nfsclient/icache/inode.h"
#include "nfsclient/icache/inode_list.h"
#include "nfsclient/icache/inode_table.h"

namespace nfswalk::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kRounds = 5;

template <class Work>
double NsPerTurn(size_t turns, Work&& work) {
  const Clock::time_point start = Clock::now();
  for (size_t i = 0; i < turns; ++i) work(i);
  const std::chrono::duration<double, std::nano> took = Clock::now() - start;
  return took.count() / static_cast<double>(turns);
}

double Median(std::array<double, kRounds> values) {
  std::ranges::nth_element(values, values.begin() + kRounds / 2);
  return values[kRounds / 2];
}

uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccd;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53;
  return (x ^ (x >> 33)) | 1;
}

void MeasureHash(std::vector<icache::Inode>& inodes, size_t chain_load, HoldTimes& times) {
  icache::StripedInodeTable table(std::bit_ceil(inodes.size() / chain_load), chain_load, size_t{1});
  const auto no_match = [](const icache::Inode&) { return false; };
  std::array<double, kRounds> find, insert, unhash;
  for (size_t round = 0; round < kRounds; ++round) {
    insert[round] = NsPerTurn(inodes.size(), [&](size_t i) {
      const uint64_t hash = Mix(i);
      inodes[i].hash.store(hash, std::memory_order_relaxed);
      auto chain = table.Lock(hash);
      if (chain.Find(hash, no_match) == nullptr) chain.Insert(&inodes[i]);
    });
    find[round] = NsPerTurn(inodes.size(), [&](size_t i) {
      const uint64_t hash = Mix(i + inodes.size());
      auto chain = table.Lock(hash);
      if (chain.Find(hash, no_match) != nullptr) std::abort();
    });
    unhash[round] = NsPerTurn(inodes.size(), [&](size_t i) {
      auto chain = table.Lock(Mix(i));
      chain.Remove(&inodes[i]);
    });
  }
  times.hash_find = Median(find);
  times.hash_insert = Median(insert);
  times.hash_unhash = Median(unhash);
}

double MeasureList(std::vector<icache::Inode>& inodes) {
  icache::InodeList list(1);
  std::array<double, kRounds> rounds;
  for (double& round : rounds) {
    const double add = NsPerTurn(inodes.size(), [&](size_t i) { list.Add(inodes[i]); });
    const double remove = NsPerTurn(inodes.size(), [&](size_t i) { list.Remove(inodes[i]); });
    round = (add + remove) / 2;
  }
  return Median(rounds);
}

void PinTo(size_t processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

// Two processors take turns at writing one line.
double MeasureTransfer() {
  if (std::thread::hardware_concurrency() < 2) return 0;
  constexpr uint64_t kTurns = 20'000;
  std::array<double, kRounds> rounds;
  for (double& round : rounds) {
    alignas(64) std::atomic<uint64_t> turn{0};
    std::jthread other([&] {
      PinTo(1);
      for (uint64_t i = 1; i < kTurns; i += 2) {
        while (turn.load(std::memory_order_acquire) != i) {  // pairs with the other store
        }
        turn.store(i + 1, std::memory_order_release);  // pairs with the other load
      }
    });
    std::jthread one([&] {
      PinTo(0);
      round = NsPerTurn(
                  kTurns / 2,
                  [&](size_t i) {
                    while (turn.load(std::memory_order_acquire) != 2 * i) {  // the other store
                    }
                    turn.store(2 * i + 1, std::memory_order_release);  // pairs with the other load
                  }) /
              2;
    });
  }
  return Median(rounds);
}

}  // namespace

HoldTimes MeasureHoldTimes(size_t inodes, size_t chain_load) {
  HoldTimes times;
  std::vector<icache::Inode> measured(inodes);
  MeasureHash(measured, chain_load, times);
  times.list = MeasureList(measured);
  times.transfer = MeasureTransfer();
  return times;
}

}  // namespace nfswalk::bench
