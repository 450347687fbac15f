#include "nfsclient/cli/format.h"

#include <fmt/format.h>

#include <array>
#include <ctime>

#include "nfsclient/cli/error_text.h"
#include "nfsclient/cli/escape.h"

namespace nfswalk::cli {
namespace {

using protocol::FileType;

struct TypeRow {
  FileType type;
  char letter;     // find -type
  char ls_letter;  // ls -l
  std::string_view name;
};

constexpr TypeRow kTypes[] = {
    {FileType::kFifo, 'p', 'p', "fifo"},
    {FileType::kCharacterDevice, 'c', 'c', "character special file"},
    {FileType::kDirectory, 'd', 'd', "directory"},
    {FileType::kBlockDevice, 'b', 'b', "block special file"},
    {FileType::kRegular, 'f', '-', "regular file"},
    {FileType::kSymlink, 'l', 'l', "symbolic link"},
    {FileType::kSocket, 's', 's', "socket"},
};

constexpr TypeRow kUnknownType{FileType::kRegular, '?', '?', "unknown"};

const TypeRow& RowOf(FileType type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) return row;
  }
  return kUnknownType;
}

// The execute column of one class: `special` is its setuid, setgid or sticky bit.
char ExecuteLetter(bool execute, bool special, char letter) {
  if (!special) return execute ? 'x' : '-';
  return execute ? letter : static_cast<char>(letter - 'a' + 'A');
}

std::string Strftime(const char* format, const tm& broken_down) {
  std::array<char, 64> text;
  return {text.data(), std::strftime(text.data(), text.size(), format, &broken_down)};
}

tm LocalFields(const protocol::Time& time) {
  const time_t seconds = time.seconds;
  tm fields{};
  localtime_r(&seconds, &fields);
  return fields;
}

}  // namespace

std::string_view TypeName(FileType type) { return RowOf(type).name; }

std::string_view TypeNameOf(const Attributes& attributes) {
  const bool empty_file = attributes.type == FileType::kRegular && attributes.size_bytes == 0;
  return empty_file ? "regular empty file" : TypeName(attributes.type);
}

bool IsDevice(FileType type) {
  return type == FileType::kCharacterDevice || type == FileType::kBlockDevice;
}

char TypeLetter(FileType type) { return RowOf(type).letter; }

std::string ModeString(const Attributes& attributes) {
  const uint32_t mode = attributes.mode;
  std::string text = "----------";
  text[0] = RowOf(attributes.type).ls_letter;
  for (uint32_t bit = 0; bit < 9; ++bit) {
    if (mode & (0400u >> bit)) text[bit + 1] = "rwx"[bit % 3];
  }
  text[3] = ExecuteLetter(mode & 0100, mode & 04000, 's');
  text[6] = ExecuteLetter(mode & 0010, mode & 02000, 's');
  text[9] = ExecuteLetter(mode & 0001, mode & 01000, 't');
  return text;
}

std::string LocalTime(const protocol::Time& time) {
  const tm fields = LocalFields(time);
  return fmt::format("{}.{:09} {}", Strftime("%Y-%m-%d %H:%M:%S", fields), time.nanoseconds,
                     Strftime("%z", fields));
}

std::string LocalMinute(const protocol::Time& time) {
  return Strftime("%Y-%m-%d %H:%M", LocalFields(time));
}

std::string UtcTime(const protocol::Time& time) {
  const time_t seconds = time.seconds;
  tm fields{};
  gmtime_r(&seconds, &fields);
  return fmt::format("{}.{:09}Z", Strftime("%Y-%m-%dT%H:%M:%S", fields), time.nanoseconds);
}

void AddBytes(Json& object, const std::string& key, std::string_view bytes) {
  object[key] = bytes;
  if (!IsUtf8(bytes)) object[key + "_base64"] = Base64(bytes);
}

Json PathJson(std::string_view path) {
  Json object = Json::object();
  AddBytes(object, "path", path);
  return object;
}

void AddAttributes(Json& object, const Attributes& attributes) {
  object["type"] = TypeName(attributes.type);
  object["mode"] = fmt::format("{:04o}", attributes.mode);
  object["nlink"] = attributes.nlink;
  object["uid"] = attributes.uid;
  object["gid"] = attributes.gid;
  object["size_bytes"] = attributes.size_bytes;
  object["used_bytes"] = attributes.used_bytes;
  object["rdev_major"] = attributes.rdev_major;
  object["rdev_minor"] = attributes.rdev_minor;
  object["fsid"] = attributes.fsid;
  object["fileid"] = attributes.fileid;
  object["atime"] = UtcTime(attributes.atime);
  object["mtime"] = UtcTime(attributes.mtime);
  object["ctime"] = UtcTime(attributes.ctime);
}

void AddError(Json& object, std::errc error) {
  object["error"] = {{"name", ErrorName(error)},
                     {"number", static_cast<int>(error)},
                     {"message", ErrorMessage(error)}};
}

std::string JsonLine(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace nfswalk::cli
