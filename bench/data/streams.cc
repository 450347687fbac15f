#include <filesystem>
#include <sstream>
#include <system_error>
#include <utility>

#include "bench/data/command_run.h"
#include "bench/data/contender.h"
#include "bench/data/file_thread.h"
#include "bench/measure/terminal.h"
#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr size_t kReaders = 12;
// MakeTransferred() makes it.
constexpr const char* kExisting = "1-0";

std::string StreamProgram() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "stream";
}

// Runs the program, which writes `name`.
std::expected<DataTurn, std::string> RunStream(const DataPlace& place, const std::string& name,
                                               int version) {
  const std::vector<std::string> arguments = {StreamProgram(),
                                              UrlOf(place, "", version, Way::kDirect),
                                              name,
                                              kExisting,
                                              std::to_string(place.sizes.mebibytes),
                                              std::to_string(kReaders)};
  std::string output;
  auto taken = CommandTurn(place, arguments, place.sizes.mebibytes, &output);
  if (!taken || Interrupted()) return taken;
  if (std::istringstream(output) >> taken->growth_bytes >> taken->limit_bytes) return taken;
  return std::unexpected(fmt::format("{} printed \"{}\"", arguments.front(), output));
}

// Each byte of it, without the client that wrote it.
Outcome Compare(const DataPlace& place, const std::string& name) {
  const auto make = place.backing.empty() ? MakeNfswalkThreads : MakeLocalThreads;
  const auto readers = make(place, {});
  if (!readers) return std::unexpected(readers.error());
  FileThread& reader = *readers->front();
  reader.CompareAll();
  const Outcome opened = reader.Open(name);
  return opened ? reader.Read(place.sizes.mebibytes * kStepBytes) : opened;
}

}  // namespace

std::vector<Contender> Streams(const DataPlace& place) {
  std::vector<Contender> all;
  for (const int version : {3, 4}) {
    // A directory of its own for the file, which is removed with it.
    const auto take = [&place, version, turn = 0]() mutable -> std::expected<DataTurn, std::string> {
      const std::string directory = fmt::format("stream v{} {}", version, turn++);
      const std::string name = directory + "/file";
      std::expected<DataTurn, std::string> taken;
      const Outcome done =
          place.server.WithTree(EmptyTree(), place.directory + "/" + directory, [&]() -> Outcome {
            taken = RunStream(place, name, version);
            if (!taken) return std::unexpected(taken.error());
            return Interrupted() ? Outcome() : Compare(place, name);
          });
      if (!done) return std::unexpected(done.error());
      return taken;
    };
    all.push_back({.work = "stream",
                   .subject = "nfswalk",
                   .version = version,
                   .readers = kReaders,
                   .take = take});
  }
  return all;
}

}  // namespace nfswalk::bench
