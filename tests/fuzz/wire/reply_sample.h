// reply_sample: valid replies with the functions that decode and check them.
#ifndef NFSWALK_TESTS_FUZZ_WIRE_REPLY_SAMPLE_H_
#define NFSWALK_TESTS_FUZZ_WIRE_REPLY_SAMPLE_H_

#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace nfswalk::protocol {

// The result of decoding a reply.
struct FeedResult {
  bool parsed = false;              // well-formed
  std::errc error{};                // of the decoder
  std::string_view violation = {};  // the invariant that does not hold, if any
};

struct ReplySample {
  std::string name;
  std::string bytes;
  std::errc error{};  // expected of the bytes unchanged
  std::function<FeedResult(std::string_view bytes)> feed;
};

// Returns a success and a failure of every procedure that the client uses.
std::vector<ReplySample> Nfs3Samples();
// Returns every operation that the client uses, in its COMPOUNDs.
std::vector<ReplySample> Nfs4Samples();

}  // namespace nfswalk::protocol

#endif  // NFSWALK_TESTS_FUZZ_WIRE_REPLY_SAMPLE_H_
