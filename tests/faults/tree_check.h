// tree_check: compares the client's view of a directory tree with the server's backing directory,
// and checks that a client at rest holds nothing.
#ifndef NFSWALK_TESTS_FAULTS_TREE_CHECK_H_
#define NFSWALK_TESTS_FAULTS_TREE_CHECK_H_

#include <string>

#include "nfsclient/client.h"

namespace nfswalk::faults {

// Fails the test for each difference: in names (looked up one by one, then listed), types, file
// ids, modes, owners, link counts, sizes, mtimes, ctimes, link texts and data. Returns how many
// files were compared. `when` is for messages: "from the caches".
int ExpectSameTree(Client& client, const std::string& path, const std::string& backing,
                   const std::string& when);

// Prints the attributes that reads do not change.
std::string Describe(const Attributes& attributes);

// Writes what a Close() could not.
void WriteBackAll(Client& client);
// Writes what a Close() could not, and drops the caches. Expects that no object is still
// referenced, but for the root.
void ExpectAllEvictable(Client& client);

}  // namespace nfswalk::faults

#endif  // NFSWALK_TESTS_FAULTS_TREE_CHECK_H_
