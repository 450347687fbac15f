// delaying_proxy PORT MICROSECONDS: a server that is a round trip of MICROSECONDS away. Prints the
// port of 127.0.0.1 that leads to PORT; ends with its standard input.
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/fixtures/delaying_proxy.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: delaying_proxy PORT MICROSECONDS\n", stderr);
    return 2;
  }
  const std::chrono::microseconds round_trip(std::atol(argv[2]));
  const nfswalk::fixtures::DelayingProxy proxy(static_cast<uint16_t>(std::atoi(argv[1])),
                                               round_trip / 2);
  std::printf("%d\n", proxy.port());
  std::fflush(stdout);
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
}
