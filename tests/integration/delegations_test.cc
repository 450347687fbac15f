// Two clients of a server that delegates files: what the one has changed, in every way that a file
// can be changed, the other sees at once, though it keeps attributes by delegations alone.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "nfsclient/client.h"
#include "tests/fixtures/file_data.h"
#include "tests/fixtures/mounted_export.h"

namespace nfswalk {
namespace {

class DelegationsOfServer : public fixtures::MountedExport {
 protected:
  void SetUp() override {
    MountedExport::SetUp();
    if (IsSkipped()) return;
    if (!server().properties().delegates) GTEST_SKIP() << "it grants no delegations";
    reader_ = Mount("version=4.2&delegs&nodirdelegs&acregmin=0&acdirmin=0");
    writer_ = Mount("version=4.2&acregmin=0&acdirmin=0");
    while (!reader_->transport_stats().has_back_channel) std::this_thread::yield();
  }
  int version() const override { return 4; }

  std::unique_ptr<File> Open(Client& client, const std::string& name, uint32_t mode) {
    auto file = client.Open(Path(name), mode, root_);
    EXPECT_TRUE(file.has_value()) << name;
    return file ? std::move(*file) : nullptr;
  }
  std::string ReadNow(const std::string& name) {
    return fixtures::ReadPart(*Open(*reader_, name, kMayRead), 0, 100);
  }
  void WriteNow(const std::string& name, const std::string& text) {
    const auto file = Open(*writer_, name, kMayWrite);
    EXPECT_EQ(file->PWrite(fixtures::BytesOf(text), 0), text.size());
    EXPECT_EQ(file->Close(), kOk);
  }
  // Makes a file that the reader has a delegation of, and returns its name. The server grants none
  // for a while after its start.
  std::string MakeDelegated() {
    for (;;) {
      const std::string name = "f" + std::to_string(++files_);
      MakeFile(name, "old");
      const uint64_t granted = stats().granted;
      EXPECT_EQ(ReadNow(name), "old");
      if (stats().granted != granted) return name;
    }
  }
  protocol::DelegationStats stats() { return reader_->transport_stats().delegations; }

  std::unique_ptr<Client> reader_, writer_;
  int files_ = 0;
};

// DELEG-1, DELEG-2.
TEST_F(DelegationsOfServer, DelegatedFilesAreReadWithoutTheServer) {
  const std::string name = MakeDelegated();
  const auto file = Open(*reader_, name, kMayRead);
  const auto node = std::move(*reader_->Resolve(Path(name), root_));
  const uint64_t rpcs = reader_->stats().rpcs;
  for (int i = 0; i < 100; ++i) {
    EXPECT_NE(std::move(*node->Open("", kMayRead, root_)), nullptr);
    EXPECT_TRUE(node->Stat("", root_).has_value());
  }
  EXPECT_EQ(reader_->stats().rpcs, rpcs);
}

// DELEG-3.
TEST_F(DelegationsOfServer, EachChangeOfAnotherClientIsSeenAtOnce) {
  using Changes = std::function<void(const std::string&)>;
  const std::pair<const char*, Changes> changes[] = {
      {"write", [&](const std::string& name) { WriteNow(name, "new!"); }},
      {"truncate",
       [&](const std::string& name) {
         EXPECT_TRUE(writer_->SetAttributesOf(Path(name), {.size_bytes = 1}, root_));
       }},
      {"chmod",
       [&](const std::string& name) {
         EXPECT_TRUE(writer_->SetAttributesOf(Path(name), {.mode = 0700}, root_));
       }},
      {"link",
       [&](const std::string& name) {
         EXPECT_EQ(writer_->Link(Path(name), *writer_, Path(name + ".2"), root_), kOk);
       }},
      {"replace",
       [&](const std::string& name) {
         MakeFile("other", "replaced");
         EXPECT_EQ(writer_->Rename(Path("other"), *writer_, Path(name), root_), kOk);
       }},
      {"remove and make",
       [&](const std::string& name) {
         EXPECT_EQ(writer_->Unlink(Path(name), root_), kOk);
         MakeFile(name, "made anew");
       }},
  };
  for (const auto& [what, change] : changes) {
    SCOPED_TRACE(what);
    for (const bool is_open : {false, true}) {
      SCOPED_TRACE(is_open);
      const std::string name = MakeDelegated();
      const auto file = is_open ? Open(*reader_, name, kMayRead) : nullptr;
      const uint64_t recalled = stats().recalled;
      change(name);
      const Attributes known = writer_->Stat(Path(name), root_).value_or(Attributes{});
      const Attributes seen = reader_->Stat(Path(name), root_).value_or(Attributes{});
      EXPECT_EQ(seen.size_bytes, known.size_bytes);
      EXPECT_EQ(seen.mode, known.mode);
      EXPECT_EQ(seen.nlink, known.nlink);
      EXPECT_EQ(seen.fileid, known.fileid);
      EXPECT_EQ(ReadNow(name), fixtures::ReadPart(*Open(*writer_, name, kMayRead), 0, 100));
      EXPECT_EQ(stats().recalled, recalled + 1);
    }
  }
}

TEST_F(DelegationsOfServer, AFileThatIsReadWhileItIsChangedIsNeverOlderThanAChangeBefore) {
  const std::string name = MakeDelegated();
  constexpr int kChanges = 50;
  std::atomic<int> written = 0;
  std::thread writes([&] {
    for (int i = 1; i <= kChanges; ++i) {
      WriteNow(name, std::string(static_cast<size_t>(3 + i), 'x'));
      written.store(i);
    }
  });
  while (written.load() < kChanges) {
    const int before = written.load();
    const Attributes seen = reader_->Stat(Path(name), root_).value_or(Attributes{});
    EXPECT_GE(seen.size_bytes, static_cast<uint64_t>(3 + before));
    EXPECT_GE(ReadNow(name).size(), static_cast<size_t>(3 + before));
  }
  writes.join();
}

}  // namespace
}  // namespace nfswalk
