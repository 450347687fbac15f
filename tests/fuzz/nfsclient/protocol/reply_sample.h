// reply_sample: valid replies of servers, and what the decoders promise of whatever they are fed.
#ifndef NFSWALK_TESTS_FUZZ_NFSCLIENT_PROTOCOL_REPLY_SAMPLE_H_
#define NFSWALK_TESTS_FUZZ_NFSCLIENT_PROTOCOL_REPLY_SAMPLE_H_

#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace nfswalk::protocol {

// What became of the bytes of a reply.
struct Fed {
  bool parsed = false;  // libnfs could read it
  std::errc error{};    // what the decoder said then
  std::string_view broken =
      {};  // the promise that what passed does not keep; empty if all are kept
};

struct ReplySample {
  std::string name;
  std::string bytes;
  std::errc error{};  // when fed as it is
  std::function<Fed(std::string_view bytes)> feed;
};

// Every procedure that the client uses, in success and in failure.
std::vector<ReplySample> Nfs3Samples();
// Every operation that the client uses, in the COMPOUNDs that it uses them in.
std::vector<ReplySample> Nfs4Samples();

}  // namespace nfswalk::protocol

#endif  // NFSWALK_TESTS_FUZZ_NFSCLIENT_PROTOCOL_REPLY_SAMPLE_H_
