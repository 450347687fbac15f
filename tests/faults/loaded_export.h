// loaded_export: an export under mixed load, and the checks after load and faults have ended.
#ifndef NFSWALK_TESTS_FAULTS_LOADED_EXPORT_H_
#define NFSWALK_TESTS_FAULTS_LOADED_EXPORT_H_

#include <gtest/gtest.h>

#include <string>

#include "tests/faults/mixed_load.h"
#include "tests/faults/tree_check.h"
#include "tests/fixtures/mounted_export.h"

namespace nfswalk::faults {

class LoadedExport : public fixtures::VersionedExport {
 protected:
  std::string LoadPath() const { return Path("load"); }
  std::string LoadBacking() const { return Backing("load"); }

  void SetUp() override {
    VersionedExport::SetUp();
    if (IsSkipped()) return;
    MakeDirectory("load");
    std::filesystem::permissions(LoadBacking(), std::filesystem::perms::all);
  }

  // Expects the client's results to be the server's: from its caches, after InvalidateCaches() and
  // with empty caches; and that no object is still referenced.
  void ExpectAgreementAndNothingHeld(Client& client, MixedLoad& load) {
    load.ExpectModels();
    EXPECT_GT(ExpectSameTree(client, LoadPath(), LoadBacking(), "from the caches"), 20);
    client.InvalidateCaches();
    ExpectSameTree(client, LoadPath(), LoadBacking(), "after InvalidateCaches()");
    client.DropCaches();
    ExpectSameTree(client, LoadPath(), LoadBacking(), "after DropCaches()");
    ExpectAllEvictable(client);
  }
};

}  // namespace nfswalk::faults

#endif  // NFSWALK_TESTS_FAULTS_LOADED_EXPORT_H_
