#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <span>
#include <vector>

#include "nfsclient/cli/commands/commands.h"
#include "nfsclient/cli/commands/process_umask.h"

namespace nfswalk::cli {
namespace {

// Pieces of it are in flight at once.
constexpr size_t kWriteBytes = 8 * 1024 * 1024;
constexpr uint32_t kFileMode = 0666;

// Fills `room` from standard input; less at its end.
Result<size_t> ReadInput(std::span<std::byte> room) {
  size_t filled = 0;
  while (filled < room.size()) {
    const ssize_t count = read(STDIN_FILENO, room.data() + filled, room.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::unexpected(static_cast<std::errc>(errno));
    if (count == 0) break;
    filled += static_cast<size_t>(count);
  }
  return filled;
}

// A write ends early where an error follows, which the next one meets.
std::errc WriteAll(File& file, std::span<const std::byte> data, uint64_t offset_bytes,
                   bool append) {
  while (!data.empty()) {
    const auto count = append ? file.Append(data) : file.PWrite(data, offset_bytes);
    if (!count) return count.error();
    data = data.subspan(*count);
    offset_bytes += *count;
  }
  return {};
}

}  // namespace

void RunCommand(Session& session, const Paths& paths, const PutOptions& options) {
  const std::string& path = paths.front();
  const Credential& who = session.credential();
  const uint32_t rights = options.append ? kMayWrite : kMayWrite | kTruncate;
  const auto opened = session.client().CreateAndOpen(path, rights, kFileMode & ~ProcessUmask(),
                                                     /*exclusive=*/false, who);
  if (!opened) return session.Fail(path, opened.error());
  File& file = *opened->file;
  std::vector<std::byte> room(kWriteBytes);
  for (uint64_t offset_bytes = 0;;) {
    const auto count = ReadInput(room);
    if (!count) return session.FailLocally(path, "standard input", count.error());
    if (*count == 0) break;
    const std::errc error =
        WriteAll(file, std::span(room).first(*count), offset_bytes, options.append);
    if (error != std::errc{}) return session.Fail(path, error);
    offset_bytes += *count;
    session.console().Advance(*count, "bytes");
  }
  if (const std::errc error = file.Close(); error != std::errc{}) {
    return session.Fail(path, error);
  }
  session.Report(path, {});
}

}  // namespace nfswalk::cli
