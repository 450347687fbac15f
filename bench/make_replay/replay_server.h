// replay_server: the NFS server that a replay runs against: an nfs-ganesha of its own, which
// vanishes with the process, or one named by --server, where only a directory of our own is
// touched.
//
// Thread safety: one thread at a time, except InItsNetwork and KillAndRestart.
#ifndef NFSWALK_BENCH_MAKE_REPLAY_REPLAY_SERVER_H_
#define NFSWALK_BENCH_MAKE_REPLAY_REPLAY_SERVER_H_

#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "bench/make_replay/tree.h"
#include "nfsclient/client.h"
#include "nfsclient/nfs/mount_options.h"

namespace nfswalk::bench {

class ReplayServer {
 public:
  // Starts an nfs-ganesha. The error is a sentence.
  static std::expected<std::unique_ptr<ReplayServer>, std::string> StartOwn();
  // Uses the server of an nfs:// URL, whose options are kept.
  static std::expected<std::unique_ptr<ReplayServer>, std::string> Use(const std::string& url);
  virtual ~ReplayServer() = default;

  virtual std::string description() const = 0;
  // Whether prepare can make devices, FIFOs and sockets.
  virtual bool special_files() const = 0;
  // Makes `tree` in a new directory `name` of the export. Empty, or the error.
  virtual std::string Prepare(const Tree& tree, const std::string& name) = 0;
  // Removes what Prepare made. Empty, or the error.
  virtual std::string Remove(const std::string& name) = 0;
  // Runs `work` so that the connections it makes, or threads that it starts make, reach the server.
  virtual void InItsNetwork(const std::function<void()>& work) = 0;
  // SIGKILL, then a new life on the same files. Empty, or the error: only for a server of our own.
  virtual std::string KillAndRestart() = 0;

  // A mount of the directory `name`, with attribute timeouts longer than any replay.
  MountOptions OptionsFor(const std::string& name) const;
  std::expected<std::unique_ptr<Client>, std::string> Mount(const std::string& name, WalkMode mode,
                                                            bool path_cache = true);
  // The same directory for libnfs.
  std::string LibnfsUrl(const std::string& name) const;

 protected:
  explicit ReplayServer(MountOptions options) : options_(std::move(options)) {}
  MountOptions options_;  // of the export itself
};

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MAKE_REPLAY_REPLAY_SERVER_H_
