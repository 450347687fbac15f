// hash_link: the two words by which an object hangs in a HashTable or in an LfhtTable.
#ifndef NFSWALK_RCU_HASH_LINK_H_
#define NFSWALK_RCU_HASH_LINK_H_

#include <atomic>

#include "rcu/read_guard.h"
// Wants the flavour's header first.
#include <urcu/rculfhash.h>

namespace nfswalk::rcu {

// Which member is in use is a matter of the table the object is in; never both at once.
template <class Node>
union HashLink {
  HashLink() : next(nullptr) {}

  std::atomic<Node*> next;  // HashTable
  cds_lfht_node lfht_node;  // LfhtTable
};
static_assert(sizeof(HashLink<int>) == 16);

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_HASH_LINK_H_
