// differential_export: a real nfs-ganesha, and the kernel to compare with.
#ifndef NFSWALK_TESTS_DIFFERENTIAL_DIFFERENTIAL_EXPORT_H_
#define NFSWALK_TESTS_DIFFERENTIAL_DIFFERENTIAL_EXPORT_H_

#include <gtest/gtest.h>
#include <time.h>

#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nfsclient/client.h"
#include "tests/differential/backing_tree.h"
#include "tests/differential/comparison.h"
#include "tests/differential/identities.h"
#include "tests/fixtures/nfs_server.h"

namespace nfswalk::differential {

inline constexpr const char* kWalkModes[] = {"ref", "rcu-locked", "rcu-peek", "rcu-search"};

// Starts a server for each test, whose export is an empty directory.
class DifferentialExport : public testing::Test {
 protected:
  // Options of the server.
  virtual bool root_squash() const { return false; }
  virtual bool caches_names() const { return true; }

  void SetUp() override {
    auto started =
        fixtures::NfsServer::Start({.root_squash = root_squash(), .caches_names = caches_names()});
    if (!started) GTEST_SKIP() << started.error();
    server_ = std::move(*started);
    tree_ = std::make_unique<BackingTree>(server_->backing_directory());
    const fixtures::NfsServer::Properties& properties = server_->properties();
    const Squash squash = !root_squash()                   ? Squash::kNone
                          : properties.squash_drops_groups ? Squash::kIdsAndGroups
                                                           : Squash::kIds;
    comparison_ = std::make_unique<Comparison>(server_->backing_directory(), squash,
                                               properties.write_needs_search, identities_);
  }

  // Mounts with the option protected_symlinks as fs.protected_symlinks of the kernel that is asked.
  std::unique_ptr<Client> Mount(int version, std::string_view options) const {
    fixtures::NfsServer::NetworkScope scope(*server_);
    auto parsed = *ParseMountUrl(server_->Url(options, version));
    std::ifstream("/proc/sys/fs/protected_symlinks") >> parsed.protected_symlinks;
    auto client = Client::Mount(parsed);
    if (client) return std::move(*client);
    ADD_FAILURE() << client.error().message;
    return nullptr;
  }

  // Waits for the clock that stamps files, which advances every few milliseconds: on older kernels
  // two changes within one tick are not distinguished.
  static void AwaitClockTick() {
    timespec then, now;
    clock_gettime(CLOCK_REALTIME_COARSE, &then);
    do {
      clock_gettime(CLOCK_REALTIME_COARSE, &now);
    } while (now.tv_sec == then.tv_sec && now.tv_nsec == then.tv_nsec);
  }

  std::vector<AnsweredQuestion> AskKernel(const std::vector<Question>& questions) {
    std::vector<AnsweredQuestion> answered;
    for (const Question& question : questions) {
      answered.push_back(comparison_->AskKernel(question));
    }
    return answered;
  }
  void Check(Client& client, const std::vector<AnsweredQuestion>& answered,
             std::string_view situation) {
    for (const AnsweredQuestion& one : answered) comparison_->Check(client, one, situation);
  }

  void ExpectNoDifferences() const {
    if (std::string text = comparison_->Differences(); !text.empty()) ADD_FAILURE() << text;
  }

  const std::vector<Identity> identities_ = AllIdentities();
  std::unique_ptr<fixtures::NfsServer> server_;
  std::unique_ptr<BackingTree> tree_;
  std::unique_ptr<Comparison> comparison_;
};

}  // namespace nfswalk::differential

#endif  // NFSWALK_TESTS_DIFFERENTIAL_DIFFERENTIAL_EXPORT_H_
