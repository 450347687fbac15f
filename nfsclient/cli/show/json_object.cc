#include "nfsclient/cli/show/json_object.h"

#include <nlohmann/json.hpp>

#include "nfsclient/cli/show/escape.h"

namespace nfswalk::cli {

std::string JsonObject::Text(std::string_view bytes) {
  return EscapeInJson(
      nlohmann::json(bytes).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace nfswalk::cli
