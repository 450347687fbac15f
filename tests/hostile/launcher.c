/* usage: launcher PROGRAM ARGUMENT...
 *
 * Runs a program, and writes how it ended to file descriptor 3: a struct launched. Its own address
 * space is small: ru_maxrss of a process is never below that of the one that has started it. Sent
 * to the process group, SIGINT reaches the program only. Both die with the process that waits. */

#include "tests/hostile/launcher.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char** argv) {
  struct launched ended;
  struct rusage usage;
  pid_t child;
  if (argc < 2) return 2;
  signal(SIGINT, SIG_IGN);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  child = fork();
  if (child == 0) {
    signal(SIGINT, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(LAUNCHER_FD);
    execvp(argv[1], argv + 1);
    _exit(2);
  }
  if (child < 0 || wait4(child, &ended.status, 0, &usage) != child) abort();
  ended.resident_kib_max = usage.ru_maxrss;
  return write(LAUNCHER_FD, &ended, sizeof ended) != sizeof ended;
}
