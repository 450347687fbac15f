#include "tests/unit/bench/shared_lines/recorded_words.h"

namespace nfswalk::bench {

void StoreWord(RecordedLine& line, uint64_t value) { line.words[0] = value; }

uint64_t LoadWord(const RecordedLine& line) { return line.words[0]; }

uint64_t LoadNeighbour(const RecordedLine& line) { return line.words[1]; }

void AddAtomically(RecordedLine& line) { __atomic_fetch_add(&line.words[0], 1, __ATOMIC_RELAXED); }

void CompareExchange(RecordedLine& line) {
  uint64_t expected = 1;
  __atomic_compare_exchange_n(&line.words[0], &expected, 2, /*weak=*/false, __ATOMIC_RELAXED,
                              __ATOMIC_RELAXED);
}

void CopyLines(RecordedLine (&to)[2], const RecordedLine (&from)[2]) {
  struct Both {
    RecordedLine lines[2];
  };
  reinterpret_cast<Both&>(to) = reinterpret_cast<const Both&>(from);
}

uint64_t StoreOnStack(uint64_t value) {
  uint64_t word = value;
  uint64_t* volatile escaped = &word;
  *escaped = value + 1;
  return word;
}

}  // namespace nfswalk::bench
