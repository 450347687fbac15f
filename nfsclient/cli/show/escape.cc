#include "nfsclient/cli/show/escape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace nfswalk::cli {
namespace {

struct Character {
  uint32_t code = 0;
  size_t length = 0;  // in bytes; 0: not UTF-8
};

constexpr Character kNotUtf8{};

// The first character of `text`, which is not empty.
Character Decode(std::string_view text) {
  const auto lead = static_cast<uint8_t>(text[0]);
  if (lead < 0x80) return {lead, 1};
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return kNotUtf8;
  uint32_t code = lead & (0x7f >> length);
  for (size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if ((byte & 0xc0) != 0x80) return kNotUtf8;
    code = code << 6 | (byte & 0x3f);
  }
  const uint32_t least = length == 4 ? 0x10000 : length == 3 ? 0x800 : 0x80;
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < least || code > 0x10ffff || surrogate) return kNotUtf8;
  return {code, length};
}

bool IsControl(uint32_t code) { return code < 0x20 || (code >= 0x7f && code < 0xa0); }

// Unicode's Bidi_Control: marks, embeddings, overrides and isolates.
bool IsBidiControl(uint32_t code) {
  return code == 0x061c || code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

void AppendEscaped(std::string& out, char c) {
  switch (c) {
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += fmt::format("\\x{:02x}", static_cast<uint8_t>(c));
  }
}

}  // namespace

std::string Escape(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    const Character character = Decode(name);
    const std::string_view bytes = name.substr(0, std::max<size_t>(character.length, 1));
    if (character.length == 0 || IsControl(character.code) || IsBidiControl(character.code)) {
      for (const char c : bytes) AppendEscaped(out, c);
    } else {
      if (character.code == '\\') out += '\\';
      out += bytes;
    }
    name.remove_prefix(bytes.size());
  }
  return out;
}

std::string EscapeInJson(std::string_view json) {
  // Skips text without a byte that such a character begins with.
  if (json.find_first_of("\x7f\xc2\xd8\xe2") == std::string_view::npos) return std::string(json);
  std::string out;
  while (!json.empty()) {
    const Character character = Decode(json);
    const std::string_view bytes = json.substr(0, std::max<size_t>(character.length, 1));
    if (IsControl(character.code) || IsBidiControl(character.code)) {
      out += fmt::format("\\u{:04x}", character.code);
    } else {
      out += bytes;
    }
    json.remove_prefix(bytes.size());
  }
  return out;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const Character character = Decode(text);
    if (character.length == 0) return false;
    text.remove_prefix(character.length);
  }
  return true;
}

std::string Base64(std::string_view bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      group = group << 8 | (j < count ? static_cast<uint8_t>(bytes[i + j]) : 0);
    }
    for (size_t j = 0; j < 4; ++j) {
      out += j <= count ? kDigits[group >> (18 - 6 * j) & 0x3f] : '=';
    }
  }
  return out;
}

}  // namespace nfswalk::cli
