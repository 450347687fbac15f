// find_spelling: `nfswalk find` takes its options as find(1) spells them, too: -name for --name.
#ifndef NFSWALK_NFSCLIENT_CLI_FIND_SPELLING_H_
#define NFSWALK_NFSCLIENT_CLI_FIND_SPELLING_H_

#include <string>
#include <vector>

namespace nfswalk::cli {

// `arguments`: of the program, the last one first, as CLI::App::parse takes them. Those that are
// spelled as in find(1) get their second dash, if the command is `find`; values of options, and
// what stands behind "--", stay as they are.
void AcceptFindSpelling(std::vector<std::string>& arguments);

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_FIND_SPELLING_H_
