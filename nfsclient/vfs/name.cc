#include "nfsclient/vfs/name.h"

#include <random>

namespace nfswalk::vfs {

namespace {
uint64_t DrawSeed() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}
}  // namespace

const uint64_t hash_seed = DrawSeed();

}  // namespace nfswalk::vfs
