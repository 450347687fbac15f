// doubtful_worker: a thread's worth of mixed load through faults that the test injects. After each
// call the worker knows of its names that they are there, that they are not, or that it cannot
// know, as the call may have been executed and its answer lost; what is known, every later answer
// must bear out.
//
// Thread safety: one thread per worker, which alone changes the worker's names.
#ifndef NFSWALK_TESTS_FAULTS_DOUBTFUL_WORKER_H_
#define NFSWALK_TESTS_FAULTS_DOUBTFUL_WORKER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "nfsclient/client.h"

namespace nfswalk::faults {

enum class Known : uint8_t { kAbsent, kPresent, kDoubtful };
enum class Kind : uint8_t { kFile, kDirectory, kSymlink, kLink };  // kLink: of the base file

struct OwnName {
  std::string path;
  Kind kind;
  Known known = Known::kAbsent;
  std::string history = {};  // what was answered of it, oldest first
};

// What the faults make of a call that is fine.
bool IsInjected(std::errc error);

class DoubtfulWorker {
 public:
  static constexpr int kDirectories = 3;
  static std::string DirectoryIn(const std::string& base, int i) {
    return base + "d" + std::to_string(i);
  }

  // `base`: "" or "directory/"; the directories in it exist.
  DoubtfulWorker(Client& client, const std::string& base, int number, const Credential& credential);

  // Makes the file that links are made of, without faults.
  void Begin();
  void Step();

  const std::vector<OwnName>& names() const { return names_; }
  // How many calls succeeded, and how many left a name in doubt.
  int done() const { return done_; }
  int doubtful() const { return doubtful_; }
  // What was answered that cannot be; sentences, of which the first few are kept.
  const std::vector<std::string>& contradictions() const { return contradictions_; }
  // Where an own link leads: a text of the link's own.
  static std::string TargetOf(const std::string& path) { return "nowhere/" + path; }

 private:
  void Make(OwnName& name);
  void Remove(OwnName& name);
  void Rename(OwnName& from, OwnName& to);
  void SetMode(OwnName& name);
  void Stat(OwnName& name);
  void ReadLink(OwnName& name);
  void OpenAndWrite(OwnName& name);
  void List(int directory);
  void LookAtOthers();

  // The answer says that the name is there or not there.
  void Learn(OwnName& name, bool present, std::string_view what);
  // errc{}: it was done. Else what may be known nevertheless.
  void JudgeLookup(OwnName& name, std::errc error, std::string_view what);
  void Doubt(OwnName& name);
  static void Note(OwnName& name, std::string_view call, std::errc error);
  void Contradict(const OwnName& name, std::string_view what);
  void Contradict(const std::string& path, std::string_view what);
  bool LeavesDoubt(std::errc error) const {
    return error == std::errc::timed_out || error == std::errc::io_error;
  }
  size_t Draw(size_t below) { return random_() % below; }
  OwnName& AnyName() { return names_[Draw(names_.size())]; }

  Client& client_;
  const std::string base_;
  const int number_;
  const Credential credential_;
  const std::string base_file_;
  std::vector<OwnName> names_;
  std::minstd_rand random_;
  int done_ = 0, doubtful_ = 0;
  std::vector<std::string> contradictions_;
};

}  // namespace nfswalk::faults

#endif  // NFSWALK_TESTS_FAULTS_DOUBTFUL_WORKER_H_
