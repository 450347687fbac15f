#include "tests/fuzz/wire/scripted_server.h"

#include <algorithm>
#include <utility>

#include "tests/fixtures/libnfs_raw.h"
#include "tests/hostile/seeds.h"

namespace nfswalk::fuzz {
namespace {

using protocol::FakeAnswer;
using protocol::FakeCall;
using protocol::FakeNode;
using protocol::Xdr;

enum class After { kNothing, kEnd, kNextFirst, kSlow };

// Below `root`: of version 4 the export is a directory of the server's tree.
void Plant(protocol::FakeTreeServer& server, const std::string& root) {
  const FakeNode directory{.type = FakeNode::Type::kDirectory, .mode = 0755};
  if (!root.empty()) server.Put("export", directory);
  server.Put(root + "file", {.uid = 1000, .data = std::string(100, '.')});
  server.Put(root + "dir", directory);
  server.Put(root + "dir/inner", {.data = "inner"});
  server.Put(root + "dir/sub", directory);
  server.Put(root + "link", {.type = FakeNode::Type::kSymlink, .mode = 0777, .data = "dir/inner"});
}

std::string WithXid(std::string bytes, uint32_t xid) {
  static const std::string seed = Xdr().U32(hostile::kSeedXid).str();
  const std::string real = Xdr().U32(xid).str();
  for (size_t at = bytes.find(seed); at != bytes.npos; at = bytes.find(seed, at + seed.size())) {
    bytes.replace(at, seed.size(), real);
  }
  return bytes;
}

void Edit(Script& script, uint32_t xid, std::string& bytes) {
  const size_t offset = std::min<size_t>(script.U16(), bytes.size());
  const uint16_t erased = script.U16();
  const std::string inserted = WithXid(script.Bytes(script.U16()), xid);
  bytes.replace(offset, erased == kAll ? bytes.npos : erased, inserted);
}

std::string Marked(const std::string& message) {
  return Xdr().U32(0x80000000u | message.size()).Raw(message).str();
}

// Up to kSentBytesMax, beyond which the last one goes on.
void Repeat(std::string& bytes, size_t times) {
  if (bytes.empty()) return;
  const size_t bytes_max = ScriptedServer::kSentBytesMax + bytes.size() - 1;
  const size_t size = bytes.size() * std::min(times, bytes_max / bytes.size());
  bytes.reserve(size);
  while (bytes.size() < size) bytes.append(bytes, 0, size - bytes.size());
}

}  // namespace

ScriptedServer::ScriptedServer(Script& script, uint32_t version, const Observer& observer)
    : script_(script), version_(version), observer_(observer) {
  if (version == 3) Plant(nfs3_, "");
  if (version == 4) Plant(nfs4_, "export/");
}

SimulatedNetwork::Accepts ScriptedServer::Accept() {
  const int how = script_.U8() & 7;
  if (how == 6) return SimulatedNetwork::Accepts::kRefuses;
  return how == 7 ? SimulatedNetwork::Accepts::kNever : SimulatedNetwork::Accepts::kYes;
}

SimulatedNetwork::Sent ScriptedServer::Answer(std::string_view message) {
  const FakeCall call = protocol::ParseCall(message);
  if (observer_) observer_(call, script_.position());
  const FakeAnswer good = GoodAnswer(call);
  if (good.kind == FakeAnswer::Kind::kHangUp) return {.ends = true};
  std::string bytes = protocol::MessageOf(call, good);
  const uint8_t how = script_.U8();
  if ((how & kEditsRecord) != 0) bytes = Marked(bytes);
  for (int edits = how & 3; edits > 0; --edits) Edit(script_, call.xid, bytes);
  if ((how & kEditsRecord) == 0) bytes = Marked(bytes);
  const auto after = static_cast<After>(how >> 3 & 3);
  if (after == After::kNextFirst) {
    held_ += bytes;
    return {};
  }
  Repeat(bytes, size_t{1} << 2 * (how >> 5));
  bytes += std::exchange(held_, {});
  return {
      .bytes = std::move(bytes), .ends = after == After::kEnd, .is_slow = after == After::kSlow};
}

FakeAnswer ScriptedServer::GoodAnswer(const FakeCall& call) {
  if (call.procedure == 0) return {};
  if (call.program == PMAP_PROGRAM) return Reply(Xdr().U32(2049));
  return version_ == 3 ? nfs3_.Answer(call) : nfs4_.Answer(call);
}

}  // namespace nfswalk::fuzz
