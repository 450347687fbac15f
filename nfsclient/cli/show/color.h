// color: names in the colours that `ls` gives to types of files.
//
// Thread safety: pure functions, but for the environment that UseColor() reads.
#ifndef NFSWALK_NFSCLIENT_CLI_SHOW_COLOR_H_
#define NFSWALK_NFSCLIENT_CLI_SHOW_COLOR_H_

#include <expected>
#include <string>
#include <string_view>

#include "nfsclient/client.h"

namespace nfswalk::cli {

enum class ColorWhen { kAuto, kAlways, kNever };

// "auto", "always", "never"; the error names the value and these three.
std::expected<ColorWhen, std::string> ParseColorWhen(std::string_view text);

// kAuto: on a terminal, unless NO_COLOR is set to anything (no-color.org) or TERM is "dumb".
bool UseColor(ColorWhen when, bool out_is_terminal);

// `name` in the colour of what it is, those of `ls` without LS_COLORS; as it is where that has
// none.
std::string Colored(std::string_view name, const Attributes& attributes);

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_SHOW_COLOR_H_
