// usage: write_seeds DIRECTORY
//
// Writes what fuzzing begins with, a file for each input.
#include <fstream>
#include <string>

#include "tests/fuzz/wire/seed_inputs.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  size_t number = 0;
  for (const std::string& input : nfswalk::fuzz::SeedInputs()) {
    const std::string path = std::string(argv[1]) + "/seed" + std::to_string(number++);
    if (!(std::ofstream(path, std::ios::binary) << input).flush()) return 1;
  }
  return 0;
}
