// Two clients of a server that delegates files, or directories, too: what the one has changed, in
// every way that they can be changed, the other sees at once, though it keeps names and attributes
// by delegations alone.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
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

// Names, and attributes of directories, live by delegations of the directories alone.
class DelegatedDirectories : public fixtures::MountedExport {
 protected:
  void SetUp() override {
    MountedExport::SetUp();
    if (IsSkipped()) return;
    if (!server().properties().delegates_directories) GTEST_SKIP() << "it delegates none";
    reader_ = Mount("version=4.2&delegs&acregmin=0&acdirmin=0");
    writer_ = Mount("version=4.2&acregmin=0&acdirmin=0");
    while (!reader_->transport_stats().has_back_channel) std::this_thread::yield();
  }
  int version() const override { return 4; }

  std::errc StatOf(const std::string& name) {
    const auto found = reader_->Stat(Path(name), root_);
    return found ? kOk : found.error();
  }
  // Returns what it costs to ask for a name that the directory has not.
  uint64_t RpcsOfAbsent(const std::string& directory) {
    const uint64_t before = reader_->stats().rpcs;
    EXPECT_EQ(StatOf(directory + "/absent"), std::errc::no_such_file_or_directory);
    return reader_->stats().rpcs - before;
  }
  // Makes "d0" to "d<count - 1>", each with a file "f", and returns once the reader has delegations
  // of them, and of the directory that they are in: the server grants none for a while after its
  // start, and after a change.
  void MakeDelegated(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      MakeDirectory(NameOf(i));
      MakeFile(NameOf(i) + "/f", "old");
    }
    for (size_t i = 0; i < count; ++i) {
      while (RpcsOfAbsent(NameOf(i)) != 0) std::this_thread::yield();
    }
  }
  static std::string NameOf(size_t directory) { return "d" + std::to_string(directory); }
  uint64_t recalled() { return reader_->transport_stats().delegations.recalled; }

  std::unique_ptr<Client> reader_, writer_;
};

// DELEG-7.
TEST_F(DelegatedDirectories, NamesAndAttributesOfThemAreAnsweredWithoutTheServer) {
  MakeDelegated(1);
  EXPECT_EQ(StatOf("d0"), kOk);
  const uint64_t rpcs = reader_->stats().rpcs;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(StatOf("d0"), kOk);
    EXPECT_EQ(RpcsOfAbsent("d0"), 0u);
  }
  EXPECT_EQ(reader_->stats().rpcs, rpcs);
}

// DELEG-3, DELEG-7.
TEST_F(DelegatedDirectories, EachChangeOfAnotherClientIsSeenAtOnce) {
  using Change = std::function<std::errc(const std::string& directory)>;
  const auto error_of = [](const auto& done) { return done ? kOk : done.error(); };
  const struct {
    const char* what;
    Change change;
    const char* name;
    std::errc seen;
  } rows[] = {
      {"create",
       [&](const std::string& d) {
         return error_of(writer_->Create(Path(d + "/absent"), 0644, true, root_));
       },
       "/absent", kOk},
      {"mkdir",
       [&](const std::string& d) {
         return error_of(writer_->MakeDirectory(Path(d + "/absent"), 0755, root_));
       },
       "/absent", kOk},
      {"symlink",
       [&](const std::string& d) {
         return error_of(writer_->MakeSymlink("f", Path(d + "/absent"), root_));
       },
       "/absent", kOk},
      {"link",
       [&](const std::string& d) {
         return writer_->Link(Path(d + "/f"), *writer_, Path(d + "/absent"), root_);
       },
       "/absent", kOk},
      {"rename to it",
       [&](const std::string& d) {
         return writer_->Rename(Path(d + "/f"), *writer_, Path(d + "/absent"), root_);
       },
       "/absent", kOk},
      {"rename from it",
       [&](const std::string& d) {
         return writer_->Rename(Path(d + "/f"), *writer_, Path("away/moved"), root_);
       },
       "/f", std::errc::no_such_file_or_directory},
      {"remove", [&](const std::string& d) { return writer_->Unlink(Path(d + "/f"), root_); }, "/f",
       std::errc::no_such_file_or_directory},
      {"chmod",
       [&](const std::string& d) {
         return error_of(writer_->SetAttributesOf(Path(d), {.mode = 0700}, root_));
       },
       "", kOk},
  };
  MakeDirectory("away");
  MakeDelegated(std::size(rows));
  for (size_t i = 0; i < std::size(rows); ++i) {
    const auto& row = rows[i];
    SCOPED_TRACE(row.what);
    const std::string name = NameOf(i);
    EXPECT_EQ(StatOf(name + "/f"), kOk);
    const uint64_t before = recalled();
    EXPECT_EQ(row.change(name), kOk);
    EXPECT_EQ(StatOf(name + row.name), row.seen);
    EXPECT_GT(recalled(), before);
    const Attributes known = writer_->Stat(Path(name), root_).value_or(Attributes{});
    const Attributes seen = reader_->Stat(Path(name), root_).value_or(Attributes{});
    EXPECT_EQ(seen.mode, known.mode);
    EXPECT_EQ(seen.change, known.change);
  }
}

}  // namespace
}  // namespace nfswalk
