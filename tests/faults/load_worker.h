// load_worker: a thread's worth of mixed load that knows what every operation must answer.
//
// Each step is a call of Client, drawn at random, whose outcome is held against a model
// (model_tree.h). What a fault may cost is written down once, in Expect(): all else is a failure of
// the test.
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

// Counts what happens to the server or on the way to it. A fault has ended when calls are answered
// again.
struct FaultCounts {
  std::atomic<uint64_t> begun{0};
  std::atomic<uint64_t> ended{0};
};

struct LoadTerms {
  // The server itself dies: between making a thing and noting whose it is, or its mode. It cannot
  // tell us from a stranger afterwards (lost_reply.h).
  bool server_dies = false;
  // Operations may end in timed_out or io_error, and then be done or not.
  bool soft = false;
};

class LoadWorker {
 public:
  // `directory`: the load's, as the client names it; `backing`: the same where the server keeps it.
  // In it "shared" exists. `client` and `faults` must outlive the worker.
  LoadWorker(Client& client, std::string directory, std::string backing, uint32_t number,
             const FaultCounts& faults, LoadTerms terms);

  // Makes "t<number>" and a file there that stays open from now on.
  void Begin();
  void Step();
  // Closes what is open.
  void End() { held_.reset(); }
  // Stats every name that there can be: the client agrees with the model.
  void StatEverything();

  uint64_t done() const { return done_.load(); }
  void AwaitDone(uint64_t steps) const;

  // How often what the terms tolerate has happened.
  uint64_t strangers() const { return strangers_.load(); }
  uint64_t in_doubt() const { return in_doubt_.load(); }
  const ModelTree& model() const { return model_; }

 private:
  using Errc = std::errc;
  // What else than the expected outcome a call that met a fault may say.
  enum class Else {
    kNothing,
    kSeemsDone,   // success instead of an error, though nothing was to do: the reply was lost
    kIsStranger,  // EEXIST, if the server died over it
  };

  // Runs `call` and judges it. True if it was done, as was expected.
  bool Expect(const char* what, const std::string& path, Errc expected,
              const std::function<Errc()>& call, Else otherwise = Else::kNothing);
  void Resynchronize();
  void RemoveStranger(const std::string& path);
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
  void LookAtOthers();

  Result<std::unique_ptr<File>> Open(const std::string& path) const;
  void WriteAndReadThrough(File& file, const std::string& path, Node& node);

  uint32_t Draw(uint32_t below) { return static_cast<uint32_t>(random_() % below); }
  std::string DrawName();
  std::string DrawDirectory();
  // A file of the model, "" if the drawn name is none.
  std::string DrawFile();
  std::string Full(const std::string& path) const { return directory_ + "/" + path; }
  // `otherwise` unless the path's directory is missing.
  Errc Reachable(const std::string& path, Errc otherwise) const;

  Client& client_;
  const std::string directory_, backing_;
  const std::string own_, mark_;
  const Credential credential_;
  const FaultCounts& faults_;
  const LoadTerms terms_;
  ModelTree model_;
  std::minstd_rand random_;
  std::unique_ptr<File> held_;
  std::atomic<uint64_t> strangers_{0};
  std::atomic<uint64_t> in_doubt_{0};
  int failures_ = 0;
  std::atomic<uint64_t> done_{0};
};

}  // namespace nfswalk::faults

#endif  // NFSWALK_TESTS_FAULTS_LOAD_WORKER_H_
