// object_pool: type-stable memory for one type, which RCU readers may follow pointers into.
#ifndef NFSWALK_RCU_OBJECT_POOL_H_
#define NFSWALK_RCU_OBJECT_POOL_H_

#include <cstddef>
#include <memory>

#include "rcu/slab_pool.h"

namespace nfswalk::rcu {

// Thread safety: all functions but the destructor, whose preconditions are SlabPool's.
template <class T>
class ObjectPool {
 public:
  // `trailer_bytes`: left behind each object for its owner, zero at first.
  explicit ObjectPool(size_t trailer_bytes = 0)
      : slabs_(
            {.object_bytes = (sizeof(T) + trailer_bytes + alignof(T) - 1) / alignof(T) * alignof(T),
             .alignment = alignof(T),
             .construct = [](void* object) { ::new (object) T; },
             .destroy = [](void* object) { std::destroy_at(static_cast<T*>(object)); }}) {
    static_assert(sizeof(T) <= SlabPool::kMaxObjectBytes);
  }

  // The caller owns the object until it frees it. It was default-constructed when its slab was
  // made; now it is as its last user left it. nullptr if there is no memory.
  T* Allocate() { return static_cast<T*>(slabs_.Allocate()); }

  // At once, for objects no reader ever saw, or whose readers cope with reuse.
  void Free(T* object) { SlabPool::Free(object); }

  // Once no reader can hold it any more.
  void FreeDeferred(T* object) { SlabPool::FreeDeferred(object); }

  // Hands memory without a live object back to the system, after a grace period.
  void Trim() { slabs_.Trim(); }

  // Objects allocated and not freed; one on its way through FreeDeferred() counts.
  size_t live() const { return slabs_.live(); }
  size_t capacity_bytes() const { return slabs_.capacity_bytes(); }

 private:
  SlabPool slabs_;
};

}  // namespace nfswalk::rcu

#endif  // NFSWALK_RCU_OBJECT_POOL_H_
