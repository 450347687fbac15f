// Feeds a client what a server may send, mutated at random from the corpus and the attacks of
// tests/hostile: no input violates reply_invariants.h, leads beyond a reply, or keeps a call from
// its end.
//
// Seeded: failures repeat. An input that ends the process is left in the test's outputs, in the
// file last_input. tests/fuzz/guided.sh chooses mutations by the code that they reach.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/fixtures/fake_server.h"
#include "tests/fuzz/wire/fuzz_entry.h"
#include "tests/fuzz/wire/reply_sample.h"
#include "tests/fuzz/wire/seed_inputs.h"

namespace nfswalk::fuzz {
namespace {

constexpr uint64_t kSeed = 20240101;
constexpr int kInputs = 200'000;
constexpr int kOfClients = 20;  // every so many, since they take long
constexpr size_t kInputBytesMax = 8192;
constexpr long kResidentKibMax = 1024 * 1024;  // sanitizers keep what was freed

// The input that runs, in a file that outlives the process.
class LastInput {
 public:
  LastInput() {
    const char* place = getenv("TEST_UNDECLARED_OUTPUTS_DIR");
    const std::string path = std::string(place != nullptr ? place : ".") + "/last_input";
    fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    EXPECT_EQ(ftruncate(fd_, kMapBytes), 0);
    map_ = static_cast<char*>(mmap(nullptr, kMapBytes, PROT_WRITE, MAP_SHARED, fd_, 0));
    EXPECT_NE(map_, MAP_FAILED);
  }
  ~LastInput() {
    EXPECT_EQ(ftruncate(fd_, 0), 0);
    munmap(map_, kMapBytes);
    close(fd_);
  }
  LastInput(const LastInput&) = delete;
  LastInput& operator=(const LastInput&) = delete;

  // Behind the input's bytes stand their number and "\n".
  size_t Run(const std::string& input) {
    const std::string end = " " + std::to_string(input.size()) + "\n";
    std::memcpy(map_, input.data(), input.size());
    std::memcpy(map_ + input.size(), end.c_str(), end.size() + 1);
    return RunInput(input);
  }

 private:
  static constexpr size_t kMapBytes = 64 * 1024;
  int fd_;
  char* map_;
};

class Mutator {
 public:
  // `inputs` must outlive it. Deterministic for one seed.
  Mutator(const std::vector<std::string>& inputs, uint64_t seed) : inputs_(inputs), random_(seed) {}

  std::string Next() {
    std::string input = inputs_[Below(inputs_.size())];
    // Mostly one mutation: the first detected hides the others.
    for (size_t left = Below(2) ? 1 : 1 + Below(kMutationsMax); left > 0; --left) Mutate(input);
    input.resize(std::min(input.size(), kInputBytesMax));
    return input;
  }

 private:
  static constexpr size_t kMutationsMax = 6;
  static constexpr size_t kPieceBytesMax = 160;
  // Near the limits of types, handles, names, data and integers.
  static constexpr uint32_t kExtremes[] = {
      0, 1, 2, 3, 4, 5,
      // Handles, names and link texts
      63, 64, 65, 127, 128, 129, 255, 256, 257, 1000, 4096, 4097,
      // Lengths and nanoseconds
      1u << 20, 1u << 30, 0x3fffffff, 1'000'000'000, 0x7ffffffc, 0x7fffffff, 0x80000000, 0x80000001,
      0xfffffffc, 0xfffffffe, 0xffffffff};

  size_t Below(size_t bound) { return random_() % bound; }

  void Mutate(std::string& bytes) {
    if (bytes.empty()) return;
    const size_t at = Below(bytes.size());
    switch (Below(8)) {
      case 0:
      case 1:
        bytes[at] ^= static_cast<char>(1 << Below(8));
        return;
      case 2:
        bytes[at] = static_cast<char>(Below(256));
        return;
      case 3:
      case 4: {
        const std::string word = protocol::Xdr().U32(kExtremes[Below(std::size(kExtremes))]).str();
        bytes.replace(at, Below(4) != 0 ? word.size() : 0, word);
        return;
      }
      case 5:
        return bytes.resize(at);
      case 6:
        bytes.erase(at, 1 + Below(kPieceBytesMax));
        return;
      default: {
        // A piece of any input, inserted or in the place of others.
        const std::string& other = inputs_[Below(inputs_.size())];
        const std::string piece = other.substr(Below(other.size() + 1), 1 + Below(kPieceBytesMax));
        bytes.replace(at, Below(2) ? piece.size() : 0, piece);
      }
    }
  }

