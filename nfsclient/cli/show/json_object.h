// json_object: one object of a JSON line, built as text.
//
// Thread safety: as any value.
#ifndef NFSWALK_NFSCLIENT_CLI_SHOW_JSON_OBJECT_H_
#define NFSWALK_NFSCLIENT_CLI_SHOW_JSON_OBJECT_H_

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nfswalk::cli {

class JsonObject {
 public:
  // Values are strings (bytes that are not UTF-8 become U+FFFD, controls \u....), bool, integers,
  // objects, vectors of these, and std::optional, which is null without a value. Keys keep the
  // order of the calls. Preconditions: `key` is new, and plain text: it is not escaped.
  template <typename Value>
  JsonObject& Set(std::string_view key, const Value& value) {
    members_.append(members_.empty() ? "\"" : ",\"").append(key).append("\":").append(Text(value));
    return *this;
  }

  // Without a newline.
  std::string text() const { return "{" + members_ + "}"; }

 private:
  static std::string Text(std::string_view bytes);
  static std::string Text(const JsonObject& object) { return object.text(); }
  static std::string Text(std::integral auto value) {
    if constexpr (std::same_as<decltype(value), bool>) return value ? "true" : "false";
    return std::to_string(value);
  }

  template <typename Value>
  static std::string Text(const std::optional<Value>& value) {
    return value ? Text(*value) : "null";
  }

  template <typename Value>
  static std::string Text(const std::vector<Value>& values) {
    std::string list;
    for (const Value& value : values) list += (list.empty() ? "" : ",") + Text(value);
    return "[" + list + "]";
  }

  std::string members_;
};

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_SHOW_JSON_OBJECT_H_
