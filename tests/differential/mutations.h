// mutations: random changes of a small tree behind the export.
//
// The tree has few names, so that names change their type often, a file becomes a directory, a
// directory a link, and both sides of a rename exist.
//
// Thread safety: one thread at a time.
#ifndef NFSWALK_TESTS_DIFFERENTIAL_MUTATIONS_H_
#define NFSWALK_TESTS_DIFFERENTIAL_MUTATIONS_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

#include "tests/differential/backing_tree.h"

namespace nfswalk::differential {

class Mutations {
 public:
  // Makes a full tree below the export's root.
  Mutations(BackingTree& tree, uint64_t seed);

  // Makes one random change, which may fail: a directory cannot be moved into itself.
  void Mutate();
  // Returns a path of one to four of the tree's names, with dots and slashes in between. Most do
  // not exist.
  std::string SomePath();

  // The number of changes made.
  size_t done() const { return done_; }

 private:
  bool IsDirectory(const std::string& path) const;
  std::string SomeDirectory();
  std::string SomeName();  // a name in an existing directory
  void Make(const std::string& path);
  void Remove(const std::string& path);
  void SetMode(const std::string& path);
  void SetOwner(const std::string& path);
  void Rename(unsigned flags);
  void Replace();
  void Write(const std::string& path);
  void Count(int result) { done_ += result == 0 ? 1 : 0; }

  BackingTree& tree_;
  std::mt19937_64 random_;
  size_t done_ = 0;
};

}  // namespace nfswalk::differential

#endif  // NFSWALK_TESTS_DIFFERENTIAL_MUTATIONS_H_
