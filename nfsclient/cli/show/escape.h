// escape: bytes that a server chose, made safe for a terminal or for JSON.
//
// Thread safety: pure functions.
#ifndef NFSWALK_NFSCLIENT_CLI_SHOW_ESCAPE_H_
#define NFSWALK_NFSCLIENT_CLI_SHOW_ESCAPE_H_

#include <string>
#include <string_view>

namespace nfswalk::cli {

// A name may hold any byte but NUL and '/', escape sequences of a terminal included. Control
// characters (ASCII, C1, and those that turn the direction of text) and what is not UTF-8 come out
// as \n, \t, ... or \x1b, and a backslash as two: no information is lost.
std::string Escape(std::string_view name);

// Escapes the same characters of JSON in UTF-8 as \u and four digits: RFC 8259 7 leaves DEL, C1 and
// those that turn the direction as they are, and a terminal that shows the line obeys them.
std::string EscapeInJson(std::string_view json);

// RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
bool IsUtf8(std::string_view text);

// RFC 4648 4, with padding.
std::string Base64(std::string_view bytes);

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_SHOW_ESCAPE_H_
