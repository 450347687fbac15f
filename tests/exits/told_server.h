// told_server: a server in memory that gives each identity the rights it is told to, fails what it
// is told to, and writes down what it was asked.
#ifndef NFSWALK_TESTS_EXITS_TOLD_SERVER_H_
#define NFSWALK_TESTS_EXITS_TOLD_SERVER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/fixtures/memory_server.h"

namespace nfswalk::exits {

// Thread safety: none; for one thread.
class ToldServer : public fixtures::MemoryServer {
 public:
  using Rights = std::function<uint32_t(uint64_t file, const Credential& credential)>;

  // ACCESS bits, from now on; without it everybody may do everything.
  void Grant(Rights rights) { rights_ = std::move(rights); }
  // All calls named `call` ("GETATTR", ...) fail with this from now on; errc{}: they do not.
  void Fail(std::string_view call, std::errc error) { errors_[std::string(call)] = error; }
  // No call gets through: EIO.
  void Freeze(bool frozen) { frozen_ = frozen; }
  // The next GETATTR tells of a file with this id: the server uses a handle for another file.
  void ConfuseNextGetattr(uint64_t fileid) { confused_ = fileid; }
  // Open() as of version 4.
  void OpenByName() { opens_by_name_ = true; }

  // "LOOKUP a", "GETATTR 2", "ACCESS 2", "READLINK 3", "READDIR 2", "PATH a", "OPEN a": what was
  // asked since the last time, in order. Changing calls are not written down.
  std::vector<std::string> TakeCalls() { return std::exchange(calls_, {}); }
  // The calls of those kinds since the mount, also while frozen.
  uint64_t count() const { return count_; }

  protocol::AttributesReply GetAttributes(const FileHandle& file, const Credential&) override;
  protocol::LookupReply Lookup(const FileHandle& directory, std::string_view name,
                               const Credential&) override;
  protocol::LookupPathReply LookupPath(const FileHandle& directory,
                                       std::span<const std::string_view> names,
                                       const Credential&) override;
  protocol::AccessReply Access(const FileHandle& file, const Credential&) override;
  protocol::ReadLinkReply ReadLink(const FileHandle& link, const Credential&) override;
  protocol::ReadDirReply ReadDir(const FileHandle& directory, protocol::ReadDirPosition, bool,
                                 const Credential&) override;
  protocol::OpenReply Open(const FileHandle& directory, std::string_view name,
                           const FileHandle& file, bool, bool, const Credential&) override;
  bool opens_by_name() const override { return opens_by_name_; }

 private:
  // Writes the call down; an error if it is to fail.
  std::errc Note(std::string_view call, std::string_view what);
  uint32_t RightsOf(const FileHandle& file, const Credential& credential) const;

  Rights rights_;
  std::map<std::string, std::errc, std::less<>> errors_;
  bool frozen_ = false;
  bool opens_by_name_ = false;
  std::optional<uint64_t> confused_;
  std::vector<std::string> calls_;
  uint64_t count_ = 0;
};

}  // namespace nfswalk::exits

#endif  // NFSWALK_TESTS_EXITS_TOLD_SERVER_H_
