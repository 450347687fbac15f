// mount_pair: two mounts of one export, which are two clients of its server.
#ifndef NFSWALK_TESTS_INTEGRATION_MOUNT_PAIR_H_
#define NFSWALK_TESTS_INTEGRATION_MOUNT_PAIR_H_

#include <sys/types.h>

#include <string>

#include "tests/integration/mount_run.h"

namespace nfswalk {

class MountPair : public MountRun {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Mounts both with these options.
  void MountBoth(const std::string& options = "");
  // The other one, of a source of the test.
  void MountOther(const std::string& source, const std::string& options);
  void UnmountOther();

  // A path on the other mount.
  std::string Other(const std::string& name) const { return other_point_ + "/" + name; }
  const std::string& other_point() const { return other_point_; }

 private:
  std::string other_point_;
  pid_t other_ = -1;
};

}  // namespace nfswalk

#endif  // NFSWALK_TESTS_INTEGRATION_MOUNT_PAIR_H_
