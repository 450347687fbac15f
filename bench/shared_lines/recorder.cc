#include "bench/shared_lines/recorder.h"

#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace nfswalk::bench {

namespace {

constexpr uint32_t kNobody = ~uint32_t{0};

struct Line {
  uint32_t writer = kNobody;
  uint64_t seen_by = 0;  // virtual threads that have read it since
};

struct Ledger {
  std::mutex mutex;
  std::unordered_map<uintptr_t, Line> lines;  // by address / kLineBytes
  std::unordered_map<uintptr_t, SharedAccesses> places;
  SharedLines counts;
  bool counting = false;
};

// Leaked: the thread that runs callbacks may outlive static objects.
Ledger& TheLedger() {
  static auto* const ledger = new Ledger;
  return *ledger;
}

struct Self {
  uint32_t thread = kNobody;
  uintptr_t stack_begin = 0;
  uintptr_t stack_end = 0;
};

constinit thread_local Self self;

// Locks the ledger, and keeps the runtime's own accesses from being recorded: templates that it
// uses may have been compiled with -fsanitize=thread elsewhere.
class Recording {
 public:
  Recording() : thread_(self.thread), lock_(NoLongerRecorded(TheLedger()).mutex) {}
  ~Recording() {
    lock_.unlock();
    self.thread = thread_;
  }
  uint32_t thread() const { return thread_; }

 private:
  static Ledger& NoLongerRecorded(Ledger& ledger) {
    self.thread = kNobody;
    return ledger;
  }

  const uint32_t thread_;
  std::unique_lock<std::mutex> lock_;
};

void FindStack() {
  pthread_attr_t attributes;
  void* begin;
  size_t bytes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0 ||
      pthread_attr_getstack(&attributes, &begin, &bytes) != 0) {
    std::perror("recorder: pthread_getattr_np");
    std::abort();
  }
  pthread_attr_destroy(&attributes);
  self.stack_begin = reinterpret_cast<uintptr_t>(begin);
  self.stack_end = self.stack_begin + bytes;
}

bool OnOwnStack(uintptr_t address) {
  return address >= self.stack_begin && address < self.stack_end;
}

uint64_t BitOf(uint32_t thread) {
  return thread < Recorder::kThreadsMax ? uint64_t{1} << thread : 0;
}

void Count(Ledger& ledger, uint32_t writer, const void* code, uint64_t SharedAccesses::*kind) {
  if (!ledger.counting) return;
  if (writer == Recorder::kCallbacks) {
    ++(ledger.counts.after_callbacks.*kind);
    return;
  }
  ++(ledger.counts.among_threads.*kind);
  ++(ledger.places[reinterpret_cast<uintptr_t>(code)].*kind);
}

void Access(Ledger& ledger, uint32_t thread, Line& line, bool is_write, const void* code) {
  const bool is_new = (line.seen_by & BitOf(thread)) == 0;
  if (line.writer != kNobody && line.writer != thread && thread != Recorder::kCallbacks) {
    if (is_write) {
      Count(ledger, line.writer, code, &SharedAccesses::writes);
    } else if (is_new) {
      Count(ledger, line.writer, code, &SharedAccesses::reads);
    }
  }
  if (is_write) {
    line = {thread, BitOf(thread)};
  } else {
    line.seen_by |= BitOf(thread);
  }
}

void OnAccess(const volatile void* pointer, size_t bytes, bool is_write, const void* code) {
  if (self.thread == kNobody || bytes == 0) return;
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  if (OnOwnStack(address)) return;
  const Recording recording;
  Ledger& ledger = TheLedger();
  const uintptr_t last = (address + bytes - 1) / Recorder::kLineBytes;
  for (uintptr_t line = address / Recorder::kLineBytes; line <= last; ++line) {
    Access(ledger, recording.thread(), ledger.lines[line], is_write, code);
  }
}

}  // namespace

void Recorder::Begin(uint32_t thread) {
  if (self.stack_end == 0) FindStack();
  self.thread = thread;
}

void Recorder::End() { self.thread = kNobody; }

uint32_t Recorder::Thread() { return self.thread; }

void Recorder::Forget() {
  const Recording recording;
  Ledger& ledger = TheLedger();
  ledger.lines.clear();
  ledger.places.clear();
  ledger.counts = {};
  ledger.counting = false;
}

void Recorder::SetCounting(bool counting) {
  const Recording recording;
  TheLedger().counting = counting;
}

SharedLines Recorder::counts() {
  const Recording recording;
  return TheLedger().counts;
}

auto Recorder::Places() -> std::vector<Place> {
  const Recording recording;
  std::vector<Place> places;
  for (const auto& [code, accesses] : TheLedger().places) places.push_back({code, accesses});
  std::ranges::sort(places, std::greater(), [](const Place& place) {
    return std::pair(place.accesses.writes + place.accesses.reads, place.code);
  });
  return places;
}

void Recorder::OnRead(const volatile void* address, size_t bytes, const void* code) {
  OnAccess(address, bytes, /*is_write=*/false, code);
}

void Recorder::OnWrite(const volatile void* address, size_t bytes, const void* code) {
  OnAccess(address, bytes, /*is_write=*/true, code);
}

void Recorder::OnCallback() {
  if (self.thread == kNobody) return;
  const Recording recording;
  Ledger& ledger = TheLedger();
  if (ledger.counting && recording.thread() != kCallbacks) ++ledger.counts.callbacks;
}

}  // namespace nfswalk::bench
