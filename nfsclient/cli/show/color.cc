#include "nfsclient/cli/show/color.h"

#include <fmt/format.h>

#include <cstdlib>

namespace nfswalk::cli {
namespace {

bool IsSet(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

// SGR parameters (ECMA-48), those that dircolors(1) prints. "": none.
std::string_view ColorOf(const Attributes& attributes) {
  using protocol::FileType;
  switch (attributes.type) {
    case FileType::kDirectory:
      if ((attributes.mode & 01002) == 01002) return "30;42";
      if ((attributes.mode & 00002) != 0) return "34;42";
      if ((attributes.mode & 01000) != 0) return "37;44";
      return "01;34";
    case FileType::kSymlink:
      return "01;36";
    case FileType::kFifo:
      return "33";
    case FileType::kSocket:
      return "01;35";
    case FileType::kBlockDevice:
    case FileType::kCharacterDevice:
      return "01;33";
    case FileType::kRegular:
      if ((attributes.mode & 04000) != 0) return "37;41";
      if ((attributes.mode & 02000) != 0) return "30;43";
      return (attributes.mode & 0111) != 0 ? "01;32" : "";
  }
  return "";
}

}  // namespace

std::expected<ColorWhen, std::string> ParseColorWhen(std::string_view text) {
  if (text == "auto") return ColorWhen::kAuto;
  if (text == "always") return ColorWhen::kAlways;
  if (text == "never") return ColorWhen::kNever;
  return std::unexpected(fmt::format("'{}': accepted is auto, always or never", text));
}

bool UseColor(ColorWhen when, bool out_is_terminal) {
  if (when != ColorWhen::kAuto) return when == ColorWhen::kAlways;
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  return out_is_terminal && !dumb && !IsSet("NO_COLOR");
}

std::string Colored(std::string_view name, const Attributes& attributes) {
  const std::string_view color = ColorOf(attributes);
  if (color.empty()) return std::string(name);
  return fmt::format("\033[{}m{}\033[0m", color, name);
}

}  // namespace nfswalk::cli
