// random_world: a small tree on a server, a client of it, and random events on both, drawn from a
// seed.
#ifndef NFSWALK_TESTS_EXITS_RANDOM_WORLD_H_
#define NFSWALK_TESTS_EXITS_RANDOM_WORLD_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nfsclient/client.h"
#include "nfsclient/nfs/superblock.h"
#include "tests/exits/frozen_question.h"
#include "tests/fixtures/faulty_protocol.h"
#include "tests/fixtures/memory_server.h"

namespace nfswalk::exits {

// SplitMix64.
class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  uint64_t Next();
  size_t Below(size_t n) { return static_cast<size_t>(Next() % n); }
  bool OneIn(size_t n) { return Below(n) == 0; }
  template <class Container>
  const auto& Of(const Container& container) {
    return container[Below(std::size(container))];
  }

 private:
  uint64_t state_;
};

// Thread safety: none; the steered clock is process-wide.
class RandomWorld {
 public:
  // Draws options, tree and rights.
  explicit RandomWorld(uint64_t seed);

  // One of: time passes; another client changes the tree, modes or rights; the client looks up,
  // lists, changes; parts of its caches are invalidated, dropped or evicted; the server fails
  // calls.
  void Step();
  Question DrawQuestion();
  std::string Describe() const;  // the mount's options

  Client& client() const { return *client_; }
  fixtures::FaultyProtocol& protocol() { return *protocol_; }
  const MountOptions& options() const { return options_; }

 private:
  using Place = std::pair<uint64_t, std::string>;  // a directory and a name in it

  static MountOptions DrawOptions(Dice& dice);
  void Grow();
  uint32_t RightsOf(uint64_t file, const Credential& credential) const;
  std::string DrawPath();
  std::string DrawPlainPath();
  std::string PathOf(const Place& place) const;
  void Add();
  void PassTime();
  void ChangeTheServer();
  void MoveSomething();
  void EditSomething();
  void Use();
  void ChangeByClient();
  void DisturbCaches();
  bool IsBelow(uint64_t directory, uint64_t ancestor) const;

  Dice dice_;
  MountOptions options_;
  fixtures::MemoryServer* server_ = nullptr;
  fixtures::FaultyProtocol* protocol_ = nullptr;  // in front of the server
  std::unique_ptr<Client> client_;
  std::vector<Credential> people_;
  // As on the server, but for what the client itself has changed.
  std::vector<uint64_t> directories_{fixtures::MemoryServer::kRoot};
  std::vector<uint64_t> links_;
  std::vector<uint64_t> files_;  // files of all three types
  std::map<Place, uint64_t> names_;
  std::map<uint64_t, uint64_t> parents_;  // of directories
  uint64_t rights_seed_ = 0;
  std::vector<Question> asked_;
};

}  // namespace nfswalk::exits

#endif  // NFSWALK_TESTS_EXITS_RANDOM_WORLD_H_
