// hostile_trees: trees that a server may offer, by the protocol or against it, beside good replies.
#ifndef NFSWALK_TESTS_HOSTILE_HOSTILE_TREES_H_
#define NFSWALK_TESTS_HOSTILE_HOSTILE_TREES_H_

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "tests/fixtures/fake_tree.h"

namespace nfswalk::hostile {

// The directory of the root that has what is hostile.
inline constexpr char kTreeDirectory[] = "t";

struct HostileTree {
  std::string title;
  // An entry of kTreeDirectory.
  std::string name;
  // Adds to kTreeDirectory, which is there.
  std::function<void(protocol::FakeTreeServer&)> plant;
  // A listing reports it, since no name or type of file is such.
  bool is_refused = false;
  // Data without an end: what reads them ends by an error or by the interrupt of its user.
  bool is_endless = false;
  // The attack of this name on all listings (nfs3_attacks.cc, nfs4_attacks.cc), if any.
  std::string listings = {};
};
// For Google Test.
inline void PrintTo(const HostileTree& tree, std::ostream* out) { *out << tree.title; }

std::vector<HostileTree> HostileTrees();

}  // namespace nfswalk::hostile

#endif  // NFSWALK_TESTS_HOSTILE_HOSTILE_TREES_H_
