// fuzz_entry: one input of the fuzzers: what a server sends to a client, from the first bytes of
// the portmapper's on, or to a decoder alone.
//
// The first byte chooses (modulo 4): 0, 1: a client of version 3, 4; 2, 3: a decoder of version 3,
// 4, by the second byte the sample (reply_sample.h) whose reply the rest is. Of a client the second
// byte is what the network takes at once (kPieces, by its lower and upper four bits); bit 2 of the
// first has version 3 ask the portmapper for the ports. The rest is a script: the mount, then a
// byte for each call of the client (kCalls), each followed by what the servers read for it
// (scripted_server.h).
//
// An input ends the process if a reply violates reply_invariants.h, or a call does not end in time.
//
// Thread safety: one input at a time.
#ifndef NFSWALK_TESTS_FUZZ_WIRE_FUZZ_ENTRY_H_
#define NFSWALK_TESTS_FUZZ_WIRE_FUZZ_ENTRY_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/fuzz/wire/scripted_server.h"

// The entry of libFuzzer.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace nfswalk::fuzz {

// Client calls that a script can choose from.
extern const size_t kCallCount;

struct ClientRun {
  size_t succeeded = 0;  // calls of the client, the mount among them
  size_t position = 0;   // in the input, beyond its end too, before the client unmounted
};

// Runs an input. Returns how many calls of its client succeeded, or replies of its decoder.
size_t RunInput(std::string_view input);

// Runs the input of a client.
ClientRun RunClient(std::string_view input, const ScriptedServer::Observer& observer = nullptr);

}  // namespace nfswalk::fuzz

#endif  // NFSWALK_TESTS_FUZZ_WIRE_FUZZ_ENTRY_H_
