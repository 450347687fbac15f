// verbatim: keeps CLI11 from parsing an argument like "[a,b]" or "{}" as a list: here both are file
// names.
//
// Arguments cannot contain NUL: ProtectArguments() appends one to those that CLI11 would split,
// Verbatim() removes it.
#ifndef NFSWALK_NFSCLIENT_CLI_VERBATIM_H_
#define NFSWALK_NFSCLIENT_CLI_VERBATIM_H_

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

namespace nfswalk::cli {

// The arguments of main(), without the program's name, in the order of CLI::App::parse: the
// last one first.
std::vector<std::string> ProtectArguments(int argc, const char* const* argv);

std::string Verbatim(std::string argument);

// Declares an option with one value. `parse` takes the text and returns a std::expected whose error
// is a sentence; it becomes a CLI::ValidationError. `value` lives until parsing is over.
template <typename Value, typename Parse>
CLI::Option* AddValue(CLI::App& command, const std::string& name, Value& value,
                      const std::string& help, Parse parse) {
  const CLI::callback_t set = [name, &value, parse](const CLI::results_t& results) {
    auto parsed = parse(Verbatim(results.back()));
    if (!parsed) throw CLI::ValidationError(name, parsed.error());
    value = *std::move(parsed);
    return true;
  };
  return command.add_option(name, set, help)->expected(1);
}

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_VERBATIM_H_
