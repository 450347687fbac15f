#include "nfsclient/cli/show/format.h"

#include <fmt/format.h>

#include <array>
#include <ctime>

#include "nfsclient/cli/show/error_text.h"
#include "nfsclient/cli/show/escape.h"

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

void AddBytes(JsonObject& object, const std::string& key, std::string_view bytes) {
  object.Set(key, bytes);
  if (!IsUtf8(bytes)) object.Set(key + "_base64", Base64(bytes));
}

JsonObject PathJson(std::string_view path) {
  JsonObject object;
  AddBytes(object, "path", path);
  return object;
}

void AddAttributes(JsonObject& object, const Attributes& attributes) {
  object.Set("type", TypeName(attributes.type))
      .Set("mode", fmt::format("{:04o}", attributes.mode))
      .Set("nlink", attributes.nlink)
      .Set("uid", attributes.uid)
      .Set("gid", attributes.gid)
      .Set("size_bytes", attributes.size_bytes)
      .Set("used_bytes", attributes.used_bytes)
      .Set("rdev_major", attributes.rdev_major)
      .Set("rdev_minor", attributes.rdev_minor)
      .Set("fsid", attributes.fsid)
      .Set("fileid", attributes.fileid)
      .Set("atime", UtcTime(attributes.atime))
      .Set("mtime", UtcTime(attributes.mtime))
      .Set("ctime", UtcTime(attributes.ctime));
}

void AddError(JsonObject& object, std::errc error) {
  object.Set("error", JsonObject()
                          .Set("name", ErrorName(error))
                          .Set("number", static_cast<int>(error))
                          .Set("message", ErrorMessage(error)));
}

std::string JsonLine(const JsonObject& object) { return object.text() + "\n"; }

}  // namespace nfswalk::cli
