// scripted_server: a server in memory that answers as version 3 or 4 does, and errs where a test
// wants it to.
#ifndef NFSWALK_TESTS_KNOWN_BUGS_SCRIPTED_SERVER_H_
#define NFSWALK_TESTS_KNOWN_BUGS_SCRIPTED_SERVER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "tests/fixtures/memory_server.h"

namespace nfswalk {

// Thread safety: as MemoryServer, and all functions but OpensByName() and StepByStep().
class ScriptedServer : public fixtures::MemoryServer {
 public:
  // Version 4: whole paths, change info that is atomic.
  explicit ScriptedServer(int version);

  // --- set before the first call of a client ---
  // Open() is told the name, as in version 4.
  void OpensByName() { opens_by_name_ = true; }
  // A whole path is resolved operation by operation, each of which OnReply() hears of under the
  // name of the call that it is alone.
  void StepByStep() { step_by_step_ = true; }

  // --- at any time ---
  // Who may do what with a file from now on: protocol bits, the same for all.
  void Grant(uint64_t file, uint32_t rights);
  // Answers to `call` have this error from now on; errc{} heals.
  void Fail(std::string_view call, std::errc error);
  // Answers to `call` come without attributes from now on, as version 3 allows.
  void LeaveOutAttributes(std::string_view call);
  // How often a name was asked for, alone or in a path.
  int Asked(std::string_view name) const;
  int Calls(std::string_view call) const;

  protocol::AttributesReply GetAttributes(const FileHandle& file, const Credential&) override;
  protocol::LookupReply Lookup(const FileHandle& directory, std::string_view name,
                               const Credential&) override;
  protocol::LookupPathReply LookupPath(const FileHandle& directory,
                                       std::span<const std::string_view> names,
                                       const Credential&) override;
  protocol::AccessReply Access(const FileHandle& file, const Credential&) override;
  protocol::ReadDirReply ReadDir(const FileHandle& directory, protocol::ReadDirPosition, bool,
                                 const Credential&) override;
  protocol::OpenReply Open(const FileHandle& directory, std::string_view name,
                           const FileHandle& file, bool read, bool write,
                           const Credential&) override;
  bool opens_by_name() const override { return opens_by_name_; }

 private:
  // What is scripted for a call, as it is when the server answers.
  struct Script {
    std::errc error{};
    bool no_attributes = false;
  };
  Script ScriptOf(std::string_view call);
  uint32_t RightsTo(const FileHandle& file) const;
  protocol::LookupPathReply LookupSteps(const FileHandle& directory,
                                        std::span<const std::string_view> names, const Credential&);

  bool opens_by_name_ = false;
  bool step_by_step_ = false;
  mutable std::mutex script_mutex_;
  std::map<uint64_t, uint32_t> rights_;
  std::map<std::string, std::errc, std::less<>> errors_;
  std::set<std::string, std::less<>> without_attributes_;
  std::map<std::string, int, std::less<>> asked_, calls_;
};

}  // namespace nfswalk

#endif  // NFSWALK_TESTS_KNOWN_BUGS_SCRIPTED_SERVER_H_
