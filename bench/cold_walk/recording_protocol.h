// recording_protocol: hands every call on to a Protocol and writes down those that look something
// up, so that the same ones can be made again without a client around them (MakeRawCalls).
//
// Thread safety: as Protocol; the record itself is read when no call is inside.
#ifndef NFSWALK_BENCH_COLD_WALK_RECORDING_PROTOCOL_H_
#define NFSWALK_BENCH_COLD_WALK_RECORDING_PROTOCOL_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nfsclient/protocol/protocol.h"
#include "tests/fixtures/wrapped_protocol.h"

namespace nfswalk::bench {

struct RecordedCall {
  enum class Kind : uint8_t { kGetAttributes, kLookup, kLookupPath, kAccess, kReadDir };
  Kind kind = Kind::kGetAttributes;
  protocol::FileHandle handle;
  std::vector<std::string> names = {};      // kLookup: one
  protocol::ReadDirPosition position = {};  // kReadDir
};
using Record = std::vector<RecordedCall>;

// Records the calls that a walk of regular files makes. Forwards all others, such as those of the
// mount, unrecorded.
class RecordingProtocol final : public fixtures::WrappedProtocol<RecordingProtocol> {
 public:
  // `record` must outlive this.
  RecordingProtocol(std::unique_ptr<Protocol> inner, Record& record)
      : WrappedProtocol(std::move(inner)), record_(record) {}

  protocol::AttributesReply GetAttributes(const FileHandle& file, const Credential& who) override;
  protocol::LookupReply Lookup(const FileHandle& directory, std::string_view name,
                               const Credential& who) override;
  protocol::LookupPathReply LookupPath(const FileHandle& directory,
                                       std::span<const std::string_view> names,
                                       const Credential& who) override;
  protocol::AccessReply Access(const FileHandle& file, const Credential& who) override;
  protocol::ReadDirReply ReadDir(const FileHandle& directory, protocol::ReadDirPosition position,
                                 bool plus, const Credential& who) override;

 private:
  void Note(RecordedCall call);

  std::mutex mutex_;
  Record& record_;  // guarded by mutex_
};

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_COLD_WALK_RECORDING_PROTOCOL_H_
