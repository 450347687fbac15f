// hostile_server: a small tree over NFSv3, NFSv4.0 or NFSv4.1, served well up to an attack.
//
//   file (150,000 bytes)   dir/inner   dir/sub/deep   link -> dir/inner
//
// Thread safety: all functions.
#ifndef NFSWALK_TESTS_HOSTILE_HOSTILE_SERVER_H_
#define NFSWALK_TESTS_HOSTILE_HOSTILE_SERVER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "tests/fixtures/fake_nfs3.h"
#include "tests/fixtures/fake_nfs4.h"
#include "tests/hostile/attack.h"

namespace nfswalk::hostile {

class HostileServer {
 public:
  // `attack`: borrowed; without operations it is none. `address`: of this machine. The portmapper
  // is there for attacks on it.
  HostileServer(const Attack& attack, uint32_t address, uint16_t portmapper_port = 111);

  // With options that set the deadlines.
  std::string Url() const;
  // Counts the calls that were attacked so far.
  int attacked();
  // To any calls, so far.
  int replies() const { return replies_; }
  // The tree of the attack's version.
  protocol::FakeTreeServer& tree() {
    if (attack_.version == 3) return nfs3_;
    return nfs4_;
  }
  // Returns what has been called so far: operations of NFS version 4, procedures of all others.
  std::set<std::pair<Service, int>> called();
  // Returns what the server sends for a call: the good answer, or the attack.
  FakeAnswer Answer(const FakeCall& call);

 private:
  FakeAnswer GoodAnswer(const FakeCall& call);
  // Executions of the attacked operations of version 4.
  int Executions();

  const Attack& attack_;
  const std::string address_;
  protocol::FakeNfs3 nfs3_;
  protocol::FakeNfs4 nfs4_;
  Tamper tamper_;
  std::atomic<int> met_ = 0;
  std::atomic<int> replies_ = 0;
  std::mutex mutex_;
  std::set<std::pair<Service, int>> procedures_;  // guarded by mutex_
  // Last: they have threads.
  protocol::FakeServer server_;
  std::unique_ptr<protocol::FakeServer> portmapper_;
};

}  // namespace nfswalk::hostile

#endif  // NFSWALK_TESTS_HOSTILE_HOSTILE_SERVER_H_
