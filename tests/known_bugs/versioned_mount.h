// versioned_mount: a mount in memory that behaves as version 3 or 4 does.
#ifndef NFSWALK_TESTS_KNOWN_BUGS_VERSIONED_MOUNT_H_
#define NFSWALK_TESTS_KNOWN_BUGS_VERSIONED_MOUNT_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/fixtures/memory_mount.h"
#include "tests/fixtures/protocol_versions.h"

namespace nfswalk {

class VersionedMount : public MemoryMount, public testing::WithParamInterface<int> {
 protected:
  VersionedMount() { Prepare(); }

  void NewServer() {
    MemoryMount::NewServer();
    Prepare();
  }
  // Another client changes "d", and the client notices: all its names need revalidation. Its rights
  // are cached anew, so that a name costs one LOOKUP and nothing else.
  void InvalidateNames() {
    server_->Add(directory_, "other" + std::to_string(++others_), FileType::kRegular);
    Notice("d");
    for (const Credential& who : {me_, another_}) {
      EXPECT_EQ(client_->Access("d", kMayRead, who), std::errc{});
    }
  }
  uint64_t directory_ = 0, file_ = 0;  // "d" and "d/f"

 private:
  void Prepare() {
    if (GetParam() == 4) {
      server_->AnswerWholePaths();
      server_->AnswerChangeInfo(true);
    }
    directory_ = server_->Add(kRoot, "d", FileType::kDirectory);
    file_ = server_->Add(directory_, "f", FileType::kRegular);
  }

  int others_ = 0;
};

}  // namespace nfswalk

#endif  // NFSWALK_TESTS_KNOWN_BUGS_VERSIONED_MOUNT_H_
