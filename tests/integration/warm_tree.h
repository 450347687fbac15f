// warm_tree: ten thousand ways through a small tree, and what each of four identities may expect at
// the end of each: files, links, absences, denials, things that are no directory.
//
//   open/, closed/            closed is 0750
//     d0 ... d9/              0755
//       50 names each         by their number modulo 4: 0644, 0640, 0755, a symbolic link to the
//                             one before; every tenth is longer than a dentry has room for
//   to_open, to_closed        symbolic links
//
// All belong to user 1000 and group 3000. What may be expected is written down from the permission
// bits, not taken from the client.
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

// What a tree says to one identity at the end of one way.
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

struct WarmWay {
  std::string path;
  uint32_t access_mode = kMayRead;
  WarmAnswers answers;          // of those who may come to its end
  bool through_closed = false;  // EACCES to those who may not enter
  bool ends_at_0640 = false;    // EACCES to those who may not read, but only to access
};

class WarmTree {
 public:
  static constexpr int kDirectories = 10;

  // `backing`: an empty directory, which the client knows as `mounted`. With fewer `directories`
  // there are as many fewer ways.
  WarmTree(const std::string& backing, const std::string& mounted, int directories = kDirectories);

  const std::vector<WarmWay>& ways() const { return ways_; }
  const std::array<WarmIdentity, 4>& identities() const { return identities_; }
  // The one that `closed` is closed to.
  const WarmIdentity& stranger() const { return identities_.back(); }

  // Stat, lstat, access and readlink of one way, two of them strict and two with `cached` unless
  // `cold`; `turn` says which. How many of the four answers are not those of the tree.
  int Look(Client& client, const WarmIdentity& who, const WarmWay& way, size_t turn,
           bool cold = false) const;
  static constexpr uint64_t kCallsPerLook = 4;

  // Looks at all ways, until nothing is left to ask of the server.
  int Warm(Client& client, const WarmIdentity& who) const;

 private:
  static void MakeBacking(const std::string& backing, int directories);
  void AddWays(const std::string& mounted, std::string_view place, int directory, int number);

  std::vector<WarmWay> ways_;
  const std::array<WarmIdentity, 4> identities_;
};

}  // namespace nfswalk

#endif  // NFSWALK_TESTS_INTEGRATION_WARM_TREE_H_
