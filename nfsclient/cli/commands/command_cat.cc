#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "nfsclient/cli/commands/commands.h"
#include "nfsclient/cli/copy/data_range.h"
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
  const Attributes attributes = (*file)->attributes();
  uint64_t offset_bytes = 0;
  const auto print = [&](size_t count) {
    PrintPiece(session, path, offset_bytes, {reinterpret_cast<const char*>(room.data()), count});
    offset_bytes += count;
    session.console().Advance(count, "bytes");
  };
  for (bool more = true; more && !session.done();) {
    const DataRange data = NextData(attributes, offset_bytes, [&](uint64_t from, Content content) {
      return (*file)->Seek(from, content);
    });
    if (offset_bytes < data.begin) std::ranges::fill(room, std::byte{0});
    while (offset_bytes < data.begin && !session.done()) {
      print(std::min<uint64_t>(room.size(), data.begin - offset_bytes));
    }
    while (more && offset_bytes < data.end && !session.done()) {
      const auto piece = room.first(std::min<uint64_t>(room.size(), data.end - offset_bytes));
      const auto count = (*file)->PRead(piece, offset_bytes);
      if (!count) return session.Fail(path, count.error());
      more = *count > 0;
      if (more) print(*count);
    }
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
