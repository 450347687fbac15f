// server_export: the export that a benchmark works on: of an nfs-ganesha of its own, which vanishes
// with the process, or of --server, where only a new directory is touched.
//
// Thread safety: one thread at a time, except InItsNetwork and KillAndRestart.
#ifndef NFSWALK_BENCH_MEASURE_SERVER_EXPORT_H_
#define NFSWALK_BENCH_MEASURE_SERVER_EXPORT_H_

#include <sys/types.h>

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "bench/measure/file_tree.h"
#include "bench/measure/outcome.h"
#include "nfsclient/client.h"
#include "nfsclient/superblock/mount_options.h"

namespace nfswalk::bench {

class ServerExport {
 public:
  // Starts an nfs-ganesha if `url` is empty, else uses the nfs:// URL, whose options are kept.
  static std::expected<std::unique_ptr<ServerExport>, std::string> Open(const std::string& url);
  virtual ~ServerExport() = default;

  virtual std::string description() const = 0;
  // Returns the process of a server of our own, for MachineShare; else 0.
  virtual pid_t server_pid() const = 0;
  // The exported directory without NFS, of a server of our own; else empty.
  virtual std::string backing_directory() const = 0;
  // Whether Make() can make devices, FIFOs and sockets; it leaves them out where it cannot.
  virtual bool special_files() const = 0;
  // Makes `tree` in a new directory `name` of the export.
  virtual Outcome Make(const FileTree& tree, const std::string& name) = 0;
  // Removes what Make() made.
  virtual Outcome Remove(const std::string& name) = 0;
  // Runs `work` so that the connections it makes, or threads that it starts make, reach the server.
  virtual void InItsNetwork(const std::function<void()>& work) = 0;
  // SIGKILL, then a new start on the same files: only for a server of our own.
  virtual Outcome KillAndRestart() = 0;

  // Makes `tree` in `name`, runs `work` unless interrupted meanwhile, and removes `name` again
  // whatever happened. Returns the first error.
  Outcome WithTree(const FileTree& tree, const std::string& name,
                   const std::function<Outcome()>& work);

  // Options of a mount of the directory `name`, with attribute timeouts longer than any run.
  MountOptions OptionsFor(const std::string& name) const;
  std::expected<std::unique_ptr<Client>, std::string> Mount(const MountOptions& options);
  // The directory `name` over the version of the export itself, with the options that libnfs and
  // nfswalk both know.
  std::string UrlOf(const std::string& name) const { return UrlOf(name, options_.server.version); }
  // `nfs_port`: of a proxy in front of the server; 0: the server's.
  std::string UrlOf(const std::string& name, int version, uint16_t nfs_port = 0) const;

 protected:
  explicit ServerExport(MountOptions options) : options_(std::move(options)) {}
  const MountOptions options_;  // of the export itself
};

}  // namespace nfswalk::bench

#endif  // NFSWALK_BENCH_MEASURE_SERVER_EXPORT_H_
