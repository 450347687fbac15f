// hash_link: the hook of an object in a HashTable or an LfhtTable.
#ifndef NFSWALK_RCU_HASH_LINK_H_
#define NFSWALK_RCU_HASH_LINK_H_

#include <atomic>

#include "rcu/read_guard.h"
// Needs the flavour's header before it.
#include <urcu/rculfhash.h>

namespace nfswalk::rcu {

// The table that holds the object determines the member in use.
template <class Node>
union HashLink {
  HashLink() : next(nullptr) {}

  std::atomic<Node*> next;  // HashTable
  cds_lfht_node lfht_node;  // LfhtTable
};
static_assert(sizeof(HashLink<int>) == 16);

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_HASH_LINK_H_
