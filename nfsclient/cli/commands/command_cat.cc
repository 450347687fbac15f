#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "nfsclient/cli/commands/commands.h"
#include "nfsclient/cli/show/escape.h"

namespace nfswalk::cli {
namespace {

// Sequential reads of this size are answered from what was read ahead.
constexpr size_t kReadBytes = 1 << 20;

void PrintPiece(Session& session, const std::string& path, uint64_t offset_bytes,
                std::string_view data) {
  if (!session.json()) return session.console().Print(data);
  session.Print(PathJson(path).Set("offset_bytes", offset_bytes).Set("data_base64", Base64(data)));
}

void CatOne(Session& session, const std::string& path, std::span<std::byte> room) {
  auto file = session.client().Open(path, kMayRead, session.credential());
  if (!file) return session.Fail(path, file.error());
  if ((*file)->attributes().type == protocol::FileType::kDirectory) {
    return session.Fail(path, std::errc::is_a_directory);
  }
  session.console().Expect((*file)->attributes().size_bytes);
  uint64_t offset_bytes = 0;
  while (!session.done()) {
    const auto count = (*file)->PRead(room, offset_bytes);
    if (!count) return session.Fail(path, count.error());
    if (*count == 0) break;
    PrintPiece(session, path, offset_bytes, {reinterpret_cast<const char*>(room.data()), *count});
    offset_bytes += *count;
    session.console().Advance(*count, "bytes");
  }
  if (session.json()) session.Print(PathJson(path).Set("size_bytes", offset_bytes));
}

}  // namespace

void RunCommand(Session& session, const Paths& paths, const CatOptions& /*options*/) {
  const auto room = std::make_unique_for_overwrite<std::byte[]>(kReadBytes);
  for (const std::string& path : paths) {
    if (session.done()) return;
    CatOne(session, path, {room.get(), kReadBytes});
  }
}

}  // namespace nfswalk::cli
