#include "tests/fuzz/wire/seed_inputs.h"

#include <cstdint>
#include <span>

#include "tests/fuzz/wire/fuzz_entry.h"
#include "tests/fuzz/wire/reply_sample.h"
#include "tests/hostile/seeds.h"

namespace nfswalk::fuzz {
namespace {

// Bytes that are taken of an attack. One that never ends is cut there, and goes on with the end of
// the stream or a deadline.
constexpr size_t kAttackBytesMax = 4096;
constexpr char kGetAttributes = 1;

// A call that a client makes, and the input up to the byte where its answer begins.
struct Target {
  uint32_t program;
  uint32_t procedure;
  std::string before;
};

std::string Padded(std::string input, size_t size) {
  input.resize(size);
  return input;
}

// The calls of mounting and, behind it, of each call of the client.
std::vector<Target> TargetsOf(char kind) {
  std::vector<Target> targets;
  const auto note = [&](const std::string& input) {
    RunClient(input, [&](const protocol::FakeCall& call, size_t position) {
      if (position < input.size()) return;
      targets.push_back({call.program, call.procedure, Padded(input, position)});
    });
  };
  note({kind, '\0'});
  for (size_t i = 0; i < kCallCount; ++i) note(MountInput(kind) + static_cast<char>(i));
  return targets;
}

std::string WithAttack(const Target& target, const std::string& stream) {
  const std::string bytes = stream.substr(0, kAttackBytesMax);
  protocol::Xdr edit;
  edit.U32(kAll, bytes.size() << 16);  // two numbers of 16 bits each, and two
  std::string input = target.before + static_cast<char>(kOneEdit | kEditsRecord);
  input += edit.str().substr(0, 6) + bytes;
  return input + kGetAttributes + '\0' + kGetAttributes;
}

}  // namespace

std::string MountInput(char kind) {
  const std::string head{kind, '\0'};
  return Padded(head, RunClient(head).position);
}

std::string WithCall(const std::string& input, char call) {
  const std::string longer = input + call;
  return Padded(longer, RunClient(longer).position);
}

std::vector<std::string> SeedInputs() {
  std::vector<std::string> inputs;
  const std::vector<hostile::Seed> seeds = hostile::Seeds();
  for (const char kind : {'\0', '\1', '\4'}) {
    const int version = kind == 1 ? 4 : 3;
    for (const Target& target : TargetsOf(kind)) {
      inputs.push_back(target.before);
      for (const hostile::Seed& seed : seeds) {
        const bool meets = seed.version == version && seed.call.program == target.program &&
                           seed.call.procedure == target.procedure;
        if (meets) inputs.push_back(WithAttack(target, seed.stream));
      }
    }
  }
  for (const char kind : {'\2', '\3'}) {
    char number = 0;
    for (const protocol::ReplySample& sample :
         kind == 2 ? protocol::Nfs3Samples() : protocol::Nfs4Samples()) {
      inputs.push_back(std::string{kind, number++} + sample.bytes);
    }
  }
  return inputs;
}

}  // namespace nfswalk::fuzz
