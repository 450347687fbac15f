// twin_program: a random program of system calls on a file of a mount, and the same one on a local
// file, its model. Each call has to end alike on both sides.
//
// Phases in which all operations take turns follow phases that only write and read: most others wait for
// all WRITEs, so that few are in flight beside other operations.
//
// Thread safety: one thread. The file is this program's alone.
#ifndef NFSWALK_TESTS_INTEGRATION_TWIN_PROGRAM_H_
#define NFSWALK_TESTS_INTEGRATION_TWIN_PROGRAM_H_

#include <sys/types.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/integration/program_run.h"

namespace nfswalk {

// A directory of models, in memory where the machine has a place for that. Removed at the end.
class ModelDirectory {
 public:
  ModelDirectory();
  ~ModelDirectory();
  ModelDirectory(const ModelDirectory&) = delete;
  ModelDirectory& operator=(const ModelDirectory&) = delete;
  std::string At(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

class TwinProgram {
 public:
  struct Setup {
    std::string mounted, model;  // paths, in directories for this program's files
    uint64_t seed = 0;
    // Offsets are in `window_bytes` from each of these on.
    std::vector<off_t> from = {0};
    off_t window_bytes = 1 << 20;
    size_t large_bytes = 1 << 16;  // of one call, seldom
    bool renames = true;           // the server can
    bool allocates = true;         // the server tells the space of its file system
    // The server is in this process, which munmap(2) of a changed page would keep from answering.
    bool syncs_mappings = false;
    // Returns how the file on the server's stable storage differs from the model, or "".
    std::function<std::string()> difference;
    // Runs before each operation.
    std::function<void()> between = [] {};
  };

  // Creates the file on both sides.
  explicit TwinProgram(Setup setup);
  ~TwinProgram();
  TwinProgram(const TwinProgram&) = delete;
  TwinProgram& operator=(const TwinProgram&) = delete;

  // Makes so many operations, fewer after a failure, which is told with the latest ones.
  void Run(int operations);
  // Closes all descriptors, and compares.
  void Close();

 private:
  // A descriptor of both sides. `generation`: of the file that it was opened on.
  struct Twin {
    int mounted = -1, model = -1;
    uint64_t generation = 0;
    bool appends = false;
  };
  struct Operation {
    size_t which;
    std::string_view name;
    off_t at;
    size_t bytes;
  };
  using Step = void (TwinProgram::*)();
  struct Weighed {
    Step step;
    size_t weight;
  };

  // Makes a call on both sides: `call(fd)`, as a system call returns. Returns what it returned.
  template <class Call>
  long Both(const Twin& twin, Call call) {
    const long mounted = call(twin.mounted);
    const int error = mounted < 0 ? errno : 0;
    const long model = call(twin.model);
    ExpectSame(mounted, error, model, model < 0 ? errno : 0);
    return model;
  }
  void ExpectSame(long mounted, int mounted_error, long model, int model_error) const;
  void ExpectOnServer(const Twin& twin) const;
  void Note(std::string_view operation, off_t at = 0, size_t bytes = 0);
  std::string Listed() const;

  size_t Draw(size_t limit) { return random_() % limit; }
  template <size_t size>
  Step DrawStep(const std::array<Weighed, size>& steps);
  size_t DrawBytes() { return 1 + Draw(Draw(4) == 0 ? setup_.large_bytes : 5'000); }
  off_t DrawOffset();
  std::string DrawText(size_t bytes);
  off_t Size() const;
  Twin& Any();

  void OpenTwin(size_t which, int flags);
  void CloseTwin(Twin& twin);
  void WriteAt(off_t at, size_t bytes);
  void ReadAt(off_t at, size_t bytes);
  // Copies `text` into a mapping of both sides, or expects the same bytes in both if it is empty.
  // Preconditions: the range is in the file.
  void Map(off_t at, size_t bytes, const std::string& text);

  // Steps.
  void Write();
  void WriteOn();
  void Patch();
  void Append();
  void Read();
  void ReadOn();
  void MapWrite();
  void MapRead();
  void Truncate();
  void TruncateByName();
  void Allocate();
  void PunchHole();
  void Sync();
  void SyncData();
  void Reopen();
  void OpenAnew();
  void Replace();
  void SeekEnd();
  void Stat();
  void Copy();

  const Setup setup_;
  std::mt19937_64 random_;
  std::array<Twin, 3> twins_;
  uint64_t generation_ = 0;
  size_t which_ = 0;                  // the latest of twins_
  std::deque<Operation> operations_;  // the latest
  const Descriptor scratch_{MemoryFile()};
};

}  // namespace nfswalk

#endif  // NFSWALK_TESTS_INTEGRATION_TWIN_PROGRAM_H_
