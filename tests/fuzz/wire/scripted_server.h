// scripted_server: portmapper, MOUNT and NFS of one version over a small tree, which answer well
// but where the script says otherwise. From the script are read, in this order as they happen:
//
//   a connection   1 byte: 6 of its lower three bits refuses it, 7 leaves it unanswered
//   an answer      1 byte, then its edits
//     bits 0, 1    how many edits: offset, bytes erased, bytes inserted (16 bits each), the bytes
//     bit  2       of the record with its mark; else of the message, marked afterwards
//     bits 3, 4    0; 1: the stream ends behind it; 2: it comes behind the next one; 3: it and all
//                  that follows come a byte a second
//     bits 5 to 7  how often it is sent: 4 to the power of them, up to kSentBytesMax
//
// In bytes inserted kSeedXid stands for the xid of the call.
//
// Thread safety: none.
#ifndef NFSWALK_TESTS_FUZZ_WIRE_SCRIPTED_SERVER_H_
#define NFSWALK_TESTS_FUZZ_WIRE_SCRIPTED_SERVER_H_

#include <functional>
#include <string>
#include <string_view>

#include "tests/fixtures/fake_nfs3.h"
#include "tests/fixtures/fake_nfs4.h"
#include "tests/fuzz/wire/script.h"
#include "tests/fuzz/wire/simulated_network.h"

namespace nfswalk::fuzz {

inline constexpr uint8_t kOneEdit = 1;
inline constexpr uint8_t kEditsRecord = 4;
// Erases all that is there.
inline constexpr uint16_t kAll = 0xffff;

class ScriptedServer : public SimulatedNetwork::Server {
 public:
  // Is told of each call, and where in the script its answer begins.
  using Observer = std::function<void(const protocol::FakeCall&, size_t position)>;
  static constexpr size_t kSentBytesMax = 64 * 1024;

  ScriptedServer(Script& script, uint32_t version, const Observer& observer);

  SimulatedNetwork::Accepts Accept() override;
  SimulatedNetwork::Sent Answer(std::string_view message) override;

 private:
  protocol::FakeAnswer GoodAnswer(const protocol::FakeCall& call);

  Script& script_;
  const uint32_t version_;
  const Observer& observer_;
  protocol::FakeNfs3 nfs3_;
  protocol::FakeNfs4 nfs4_;
  std::string held_;
};

}  // namespace nfswalk::fuzz

#endif  // NFSWALK_TESTS_FUZZ_WIRE_SCRIPTED_SERVER_H_
