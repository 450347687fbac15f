/* launcher: what launcher.c writes to its parent. */
#ifndef NFSWALK_TESTS_HOSTILE_LAUNCHER_H_
#define NFSWALK_TESTS_HOSTILE_LAUNCHER_H_

enum { LAUNCHER_FD = 3 };

struct launched {
  int status; /* of wait4(2) */
  long resident_kib_max;
};

#endif /* NFSWALK_TESTS_HOSTILE_LAUNCHER_H_ */
