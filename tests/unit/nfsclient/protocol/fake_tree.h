// fake_tree: the files of a FakeNfs3 or FakeNfs4, and what a test does to both: changes by another
// client, faults of single operations, counts of calls.
#ifndef NFSWALK_TESTS_UNIT_NFSCLIENT_PROTOCOL_FAKE_TREE_H_
#define NFSWALK_TESTS_UNIT_NFSCLIENT_PROTOCOL_FAKE_TREE_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace nfswalk::protocol {

struct FakeNode {
  enum class Type : uint32_t { kRegular = 1, kDirectory = 2, kSymlink = 5 };  // ftype3, nfs_ftype4

  Type type = Type::kRegular;
  uint32_t mode = 0644;
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint32_t nlink = 1;
  uint64_t fileid = 0;
  uint64_t change = 1;
  std::string data = {};  // a link's text
  std::string exclusive_verifier = {};
  std::map<std::string, std::shared_ptr<FakeNode>> entries = {};
  FakeNode* parent = nullptr;  // of a directory; nullptr at the root
  bool removed = false;

  std::string handle() const { return "handle " + std::to_string(fileid); }
};

// Thread safety: as any value.
class FakeTree {
 public:
  FakeTree();

  const std::shared_ptr<FakeNode>& root() const { return root_; }
  std::shared_ptr<FakeNode> ByHandle(const std::string& handle) const;
  // Adds an entry to `directory` and updates its change attribute.
  std::shared_ptr<FakeNode> Add(FakeNode& directory, const std::string& name, FakeNode node);
  void Remove(FakeNode& directory, const std::string& name);
  // Adds a second name, or replaces one.
  void Link(FakeNode& directory, const std::string& name, std::shared_ptr<FakeNode> node);
  // `path` is from the root, "a/b". Null if there is none.
  std::shared_ptr<FakeNode> Find(std::string_view path) const;

 private:
  std::shared_ptr<FakeNode> root_;
  std::map<std::string, std::shared_ptr<FakeNode>> by_handle_;
  uint64_t next_fileid_ = 1;
};

struct FakeFault {
  enum class Kind : uint8_t {
    kStatus,     // not executed, ends in `status`
    kLoseCall,   // hangs up, not executed
    kLoseReply,  // executes the call, then hangs up
    // Version 4 only.
    kSilence,     // executes the COMPOUND, sends no reply
    kCutShort,    // drops the results after this operation; the COMPOUND's status is OK
    kOutOfOrder,  // swaps the results of this operation and the next one
    kMalformed,   // the attributes in the result are shorter than their length says
    kGarbage,     // the result is garbage
  };
  Kind kind = Kind::kStatus;
  int status = 0;
};

// The part of a server that does not depend on the version. Operations are NFS3_* or OP_*.
//
// Thread safety: all functions.
class FakeTreeServer {
 public:
  static std::string root_handle() { return FakeTree().root()->handle(); }

  // Applies `fault` to `times` calls of `operation`, after `after` calls without it. Faults of one
  // operation apply in order of injection.
  void Inject(int operation, FakeFault fault, int times = 1, int after = 0);
  // Runs `change` once, before the next execution of `operation`. It may call all functions here.
  void Before(int operation, std::function<void()> change);

  // Changes the tree without the protocol; `path` is from the root.
  void Put(const std::string& path, FakeNode node);
  void Erase(const std::string& path);
  // A copy, whose entries are shared.
  std::optional<FakeNode> Find(const std::string& path);

  // Executions of an operation begun, replays and faults included.
  int calls(int operation) {
    const std::lock_guard lock(mutex_);
    return operations_[operation].calls;
  }
  // Blocks until `calls` executions of `operation` have begun.
  void AwaitCalls(int operation, int calls);
  // The uid of the last call of `operation`.
  uint32_t last_uid(int operation) {
    const std::lock_guard lock(mutex_);
    return operations_[operation].last_uid;
  }

 protected:
  // Counts a call, runs what is to come before it, and returns its fault. Preconditions: locked.
  std::optional<FakeFault> Begin(int operation, uint32_t uid);

  std::recursive_mutex mutex_;  // of all below
  FakeTree tree_;

 private:
  struct PlannedFault {
    FakeFault fault;
    int times;
    int after;
  };
  struct Operation {
    std::list<PlannedFault> faults;
    std::function<void()> before;
    int calls = 0;
    uint32_t last_uid = 0;
  };

  std::map<int, Operation> operations_;
  std::condition_variable_any called_;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_TESTS_UNIT_NFSCLIENT_PROTOCOL_FAKE_TREE_H_