  const std::vector<std::string>& inputs_;
  std::mt19937_64 random_;
};

std::vector<std::string> CorpusInputs() {
  std::vector<std::string> inputs;
  for (const auto& file : std::filesystem::directory_iterator("tests/fuzz/wire/corpus")) {
    std::ifstream stream(file.path(), std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  std::ranges::sort(inputs);
  return inputs;
}

const std::vector<std::string>& Inputs() {
  static const std::vector<std::string> inputs = [] {
    std::vector<std::string> all = CorpusInputs();
    for (std::string& input : SeedInputs()) all.push_back(std::move(input));
    return all;
  }();
  return inputs;
}

bool IsOfClient(const std::string& input) { return !input.empty() && (input[0] & 2) == 0; }

struct Version {
  std::string name;
  std::vector<protocol::ReplySample> samples;
};

class Samples : public testing::TestWithParam<Version> {};

TEST_P(Samples, AreValidReplies) {
  for (const protocol::ReplySample& sample : GetParam().samples) {
    const protocol::FeedResult result = sample.feed(sample.bytes);
    EXPECT_TRUE(result.parsed) << sample.name;
    EXPECT_EQ(result.error, sample.error) << sample.name;
    EXPECT_EQ(result.violation, "") << sample.name;
  }
}

TEST_P(Samples, AreRefusedOrValidInEveryPrefix) {
  for (const protocol::ReplySample& sample : GetParam().samples) {
    for (size_t size = 0; size < sample.bytes.size(); ++size) {
      const protocol::FeedResult result = sample.feed(sample.bytes.substr(0, size));
      EXPECT_EQ(result.violation, "") << sample.name << " cut to " << size;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Samples,
                         testing::Values(Version{"Nfs3", protocol::Nfs3Samples()},
                                         Version{"Nfs4", protocol::Nfs4Samples()}),
                         [](const auto& version) { return version.param.name; });

// A byte each: the lower five bits are the call, the upper three its name (fuzz_entry.cc).
constexpr uint8_t kEachCall[] = {
    0,           2,           1,           5,           8,           7, 19, 20,  // root, file
    2 << 5 | 2,  6,                                                              // link
    10,          11,          1 << 5 | 2,  3 << 5 | 3,                // listings, dir, inner
    4 << 5 | 12, 4 << 5 | 17, 4 << 5 | 13, 4 << 5 | 18, 4 << 5 | 14,  // made and removed
};

TEST(WireFuzz, AGoodServerServes) {
  for (const char kind : {'\0', '\1', '\4'}) {
    std::string input = MountInput(kind);
    size_t succeeded = 1;
    for (const uint8_t call : kEachCall) {
      input = WithCall(input, static_cast<char>(call));
      const size_t now = RunClient(input).succeeded;
      EXPECT_EQ(now, succeeded + 1) << int{kind} << ": " << int{call};
      succeeded = now;
    }
  }
}

// So that a failure can be repeated.
TEST(WireFuzz, AnInputDoesTheSameEachTime) {
  const auto calls = [](const std::string& input) {
    std::string log;
    RunClient(input, [&](const protocol::FakeCall& call, size_t position) {
      log += protocol::Xdr().U32(call.xid, call.program, call.procedure, position).str();
    });
    return log;
  };
  Mutator mutator(Inputs(), kSeed + 1);
  for (int i = 0; i < 300; ++i) {
    std::string input = mutator.Next();
    if (!IsOfClient(input)) continue;
    ASSERT_EQ(calls(input), calls(input)) << i << ": " << testing::PrintToString(input);
  }
}

TEST(WireFuzz, TheCorpusHolds) {
  LastInput last;
  for (const std::string& input : Inputs()) last.Run(input);
  EXPECT_GT(CorpusInputs().size(), 50u);
}

// WIRE-7.
TEST(WireFuzz, MutationsOfTheCorpusHold) {
  LastInput last;
  std::vector<std::string> of_clients, of_decoders;
  for (const std::string& input : Inputs()) {
    (IsOfClient(input) ? of_clients : of_decoders).push_back(input);
  }
  Mutator clients(of_clients, kSeed), decoders(of_decoders, kSeed);
  int failed = 0;  // of which nothing succeeded
  for (int i = 0; i < kInputs; ++i) {
    failed += last.Run((i % kOfClients == 0 ? clients : decoders).Next()) == 0;
  }
  EXPECT_GT(failed, kInputs / 20);
  EXPECT_LT(failed, kInputs - kInputs / 20);
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  EXPECT_LT(used.ru_maxrss, kResidentKibMax);
}

}  // namespace
}  // namespace nfswalk::fuzz
