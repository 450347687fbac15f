// seed_inputs: what fuzzing begins with: each attack of tests/hostile on each call of a client that
// it may meet, and every valid reply of reply_sample.h.
//
// Thread safety: one call at a time.
#ifndef NFSWALK_TESTS_FUZZ_WIRE_SEED_INPUTS_H_
#define NFSWALK_TESTS_FUZZ_WIRE_SEED_INPUTS_H_

#include <string>
#include <vector>

namespace nfswalk::fuzz {

// A client's input (fuzz_entry.h) of the kind that its first byte chooses, that mounts.
std::string MountInput(char kind);
// Returns a client's input with one more call, which is answered well.
std::string WithCall(const std::string& input, char call);

std::vector<std::string> SeedInputs();

}  // namespace nfswalk::fuzz

#endif  // NFSWALK_TESTS_FUZZ_WIRE_SEED_INPUTS_H_
