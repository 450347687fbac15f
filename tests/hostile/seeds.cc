#include "tests/hostile/seeds.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "tests/fixtures/libnfs_raw.h"
#include "tests/hostile/attack.h"
#include "tests/hostile/hostile_server.h"

namespace nfswalk::hostile {
namespace {

constexpr int kRepeated = 3;
const char* const kRoot = "handle 1";
// Handles of what hostile_server.cc plants.
const char* const kFile = "handle 2";
const char* const kDirectory = "handle 3";
const char* const kLink = "handle 7";
constexpr uint64_t kFirstClient = uint64_t{1} << 32 | 1;  // fake_nfs4_state.cc

FakeCall CallOf(uint32_t program, uint32_t version, uint32_t procedure, const Xdr& arguments) {
  FakeCall call;
  call.xid = kSeedXid;
  call.program = program;
  call.version = version;
  call.procedure = procedure;
  call.arguments = arguments.str();
  call.connection = 1;
  return call;
}

FakeCall Nfs3Call(uint32_t procedure) {
  Xdr arguments;
  switch (procedure) {
    case NFS3_LOOKUP:
      arguments.Bytes(kRoot).Bytes("file");
      break;
    case NFS3_ACCESS:
      arguments.Bytes(kFile).U32(0x3f);
      break;
    case NFS3_READ:
      arguments.Bytes(kFile).U64(0).U32(65536);
      break;
    case NFS3_READLINK:
      arguments.Bytes(kLink);
      break;
    case NFS3_READDIR:
    case NFS3_READDIRPLUS:
      arguments.Bytes(kRoot).U64(0, 0).U32(4096, 65536);
      break;
    default:
      arguments.Bytes(kRoot);
  }
  return CallOf(NFS_PROGRAM, 3, procedure, arguments);
}

// The operation with its arguments.
Xdr Operation(uint32_t operation) {
  // Attributes that a client asks for files: type, change, size, ... mode, owner, times.
  const Xdr bitmap = Xdr().U32(2, 0x0010011a, 0x0030a23a);
  const std::string anonymous(16, '\0');
  const Xdr to = Xdr().U32(operation);
  switch (operation) {
    case OP_LOOKUP:
      return Xdr(to).Bytes("file");
    case OP_ACCESS:
      return Xdr(to).U32(0x3f);
    case OP_GETATTR:
      // Asks for attributes of the server, too, as a client that mounts.
      return Xdr(to).Raw(bitmap).U32(OP_GETATTR, 1, 3u << FATTR4_MAXREAD);
    case OP_READ:
      return Xdr(to).Raw(anonymous).U64(0).U32(65536);
    case OP_READDIR:
      return Xdr(to).U64(0, 0).U32(4096, 65536).Raw(bitmap);
    case OP_OPEN:  // sequence, share, owner; no create; CLAIM_NULL
      return Xdr(to).U32(0, 1, 0).U64(kFirstClient).Bytes("owner").U32(0, 0).Bytes("file");
    case OP_CLOSE:
      return Xdr(to).U32(1).Raw(anonymous);
    case OP_SETCLIENTID:
      return Xdr(to).U64(1).Bytes("client").U32(0).Bytes("tcp").Bytes("127.0.0.1.0.0").U32(0);
    case OP_SETCLIENTID_CONFIRM:
      return Xdr(to).U64(kFirstClient).Raw("verifier");
    default:
      return to;
  }
}

FakeCall Nfs4Call(uint32_t operation) {
  const std::map<uint32_t, const char*> handles = {
      {OP_READ, kFile}, {OP_CLOSE, kFile}, {OP_READLINK, kLink}, {OP_GETATTR, kDirectory}};
  const bool with_client = operation == OP_SETCLIENTID || operation == OP_SETCLIENTID_CONFIRM;
  Xdr arguments;
  arguments.Bytes("").U32(0, with_client ? 1 : operation == OP_GETATTR ? 3 : 2);
  if (!with_client) {
    const auto found = handles.find(operation);
    arguments.U32(OP_PUTFH).Bytes(found == handles.end() ? kRoot : found->second);
  }
  return CallOf(NFS_PROGRAM, 4, 1, arguments.Raw(Operation(operation)));
}

FakeCall CallFor(const Attack& attack) {
  const auto operation = static_cast<uint32_t>(*attack.operations.begin());
  if (attack.service == Service::kMount) {
    return CallOf(MOUNT_PROGRAM, 3, operation, Xdr().Bytes("/export"));
  }
  if (attack.service == Service::kPortmapper) {
    return CallOf(PMAP_PROGRAM, 2, operation, Xdr().U32(NFS_PROGRAM, 3, 6, 0));
  }
  return attack.version == 3 ? Nfs3Call(operation) : Nfs4Call(operation);
}

std::string StreamOf(const FakeCall& call, const FakeAnswer& answer) {
  if (answer.kind == FakeAnswer::Kind::kReply) {
    return Framed(AcceptedMessage(call.xid, answer.bytes));
  }
  std::string stream = answer.bytes;
  for (int i = 0; i < kRepeated; ++i) stream += answer.repeated;
  return stream;
}

}  // namespace

std::vector<Seed> Seeds() {
  std::vector<Seed> seeds;
  const auto add = [&](const Attack& attack, const FakeCall& call) {
    HostileServer server(attack, INADDR_LOOPBACK, 0);
    for (const uint32_t first : {OP_SETCLIENTID, OP_SETCLIENTID_CONFIRM}) {
      if (attack.version == 4) server.Answer(Nfs4Call(first));
    }
    FakeAnswer answer;
    for (int i = 0; i <= attack.after; ++i) answer = server.Answer(call);
    seeds.push_back({attack.name, attack.version, call, StreamOf(call, answer)});
  };
  std::vector<Attack> attacks = AllAttacks();
  // A call that changes something needs a tree that has what it changes; replies to it are made up
  // as those to a call that reads.
  std::erase_if(attacks, [changes = ChangeAttacks()](const Attack& attack) {
    return attack.name.starts_with("ToChanges") ||
           std::ranges::any_of(changes, [&](const Attack& change) {
             return NameOf(change) == NameOf(attack);
           });
  });
  std::set<std::string> called;
  for (const Attack& attack : attacks) {
    const FakeCall call = CallFor(attack);
    const std::string key = Xdr().U32(call.program, call.procedure).Raw(call.arguments).str();
    if (!called.insert(key).second) continue;
    add({.name = "Benign", .version = attack.version, .service = attack.service}, call);
  }
  for (const Attack& attack : attacks) add(attack, CallFor(attack));
  return seeds;
}

}  // namespace nfswalk::hostile
