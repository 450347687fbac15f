// file_state: what an open file holds on to: its contents, and how it was opened.
#ifndef NFSWALK_NFSCLIENT_API_FILE_STATE_H_
#define NFSWALK_NFSCLIENT_API_FILE_STATE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "nfsclient/client.h"
#include "nfsclient/data/file_data.h"
#include "nfsclient/superblock/superblock.h"

namespace nfswalk {

// Whether a file can be opened with these: kMayRead, kMayWrite, and kTruncate only with kMayWrite.
constexpr bool AreOpenRights(uint32_t rights) {
  const uint32_t needed = rights & ~kTruncate;
  return needed != 0 && (needed & ~(kMayRead | kMayWrite)) == 0 &&
         (needed == rights || (needed & kMayWrite) != 0);
}

struct File::State : data::FileData {
  State(nfs::OpenContext context, nfs::Superblock& of, uint32_t opened_with, bool unchanged)
      : data::FileData(std::move(context), of), rights(opened_with), is_unchanged(unchanged) {}

  const uint32_t rights;  // kMayRead, kMayWrite
  const bool is_unchanged;

  // The memory of the File, so that an open allocates once.
  alignas(File) std::array<std::byte, sizeof(File)> file;
};

}  // namespace nfswalk

#endif  // NFSWALK_NFSCLIENT_API_FILE_STATE_H_
