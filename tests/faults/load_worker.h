// load_worker: one thread of mixed load with a model of the expected outcome of every operation.
//
// Each step is a random call of Client, whose outcome is compared with the model (model_tree.h).
// Expect() states which outcomes a fault may cause; any other fails the test.
//
// Thread safety: one thread per worker; the counters and AwaitDone() from any.
#ifndef NFSWALK_TESTS_FAULTS_LOAD_WORKER_H_
#define NFSWALK_TESTS_FAULTS_LOAD_WORKER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <system_error>

#include "nfsclient/client.h"
#include "tests/faults/model_tree.h"

namespace nfswalk::faults {

// Counts faults of the server or the network. A fault has ended when calls get replies again.
struct FaultCounts {
  std::atomic<uint64_t> begun{0};
  std::atomic<uint64_t> ended{0};
};

struct LoadTerms {
  // The server itself is killed, and does not know afterwards which client has made a name: one
  // whose reply was lost cannot be told from another client's (lost_reply.h).
  bool server_dies = false;
  // Operations may return timed_out or io_error, executed or not.
  bool soft = false;
};

class LoadWorker {
 public:
  // `directory`: the load's, in the client's mount; `backing`: the same at the server, with
  // "shared" in it. `client` and `faults` must outlive the worker.
  LoadWorker(Client& client, std::string directory, std::string backing, uint32_t number,
             const FaultCounts& faults, LoadTerms terms);

  // Makes "t<number>" and a file in it that stays open.
  void Begin();
  void Step();
  // Closes open files.
  void End() { held_.reset(); }
  // Expects the client to agree with the model on every possible name.
  void StatEverything();

  uint64_t done() const { return done_.load(); }
  void AwaitDone(uint64_t steps) const;

  // How often tolerated outcomes happened.
  uint64_t unrecognized_creates() const { return unrecognized_creates_.load(); }
  uint64_t unknown_outcomes() const { return unknown_outcomes_.load(); }

 private:
  using Errc = std::errc;
  // An outcome that is tolerated, besides the expected one, if a fault met the call.
  enum class Tolerated {
    kNothing,
    kSucceedsAsRetried,     // success instead of an error: as if the first reply was lost
    kExistsAsUnrecognized,  // EEXIST, if the server was killed meanwhile
  };

  // Runs `call` and checks its outcome. Returns true if it was executed as expected.
  bool Expect(const char* what, const std::string& path, Errc expected,
              const std::function<Errc()>& call, Tolerated otherwise = Tolerated::kNothing);
  void Resynchronize();
  void RemoveUnrecognized(const std::string& path);
  void Fail(const char* what, const std::string& path, const std::string& how);
  void ExpectAttributes(const char* what, const std::string& path, Node& node,
                        const Attributes& found);

  void Create();
  void MakeDirectory();
  void RemoveDirectory();
  void MakeSymlink();
  void Link();
  void Rename();
  void RenameDirectory();
  void Unlink();
  void SetMode();
  void Truncate();
  void StatName(const std::string& path);
  void StatAny();
  void StatTarget();
  void Access();
  void ReadLink();
  void List();
  void WriteAndRead();
  void UseHeld();
  void StatOthers();

  Result<std::unique_ptr<File>> Open(const std::string& path) const;
  void WriteAndReadThrough(File& file, const std::string& path, Node& node);

  uint32_t Draw(uint32_t below) { return static_cast<uint32_t>(random_() % below); }
  std::string DrawName();
  std::string DrawDirectory();
  // Returns a random file of the model, or "" if the name drawn is none.
  std::string DrawFile();
  std::string Full(const std::string& path) const { return directory_ + "/" + path; }
  // Returns `otherwise`, or ENOENT if the path's directory is missing.
  Errc Reachable(const std::string& path, Errc otherwise) const;
  // EACCES if the owner may not do all of `wanted`, bits of access(2).
  static Errc Permission(const Node& node, uint32_t wanted);

  Client& client_;
  const std::string directory_, backing_;
  const std::string own_, mark_;
  const Credential credential_;
  const FaultCounts& faults_;
  const LoadTerms terms_;
  ModelTree model_;
  std::minstd_rand random_;
  std::unique_ptr<File> held_;
  std::atomic<uint64_t> unrecognized_creates_{0};
  std::atomic<uint64_t> unknown_outcomes_{0};
  int failures_ = 0;
  std::atomic<uint64_t> done_{0};
};

}  // namespace nfswalk::faults

#endif  // NFSWALK_TESTS_FAULTS_LOAD_WORKER_H_
