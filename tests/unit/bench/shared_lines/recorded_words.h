// recorded_words: loads and stores that the recorder sees.
#ifndef NFSWALK_TESTS_UNIT_BENCH_SHARED_LINES_RECORDED_WORDS_H_
#define NFSWALK_TESTS_UNIT_BENCH_SHARED_LINES_RECORDED_WORDS_H_

#include <cstdint>

namespace nfswalk::bench {

struct alignas(64) RecordedLine {
  uint64_t words[8] = {};
};

void StoreWord(RecordedLine& line, uint64_t value);
uint64_t LoadWord(const RecordedLine& line);
// Loads the line's second word.
uint64_t LoadNeighbour(const RecordedLine& line);
void AddAtomically(RecordedLine& line);
void CompareExchange(RecordedLine& line);
void CopyLines(RecordedLine (&to)[2], const RecordedLine (&from)[2]);
// Stores to a word on the stack, whose address escapes.
uint64_t StoreOnStack(uint64_t value);

}  // namespace nfswalk::bench

#endif  // NFSWALK_TESTS_UNIT_BENCH_SHARED_LINES_RECORDED_WORDS_H_
