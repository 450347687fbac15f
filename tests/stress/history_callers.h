// history_callers: the system calls of a history by path, of a program and of a Client.
//
// Thread safety: all members.
#ifndef NFSWALK_TESTS_STRESS_HISTORY_CALLERS_H_
#define NFSWALK_TESTS_STRESS_HISTORY_CALLERS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "nfsclient/client.h"

namespace nfswalk::stress {

struct FileView {
  uint64_t fileid = 0, size_bytes = 0, mode = 0, nlink = 0;
  bool is_directory = false;
};

// Each returns the errno.
class Caller {
 public:
  virtual ~Caller() = default;
  virtual int Stat(const std::string& path, FileView& view) = 0;
  // Opens, reads and closes. `fileid`: of what was opened; 0 if another client has removed it by
  // then, which a server without open files answers with ESTALE.
  virtual int Read(const std::string& path, std::string& text, uint64_t& fileid) = 0;
  virtual int List(const std::string& path, std::map<std::string, uint64_t>& names) = 0;
  virtual int Create(const std::string& path, bool exclusive) = 0;
  virtual int Write(const std::string& path, const std::string& text) = 0;
  virtual int Truncate(const std::string& path, uint64_t size_bytes) = 0;
  virtual int Chmod(const std::string& path, uint32_t mode) = 0;
  virtual int Link(const std::string& from, const std::string& to) = 0;
  virtual int Rename(const std::string& from, const std::string& to) = 0;
  virtual int Unlink(const std::string& path) = 0;
  virtual int MakeDirectory(const std::string& path) = 0;
  virtual int RemoveDirectory(const std::string& path) = 0;
};

// The names are below `root`.
std::unique_ptr<Caller> NewPosixCaller(const std::string& root);
std::unique_ptr<Caller> NewClientCaller(std::unique_ptr<Client> client);

}  // namespace nfswalk::stress

#endif  // NFSWALK_TESTS_STRESS_HISTORY_CALLERS_H_
