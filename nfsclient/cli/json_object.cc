#include "nfsclient/cli/json_object.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

namespace nfswalk::cli {
namespace {

// RFC 8259 7 leaves DEL and C1 as they are: a terminal that shows the line obeys them. `json` is
// UTF-8, where C1 is what begins with C2 and goes on below A0.
std::string WithoutControls(const std::string& json) {
  if (json.find_first_of("\x7f\xc2") == std::string::npos) return json;
  std::string out;
  for (size_t i = 0; i < json.size(); ++i) {
    const bool two = json[i] == '\xc2' && static_cast<uint8_t>(json[i + 1]) < 0xa0;
    if (two) ++i;
    if (two || json[i] == '\x7f') {
      out += fmt::format("\\u{:04x}", static_cast<uint8_t>(json[i]));
    } else {
      out += json[i];
    }
  }
  return out;
}

}  // namespace

std::string JsonObject::Text(std::string_view bytes) {
  return WithoutControls(
      nlohmann::json(bytes).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace nfswalk::cli
