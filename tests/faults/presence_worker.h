// presence_worker: one thread of mixed load through injected faults. It tracks for each of its
// names whether it exists; that is unknown after a call whose outcome is unknown (timed_out, EIO:
// executed or not). Later results must agree with what is known.
//
// Thread safety: one thread per worker; no other changes the worker's names.
#ifndef NFSWALK_TESTS_FAULTS_PRESENCE_WORKER_H_
#define NFSWALK_TESTS_FAULTS_PRESENCE_WORKER_H_

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

enum class Presence : uint8_t { kAbsent, kPresent, kUnknown };
enum class Kind : uint8_t { kFile, kDirectory, kSymlink, kLink };  // kLink: of the base file

struct OwnName {
  std::string path;
  Kind kind;
  Presence presence = Presence::kAbsent;
  std::string history = {};  // results of calls, oldest first
};

// True for an error that the injected faults may cause.
bool IsInjected(std::errc error);

class PresenceWorker {
 public:
  static constexpr int kDirectories = 3;
  static std::string DirectoryIn(const std::string& base, int i) {
    return base + "d" + std::to_string(i);
  }

  // `base`: "" or "directory/"; the directories in it exist.
  PresenceWorker(Client& client, const std::string& base, int number, const Credential& credential);

  // Makes the file that links lead to, without faults.
  void Begin();
  void Step();

  const std::vector<OwnName>& names() const { return names_; }
  // The numbers of calls that succeeded, and that left the state of a name unknown.
  int done() const { return done_; }
  int unknown_outcomes() const { return unknown_outcomes_; }
  // Impossible results, as messages; the first few are kept.
  const std::vector<std::string>& contradictions() const { return contradictions_; }
  // Returns the text of an own link: one for each path.
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
  void StatOthers();

  // Records a result that shows the name present or absent.
  void Observe(OwnName& name, bool present, std::string_view what);
  // Checks the result of a call that looks `name` up, and updates its state. errc{}: success.
  void CheckLookup(OwnName& name, std::errc error, std::string_view what);
  void SetUnknown(OwnName& name);
  static void Note(OwnName& name, std::string_view call, std::errc error);
  void Contradict(const OwnName& name, std::string_view what);
  void Contradict(const std::string& path, std::string_view what);
  bool OutcomeUnknown(std::errc error) const {
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
  int done_ = 0, unknown_outcomes_ = 0;
  std::vector<std::string> contradictions_;
};

}  // namespace nfswalk::faults

#endif  // NFSWALK_TESTS_FAULTS_PRESENCE_WORKER_H_
