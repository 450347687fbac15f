// write_model: one script of steps, by the real client of a scripted server, with what must hold
// after each of them (P1 to P7 of write_model_test.cc).
//
// Thread safety: none.
#ifndef NFSWALK_TESTS_UNIT_NFSCLIENT_DATA_WRITE_MODEL_H_
#define NFSWALK_TESTS_UNIT_NFSCLIENT_DATA_WRITE_MODEL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nfsclient/client.h"
#include "tests/fixtures/memory_server.h"
#include "tests/unit/nfsclient/data/scripted_server.h"
#include "tests/unit/nfsclient/data/write_expectations.h"

namespace nfswalk::data {

struct Step {
  enum class Kind {
    kWriteA,       // [at, at + size)
    kWriteB,       // by another open file and credential
    kSyncA,        // ends where it has to wait
    kSyncThrough,  // is answered what it waits for
    kCut,          // to the size `at`; ends where it has to wait
    kCutThrough,
    kStat,
    kStatThrough,
    kRead,
    kReadBegin,  // a READ that is executed at once, and answered by kReadEnd
    kReadSend,   // a READ that is executed and answered by kReadEnd
    kReadEnd,
    kOpen,
    kExecute,  // the call in flight of the index `at`
    kAnswer,   // the same, as `how` has it, or was executed
    kRestart,
    kOverwrite,  // by another client, the byte 0
    kAppend,     // by another client, one byte
  };
  Kind kind;
  size_t at = 0, size = 0;
  ScriptedServer::How how = ScriptedServer::How::kPlain;

  friend bool operator==(const Step&, const Step&) = default;
};
using Script = std::vector<Step>;
std::string TextOf(const Script& script);

// The alphabet and its world.
struct Theme {
  const char* name;
  size_t initial_bytes;
  std::vector<Step> steps;                   // that are not answers
  std::vector<ScriptedServer::How> answers;  // to WRITEs; those that fit to others
  bool executes_early;                       // kExecute
  size_t depth, nightly_depth;
};

// A mount, for many scripts.
class ModelMount {
 public:
  ModelMount();

  fixtures::MemoryServer* memory;
  ScriptedServer* server;
  std::unique_ptr<Client> client;
  size_t files = 0;
};

class WriteModel {
 public:
  // `sends_before`: whether replies have pre-op attributes. `mount` outlives it.
  WriteModel(ModelMount& mount, const Theme& theme, bool sends_before);
  ~WriteModel();
  WriteModel(const WriteModel&) = delete;
  WriteModel& operator=(const WriteModel&) = delete;

  // Returns the steps that may follow. To be called once.
  std::vector<Step> Run(const Script& script);
  const std::string& violation() const { return expectations_.violation(); }

 private:
  using Kind = Step::Kind;
  struct Opened {
    std::unique_ptr<File> file;
    bool is_owed = false;  // an error that it was not told
  };

  // Until the end of the script, or of the read in progress.
  void RunSteps();
  void RunStep(const Step& step);
  void RunClientStep(const Step& step);
  void Write(Opened& by, const Step& step);
  std::errc Sync(Opened& by);
  void Cut(size_t size);
  void Stat();
  void Read(Kind how);
  void Open();
  void NoteRefusal();
  // Executes all calls in flight, the newest first, and then lets the client end its work.
  void End();
  void CheckClean();
  void CollectNext();
  void CollectAnswers();
  bool CanFollow(const Step& step) const;
  std::byte NewValue() { return static_cast<std::byte>(++last_value_); }

  ModelMount& mount_;
  ScriptedServer& server_;
  const Theme& theme_;
  uint8_t last_value_ = 0;
  WriteExpectations expectations_;
  std::string path_;
  Opened a_, b_;
  bool is_changed_since_open_ = false;  // by another client

  const Script* script_ = nullptr;
  size_t at_ = 0;
  bool is_reading_ = false, is_read_ended_ = false, is_redundant_ = false;
  std::optional<std::vector<Step>> next_;
};

}  // namespace nfswalk::data

#endif  // NFSWALK_TESTS_UNIT_NFSCLIENT_DATA_WRITE_MODEL_H_
