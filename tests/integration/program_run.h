// program_run: runs programs in the calling thread's network, with their output in memory.
#ifndef NFSWALK_TESTS_INTEGRATION_PROGRAM_RUN_H_
#define NFSWALK_TESTS_INTEGRATION_PROGRAM_RUN_H_

#include <gtest/gtest.h>
#include <sys/types.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

namespace nfswalk {

using Strings = std::vector<std::string>;

struct Descriptor {
  explicit Descriptor(int opened) : fd(opened) { EXPECT_GE(fd, 0); }
  ~Descriptor() { close(fd); }
  Descriptor(Descriptor&& other) noexcept : fd(std::exchange(other.fd, -1)) {}
  int fd;
};

// Opens an unnamed file in memory.
int MemoryFile();
// Reads a whole file.
std::string Contents(int fd);
Strings Split(const std::string& text, char end);

struct ProgramRun {
  int exit_code = -1;
  std::string out;
  std::string err;

  Strings lines() const { return Split(out, '\n'); }
};

// `arguments`: argv; the program is searched in PATH unless it has a slash. A Bazel test starts in
// its runfiles.
pid_t SpawnProgram(Strings arguments, int out, int err);
// Returns the exit code. Expects that no signal killed the process.
int WaitForExit(pid_t pid);
// Runs a program to its end.
ProgramRun RunProgram(const Strings& arguments);

}  // namespace nfswalk

#endif  // NFSWALK_TESTS_INTEGRATION_PROGRAM_RUN_H_
