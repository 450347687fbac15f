// A real server that is killed, stopped and restarted, and servers that are not the expected one.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/fixtures/cutting_proxy.h"
#include "tests/fixtures/protocol_session.h"

namespace nfswalk::protocol {
namespace {

class ProtocolFaults : public ProtocolSession {
 protected:
  // Connects to the server, which listens before it is registered with the portmapper.
  Connected ConnectWithoutPorts(const TransportOptions& options) {
    ServerAddress address = Address();
    address.nfs_port = address.mount_port = 0;
    for (;;) {
      Connected connected = Connect(address, options);
      if (connected || connected.error().error != std::errc::protocol_not_supported) {
        return connected;
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Versions, ProtocolFaults, fixtures::AllVersions(),
                         fixtures::VersionTestName);

const Credential kUser(1234, 1234);
const TransportOptions kSoft{
    .nconnect = 1, .hard = false, .timeo_ds = 2, .retrans = 1, .mount_timeout_ms = 10'000};

// Creates, renames and removes every name exactly once, and checks each call. Returns the errors.
int ErrorsOfOneWorker(Protocol& nfs, const FileHandle& root, int worker,
                      const std::atomic<bool>& stop, std::atomic<int>& rounds) {
  int errors = 0;
  const auto check = [&](const char* call, std::errc error) {
    if (error == kOk) return;
    ++errors;
    ADD_FAILURE() << call << ": " << std::make_error_code(error).message();
  };
  for (int i = 0; !stop; ++i) {
    const std::string name = std::to_string(worker) + "." + std::to_string(i);
    const std::string moved = name + ".moved";
    // A server killed between creating the file and storing the verifier cannot recognise the
    // retry: the exclusive create returns EEXIST. The file exists either way.
    const std::errc created =
        nfs.Create(root, name, CreateMode::kGuarded, {.mode = 0600}, kUser).error;
    if (created != std::errc::file_exists) check("Create", created);
    check("Rename", nfs.Rename(root, name, root, moved, {}, kUser).error);
    check("Lookup", nfs.Lookup(root, moved, kUser).error);
    check("Remove", nfs.Remove(root, moved, {}, kUser).error);
    // Nothing shows that the directory is the first execution's.
    const std::errc made = nfs.MakeDirectory(root, name, {.mode = 0700}, kUser).error;
    if (made != std::errc::file_exists) check("MakeDirectory", made);
    check("RemoveDirectory", nfs.RemoveDirectory(root, name, {}, kUser).error);
    check("GetAttributes", nfs.GetAttributes(root, kUser).error);
    ++rounds;
  }
  return errors;
}

TEST_P(ProtocolFaults, AHardMountSurvivesRestartsUnderLoad) {
  constexpr int kWorkers = 4;
  constexpr int kRestarts = 5;
  const auto hard = MustConnect({.nconnect = 2});
  ASSERT_NE(hard, nullptr);
  std::atomic<bool> stop = false;
  std::atomic<int> rounds = 0;
  std::atomic<int> errors = 0;
  {
    std::vector<std::jthread> workers;
    for (int w = 0; w < kWorkers; ++w) {
      workers.emplace_back([&, w] { errors += ErrorsOfOneWorker(*hard, root(), w, stop, rounds); });
    }
    for (int i = 0; i < kRestarts; ++i) {
      // Each kill meets calls in flight: the workers have completed rounds since the last one.
      for (const int before = rounds; rounds < before + 2 * kWorkers;) std::this_thread::yield();
      server().Kill();
      EXPECT_EQ(server().Restart(), "");
    }
    stop = true;
  }
  EXPECT_EQ(errors, 0);
  EXPECT_GE(hard->transport_stats().retries, static_cast<uint64_t>(kRestarts));
  const size_t dots = version() == 3 ? 2 : 0;  // version 4 does not list them
  EXPECT_EQ(hard->ReadDir(root(), {}, true, kRoot).entries.size(), dots) << "only . and .. remain";
}

// A call whose reply is cut off, and what the test does on the server before the client notices.
class LostReplyFaults : public ProtocolFaults {
 protected:
  using Call = std::function<std::errc(Protocol&)>;

  // Replies of a new mount before the first of a call: NULL, and the export's path.
  uint32_t RepliesOfMount() const { return version() == 3 ? 1 : 2; }
  // Executes `call` on a mount of its own, whose first connection ends within reply `lost` of the
  // call, counted from 0. `at_server` runs once, before the client notices.
  std::errc Execute(const Call& call, uint32_t lost, const std::function<void()>& at_server) {
    const fixtures::NfsServer::NetworkScope inside(server());
    int connections = 0;  // the first one probes the port
    bool cut = false;
    fixtures::CuttingProxy* running = nullptr;
    fixtures::CuttingProxy proxy(server().nfs_port(),
                                 {.fate =
                                      [&] {
                                        ++connections;
                                        return fixtures::ConnectionFate{
                                            .records = RepliesOfMount() + lost,
                                            .place = fixtures::ConnectionFate::Place::kMark,
                                            .ending = fixtures::ConnectionFate::Ending::kReset};
                                      },
                                  .on_cut =
                                      [&] {
                                        if (connections < 2 || std::exchange(cut, true)) return;
                                        running->StopCutting();
                                        at_server();
                                      },
                                  .on_connected = [] {}});
    running = &proxy;
    ServerAddress address = Address();
    address.nfs_port = proxy.port();
    const auto mounted = Connect(address, {});
    EXPECT_TRUE(mounted.has_value()) << mounted.error().message;
    if (!mounted) return mounted.error().error;
    const std::errc error = call(**mounted);
    EXPECT_EQ(proxy.cuts(), 1u);
    return error;
  }
  std::string Backing(const std::string& name) const {
    return server().backing_directory() + "/" + name;
  }
  bool Exists(const std::string& name) const {
    return std::filesystem::exists(std::filesystem::symlink_status(Backing(name)));
  }
  void PutFile(const std::string& name) const { std::ofstream(Backing(name)).flush(); }
  void PutDirectory(const std::string& name) const {
    std::filesystem::create_directory(Backing(name));
  }
  void Erase(const std::string& name) const { std::filesystem::remove_all(Backing(name)); }

  struct Row {
    const char* name;
    Call call;
    const char* made;     // by the call, or nullptr
    const char* removed;  // by the call, or nullptr
    // Tells whether the duplicate request cache keeps the reply over version 4.
    bool fixtures::NfsServer::Properties::*keeps_reply;

    bool makes_only() const { return made != nullptr && removed == nullptr; }
  };
  std::vector<Row> Rows() {
    using Properties = fixtures::NfsServer::Properties;
    return {
        {"MakeDirectory",
         [this](Protocol& nfs) {
           return nfs.MakeDirectory(root(), "made", {.mode = 0755}, kRoot).error;
         },
         "made", nullptr, &Properties::keeps_long_replies},
        {"MakeSymlink",
         [this](Protocol& nfs) { return nfs.MakeSymlink(root(), "made", "t", {}, kRoot).error; },
         "made", nullptr, &Properties::keeps_long_replies},
        {"MakeNode",
         [this](Protocol& nfs) {
           return nfs.MakeNode(root(), "made", FileType::kCharacterDevice, {1, 3}, {}, kRoot).error;
         },
         "made", nullptr, &Properties::keeps_long_replies},
        {"Link",
         [this](Protocol& nfs) {
           const FileHandle file = this->nfs().Lookup(root(), "kept", kRoot).handle;
           return nfs.Link(file, root(), "made", kRoot).error;
         },
         "made", nullptr, &Properties::keeps_long_replies},
        {"Rename",
         [this](Protocol& nfs) {
           return nfs.Rename(root(), "file", root(), "made", {}, kRoot).error;
         },
         "made", "file", &Properties::keeps_long_replies},
        {"Remove", [this](Protocol& nfs) { return nfs.Remove(root(), "file", {}, kRoot).error; },
         nullptr, "file", &Properties::keeps_lookup_replies},
        {"RemoveDirectory",
         [this](Protocol& nfs) {
           return nfs.RemoveDirectory(root(), "directory", {}, kRoot).error;
         },
         nullptr, "directory", &Properties::keeps_lookup_replies},
    };
  }
  void PutAll() const {
    for (const char* name : {"made", "file", "directory"}) Erase(name);
    for (const char* name : {"file", "kept"}) PutFile(name);
    PutDirectory("directory");
  }
};

INSTANTIATE_TEST_SUITE_P(Versions, LostReplyFaults, fixtures::AllVersions(),
                         fixtures::VersionTestName);

// WIRE-2: the server's duplicate request cache knows the call. Its effect is undone before it is
// sent again, so that a second execution would be seen.
TEST_P(LostReplyFaults, ACallWhoseReplyIsLostIsExecutedOnce) {
  for (const Row& row : Rows()) {
    SCOPED_TRACE(row.name);
    if (version() == 4 && !(server().properties().*row.keeps_reply)) continue;
    PutAll();
    const auto undo = [&] {
      if (row.made != nullptr) {
        EXPECT_TRUE(Exists(row.made));
        Erase(row.made);
      }
      if (row.removed != nullptr) {
        EXPECT_FALSE(Exists(row.removed));
        row.removed == std::string("file") ? PutFile(row.removed) : PutDirectory(row.removed);
      }
    };
    EXPECT_EQ(Execute(row.call, 0, undo), kOk);
    if (row.made != nullptr) {
      EXPECT_FALSE(Exists(row.made));
    }
    if (row.removed != nullptr) {
      EXPECT_TRUE(Exists(row.removed));
    }
  }
}

// WIRE-2: a server that restarted executes it again. What it removes or renames is judged by the
// outcome; what it makes may be another client's.
TEST_P(LostReplyFaults, ACallWhoseReplyIsLostInARestartIsExecutedAgain) {
  for (const Row& row : Rows()) {
    SCOPED_TRACE(row.name);
    PutAll();
    const auto restart = [this] {
      server().Kill();
      EXPECT_EQ(server().Restart(), "");
    };
    EXPECT_EQ(Execute(row.call, 0, restart), row.makes_only() ? std::errc::file_exists : kOk);
    if (row.made != nullptr) {
      EXPECT_TRUE(Exists(row.made));
    }
    if (row.removed != nullptr) {
      EXPECT_FALSE(Exists(row.removed));
    }
  }
}

// WIRE-2: as a lock that another client holds.
TEST_P(LostReplyFaults, ObjectsOfAnotherClientAreNotTakenForOurs) {
  for (const Row& row : Rows()) {
    if (!row.makes_only()) continue;
    SCOPED_TRACE(row.name);
    PutAll();
    ASSERT_EQ(row.call(nfs()), kOk);  // by the other client
    const auto restart = [this] {
      server().Kill();
      EXPECT_EQ(server().Restart(), "");
    };
    EXPECT_EQ(Execute(row.call, 0, restart), std::errc::file_exists);
  }
}

// WIRE-3.
TEST_P(LostReplyFaults, AnExclusiveCreateSurvivesTheLossOfEachOfItsReplies) {
  const uint32_t replies = version() == 3 ? 2 : 5;  // version 4: with the client id
  for (uint32_t lost = 0; lost < replies; ++lost) {
    SCOPED_TRACE(lost);
    const std::string name = std::to_string(lost);
    const auto create = [&](Protocol& nfs) {
      return nfs.Create(root(), name, CreateMode::kGuarded, {.mode = 0640}, kRoot).error;
    };
    EXPECT_EQ(Execute(create, lost, [] {}), kOk);
    EXPECT_EQ(std::filesystem::status(Backing(name)).permissions(), std::filesystem::perms{0640});
  }
}

TEST_P(ProtocolFaults, ASoftMountOfAHungServerTimesOutAndRecoversWithIt) {
  const auto soft = MustConnect(kSoft);
  ASSERT_NE(soft, nullptr);
  server().Hang();
  // A signal may take effect after the next answer.
  std::errc first = kOk;
  while (first == kOk) first = soft->GetAttributes(root(), kRoot).error;
  EXPECT_EQ(first, std::errc::timed_out);
  EXPECT_EQ(soft->MakeDirectory(root(), "d", {.mode = 0755}, kRoot).error, std::errc::timed_out);
  server().Resume();
  std::errc error = std::errc::timed_out;
  while (error == std::errc::timed_out) error = soft->GetAttributes(root(), kRoot).error;
  EXPECT_EQ(error, kOk);
}

TEST_P(ProtocolFaults, ASoftMountOfADeadServerTimesOut) {
  const auto soft = MustConnect(kSoft);
  ASSERT_NE(soft, nullptr);
  server().Kill();
  EXPECT_EQ(soft->GetAttributes(root(), kRoot).error, std::errc::timed_out);
  EXPECT_EQ(server().Restart(), "");
}

TEST_P(ProtocolFaults, AHardMountWaitsForAHungServer) {
  server().Hang();
  const uint64_t sent = nfs().rpcs_sent();
  std::atomic<bool> answered = false;
  std::jthread caller([&] {
    EXPECT_EQ(nfs().GetAttributes(root(), kRoot).error, kOk);
    answered = true;
  });
  while (nfs().rpcs_sent() == sent) std::this_thread::yield();
  EXPECT_FALSE(answered);
  server().Resume();
  caller.join();
  EXPECT_TRUE(answered);
}

TEST_P(ProtocolFaults, ShutdownCancelsCallsOfAHungServer) {
  constexpr int kCallers = 8;
  server().Hang();
  const uint64_t sent = nfs().rpcs_sent();
  std::atomic<int> canceled = 0;
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < kCallers; ++i) {
      callers.emplace_back([&, i] {
        const std::errc error =
            i % 2 == 0 ? nfs().GetAttributes(root(), kRoot).error
                       : nfs().MakeDirectory(root(), std::to_string(i), {}, kRoot).error;
        canceled += error == std::errc::operation_canceled;
      });
    }
    while (nfs().rpcs_sent() < sent + kCallers) std::this_thread::yield();
    nfs().Shutdown();
  }
  EXPECT_EQ(canceled, kCallers);
  server().Resume();
}

// WIRE-18.
TEST_P(ProtocolFaults, PortsComeFromThePortmapperWhereNoneAreGiven) {
  const auto connected = ConnectWithoutPorts({});
  ASSERT_TRUE(connected.has_value()) << connected.error().message;
  EXPECT_EQ((*connected)->GetRoot(kRoot).handle, root());
}

// WIRE-19: version 4 has no portmapper.
TEST_P(ProtocolFaults, AServerThatComesBackOnAnotherPortIsFollowed) {
  if (version() != 3) GTEST_SKIP() << "its port is given or 2049";
  const auto connected = ConnectWithoutPorts({.nconnect = 2});
  ASSERT_TRUE(connected.has_value()) << connected.error().message;
  server().Kill();
  server().set_nfs_port(2050);
  ASSERT_EQ(server().Restart(), "");
  for (int i = 0; i < 4; ++i) EXPECT_EQ((*connected)->GetAttributes(root(), kRoot).error, kOk);
}

TEST_P(ProtocolFaults, AMountThatFailsSaysWhy) {
  ServerAddress no_export = Address(), refused = Address(), other_program = Address();
  no_export.export_path = "/no/such/export";
  refused.nfs_port = 1;
  other_program.nfs_port = 111;
  const struct {
    ServerAddress address;
    std::errc error;
    const char* named;
  } rows[] = {
      // nfs-ganesha's MOUNT does not reveal which exports exist; its pseudo file system does.
      {no_export,
       version() == 3 ? std::errc::permission_denied : std::errc::no_such_file_or_directory,
       "/no/such/export"},
      {refused, std::errc::connection_refused, "port 1:"},
      {other_program, std::errc::protocol_not_supported, ""},
  };
  for (const auto& [address, error, named] : rows) {
    const auto connected = Connect(address, {});
    ASSERT_FALSE(connected.has_value()) << named;
    EXPECT_EQ(connected.error().error, error) << connected.error().message;
    EXPECT_NE(connected.error().message.find(named), std::string::npos)
        << connected.error().message;
  }
}

TEST_P(ProtocolFaults, AMountOfAHungServerTimesOut) {
  server().Hang();
  const auto connected = Connect({.mount_timeout_ms = 200});
  ASSERT_FALSE(connected.has_value());
  EXPECT_EQ(connected.error().error, std::errc::timed_out) << connected.error().message;
  server().Resume();
}

}  // namespace
}  // namespace nfswalk::protocol
