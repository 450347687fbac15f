// warm_tree: ten thousand paths in a small tree, and the expected results of each for four
// credentials: files, links, absent names, denials, components that are no directory.
//
//   open/, closed/            closed is 0750
//     d0 ... d9/              0755
//       50 names each         by their number modulo 4: 0644, 0640, 0755, a symbolic link to the
//                             one before; every tenth is too long to be inline in a dentry
//   to_open, to_closed        symbolic links
//
// All files belong to user 1000 and group 3000. Expected results are derived from the mode bits,
// not from the client.
#ifndef NFSWALK_TESTS_INTEGRATION_WARM_TREE_H_
#define NFSWALK_TESTS_INTEGRATION_WARM_TREE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "nfsclient/client.h"

namespace nfswalk {

// Results of one path for one credential.
struct WarmAnswers {
  std::errc stat{};
  std::errc lstat{};
  std::errc access{};
  std::errc readlink{};
};

struct WarmIdentity {
  Credential credential;
  bool may_enter_closed;
  bool may_read_0640;
};

struct WarmPath {
  std::string path;
  uint32_t access_mode = kMayRead;
  WarmAnswers answers;          // without a denial
  bool through_closed = false;  // EACCES for credentials that may not search it
  bool ends_at_0640 = false;    // EACCES of access() for credentials that may not read
};

class WarmTree {
 public:
  static constexpr int kDirectories = 10;

  // `backing`: an empty directory, `mounted` in the client's export. Fewer `directories` give
  // proportionally fewer paths.
  WarmTree(const std::string& backing, const std::string& mounted, int directories = kDirectories);

  const std::vector<WarmPath>& paths() const { return paths_; }
  const std::array<WarmIdentity, 4>& identities() const { return identities_; }
  // The credential that may not search `closed`.
  const WarmIdentity& unprivileged() const { return identities_.back(); }

  // Runs stat, lstat, access and readlink on one path, two of them strict and two with `cached`
  // unless `cold`; `turn` selects which. Returns how many of the four results are wrong; a `cold`
  // path's go to standard error.
  int Look(Client& client, const WarmIdentity& who, const WarmPath& target, size_t turn,
           bool cold = false) const;
  static constexpr uint64_t kCallsPerLook = 4;

  // Runs every path twice: afterwards all needed objects are cached. Returns the wrong results.
  int Warm(Client& client, const WarmIdentity& who) const;

 private:
  static void MakeBacking(const std::string& backing, int directories);
  static void Tell(const WarmIdentity& who, const WarmPath& target, const WarmAnswers& answers);
  void AddPaths(const std::string& mounted, std::string_view place, int directory, int number);

  std::vector<WarmPath> paths_;
  const std::array<WarmIdentity, 4> identities_;
};

}  // namespace nfswalk

#endif  // NFSWALK_TESTS_INTEGRATION_WARM_TREE_H_
