#include "nfsclient/cli/json_object.h"

#include <nlohmann/json.hpp>

namespace nfswalk::cli {

std::string JsonObject::Text(std::string_view bytes) {
  return nlohmann::json(bytes).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace nfswalk::cli
