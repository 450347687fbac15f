#include "nfsclient/cli/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <sstream>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "nfsclient/cli/find_spelling.h"
#include "nfsclient/cli/mount_arguments.h"
#include "nfsclient/cli/mount_source.h"
#include "nfsclient/cli/show/escape.h"

namespace nfswalk::cli {
namespace {

constexpr size_t kScanObjects = 50'000;

// Help texts begin with a newline that is not printed.
constexpr const char* kProgramHelp = R"(
Each command takes the URL of an export, then paths inside it:
  nfswalk stat nfs://server/export usr/include/stdio.h
  nfswalk COMMAND --help          options and examples of one command

URL options are named as in nfs(5): nfs://server/export?port=2049&soft&timeo=50&actimeo=60

Exit codes:
  0  all went well
  1  some path could not be served, or standard output could not be written
  2  the command line is wrong
  3  the export could not be mounted, or the server stopped answering
)";

constexpr const char* kExitCodes = R"(
Exit codes: 0 all went well, 1 some path failed or the output could not be written, 2 wrong
command line, 3 not mounted or the server stopped answering.
)";

constexpr const char* kCommandNames =
    "stat, ls, readlink, access, cat, find, du, cp, put, mkdir, rm, mv, ln, touch, chmod, mount, "
    "stats and doctor";

// The arguments of main() without the program's name, the last one first, as CLI::App::parse takes
// them. It would parse one like "[a,b]" or "{}" as a list; here both are file names. Arguments
// cannot contain NUL: one is appended to those that would be split, and Verbatim() removes it.
std::vector<std::string> ProtectArguments(int argc, const char* const* argv) {
  std::vector<std::string> arguments;
  for (int i = argc - 1; i > 0; --i) {
    std::string& argument = arguments.emplace_back(argv[i]);
    if (argument.starts_with('[') || argument.starts_with('{')) argument += '\0';
  }
  return arguments;
}

std::string Verbatim(std::string argument) {
  if (argument.ends_with('\0')) argument.pop_back();
  return argument;
}

// A value, or the sentence that explains what is wrong.
template <typename Value>
using Parsed = std::expected<Value, std::string>;

Parsed<std::string> ParseText(std::string text) { return text; }

// Decimal, 0 to 4294967295: users, groups, depths.
Parsed<uint32_t> ParseNumber(std::string_view text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return std::unexpected(fmt::format("'{}': accepted is a number from 0 to 4294967295", text));
  }
  return number;
}

// "" or numbers separated by commas.
Parsed<std::vector<uint32_t>> ParseNumbers(std::string_view text) {
  std::vector<uint32_t> numbers;
  if (text.empty()) return numbers;
  if (text.ends_with(',')) {
    return std::unexpected(
        fmt::format("'{}': nothing after the last comma: accepted is 4,24,27", text));
  }
  for (const auto part : std::views::split(text, ',')) {
    auto number = ParseNumber(std::string_view(part.begin(), part.end()));
    if (!number) return std::unexpected(std::move(number.error()));
    numbers.push_back(*number);
  }
  return numbers;
}

Parsed<unsigned> ParseThreads(std::string_view text) {
  const auto number = ParseNumber(text);
  if (!number || *number < 1 || *number > TreeOptions::kThreadsMax) {
    return std::unexpected(
        fmt::format("'{}': accepted is a number from 1 to {}", text, TreeOptions::kThreadsMax));
  }
  return *number;
}

// Declares an option with one value, `type` in the help text. `parse` takes the text and returns a
// Parsed. `value` lives until parsing is over.
template <typename Value, typename Parse>
CLI::Option* AddValue(CLI::App& command, const std::string& name, const char* type, Value& value,
                      const std::string& help, Parse parse) {
  const CLI::callback_t set = [name, &value, parse](const CLI::results_t& results) {
    auto parsed = parse(Verbatim(results.back()));
    if (!parsed) throw CLI::ValidationError(name, parsed.error());
    value = *std::move(parsed);
    return true;
  };
  return command.add_option(name, set, help)->expected(1)->type_name(type);
}

// -h is for sizes, as in ls(1) and du(1).
void FreeShortHelp(CLI::App& command) {
  command.set_help_flag("--help", "print this help message and exit");
}

enum class PathCount { kOne, kOneOrMore, kDefaultToRoot, kTwoOrMore };

struct Command {
  const char* name;
  const char* summary;
  PathCount paths;
  const char* help;
};

void DeclarePaths(CLI::App& command, Paths& paths, PathCount count) {
  const CLI::callback_t set = [&paths, count](const CLI::results_t& results) {
    if (count == PathCount::kTwoOrMore && results.size() < 2) {
      throw CLI::ValidationError("PATH", "'" + Verbatim(results.front()) +
                                             "' alone: accepted are one or more paths and, last, "
                                             "where they go");
    }
    if (count == PathCount::kOne && results.size() > 1) {
      throw CLI::ValidationError("PATH", "'" + Verbatim(results[1]) + "': accepted is one path");
    }
    paths.clear();
    for (const std::string& path : results) paths.push_back(Verbatim(path));
    return true;
  };
  CLI::Option* path =
      command
          .add_option("PATH", set,
                      "paths inside the export, from its root (after -- if one begins with a dash)")
          ->expected(1, -1)
          ->allow_extra_args();
  if (count == PathCount::kDefaultToRoot) {
    paths = {"."};
  } else {
    path->required();
  }
}

// `copies`: what is the URL is found out by TakeOperands().
void DeclareCommonOptions(CLI::App& command, CommonOptions& options, PathCount count, bool copies) {
  const auto parse_url = [&options, copies](const std::string& url) {
    options.url = url;
    return copies ? MountOptions() : ParseMountUrl(UrlOf(url));
  };
  AddValue(command, "URL", "", options.mount,
           "nfs://host[:port]/export[?option&...], or host:/export", parse_url)
      ->required();
  DeclarePaths(command, options.paths, count);
  command.add_flag("--json", options.json, "print JSON lines, one object per result");
  AddValue(command, "--uid", "NUMBER", options.uid, "call as this user, in its group", ParseNumber);
  AddValue(command, "--gid", "NUMBER", options.gid, "call as this group", ParseNumber);
  AddValue(command, "--groups", "NUMBER,...", options.groups, "with these supplementary groups",
           ParseNumbers);
}

void DeclareThreads(CLI::App& command, TreeOptions& options) {
  AddValue(command, "--threads", "NUMBER", options.threads,
           fmt::format("list directories with so many threads ({})", options.threads),
           ParseThreads);
}

// Lowers cache limits that the URL does not set: a walk of a tree uses each entry once.
void LimitCaches(MountOptions& mount) {
  for (auto* limit : {&mount.dentries_max, &mount.inodes_max, &mount.access_entries_max}) {
    if (!*limit) *limit = kScanObjects;
  }
}

MountOptions MountOf(const std::string& url) {
  auto mount = ParseMountUrl(UrlOf(url));
  if (!mount) throw CLI::ValidationError("URL", mount.error());
  LimitCaches(*mount);
  return *std::move(mount);
}

// [URL] PATH... [URL] PATH of cp: a path is of this machine unless there is a URL before it.
void TakeOperands(CommonOptions& common, CpOptions& options) {
  Paths operands = std::move(common.paths);
  operands.insert(operands.begin(), common.url);
  const auto is_url = [](const auto& word) { return nfs::IsMountUrl(word) || IsDevice(word); };
  const size_t before_last = operands.size() - 2;  // three at least
  const bool to_url = is_url(operands[before_last]);
  const bool from_url = is_url(operands.front()) || !to_url;
  if (from_url) common.mount = MountOf(common.url);
  if (to_url) {
    CpOptions::Destination to{MountOf(operands[before_last]), operands[before_last]};
    const auto& from = common.mount.server;
    to.same_server = from_url && MayBeSameServer(from, to.mount.server);
    to.same_url = from_url && common.url == to.url;
    options.from_here = !from_url;
    if (!from_url) std::tie(common.mount, common.url) = std::tie(to.mount, to.url);
    if (from_url) options.to = std::move(to);
    operands.erase(operands.end() - 2);
  }
  if (from_url) operands.erase(operands.begin());
  if (operands.size() < 2) {
    throw CLI::ValidationError("PATH", "'" + operands.back() +
                                           "' alone: accepted are one or more "
                                           "paths, and where they go");
  }
  common.paths = std::move(operands);
}

// Declares a command with what all commands have. Returns it and its options, which live as long as
// `app`; if this command is the one that is parsed, they are copied into `invocation`.
template <typename Options>
std::pair<CLI::App&, Options&> AddCommand(CLI::App& app, Invocation& invocation,
                                          const Command& description) {
  CLI::App& command = *app.add_subcommand(description.name, description.summary);
  DeclareCommonOptions(command, invocation.common, description.paths,
                       std::same_as<Options, CpOptions>);
  command.footer(std::string(description.help + 1) + kExitCodes);
  auto options = std::make_shared<Options>();
  command.callback([&invocation, &description, options] {
    invocation.command = description.name;
    if constexpr (std::same_as<Options, CpOptions>) TakeOperands(invocation.common, *options);
    invocation.options = *options;
    if constexpr (requires { options->tree; }) LimitCaches(invocation.common.mount);
  });
  return {command, *options};
}

constexpr Command kStat{"stat", "show type, rights, owner, size and times", PathCount::kOneOrMore,
                        R"(
Prints the attributes of each PATH. A symbolic link shows itself, unless -L is given.
The directives of --format are those of stat(1): %a %A %b %B %d %D %f %F %g %G %h %i %n %N
%r %R %Hr %Lr %s %t %T %u %U %x %X %y %Y %z %Z %%, with flags (- 0 #), width and precision.
%d and %D are the server's number of the file system. There is no birth time, block size of
I/O, mount point or security context: NFS does not carry them.

Examples:
  nfswalk stat nfs://server/export usr/include/stdio.h
  nfswalk stat --format '%A %8s %y %n' nfs://server/export usr bin
  nfswalk stat --json 'nfs://server/export?actimeo=600' usr bin | jq .size_bytes
)"};

void AddStat(CLI::App& app, Invocation& invocation) {
  auto [command, options] = AddCommand<StatOptions>(app, invocation, kStat);
  command.add_flag("-L,--dereference", options.follow, "show what a symbolic link points to");
  command.add_flag("--acl", options.acl, "also the ACL, by a call or two more");
  command.add_flag("--xattrs", options.xattrs, "also extended attributes (version 4.2)");
  CLI::Option* format = AddValue(command, "-c,--format", "FORMAT", options.format,
                                 "print this for each PATH, and a newline", StatFormat::Parse);
  for (const char* no : {"--json", "--acl", "--xattrs"}) format->excludes(command.get_option(no));
}

constexpr Command kLs{"ls", "list directories", PathCount::kDefaultToRoot, R"(
Lists directories, sorted by the bytes of the names; the root of the export if no PATH is given.
Users and groups are called as this machine calls their numbers.

Examples:
  nfswalk ls nfs://server/export
  nfswalk ls -lt --color=always nfs://server/export var/log | less -R
  nfswalk ls --json nfs://server/export home | jq -r .name
)"};

void AddLs(CLI::App& app, Invocation& invocation) {
  auto [command, options] = AddCommand<LsOptions>(app, invocation, kLs);
  ListingOptions& listing = options.listing;
  FreeShortHelp(command);
  command.add_flag("-a,--all", options.all, "also names that begin with a dot, and . and ..");
  command.add_flag("-A,--almost-all", options.almost_all, "the same without . and ..");
  command.add_flag("-d,--directory", options.directory_itself, "directories themselves");
  command.add_flag("-l,--long", listing.details, "type, rights, owner, size and time of each");
  command.add_flag_callback(
      "-n,--numeric-uid-gid", [&listing] { listing.details = listing.style.numeric = true; },
      "as -l, with users and groups as numbers");
  command.add_flag("--acl", listing.acl, "with -l: a plus where an ACL says more");
  command.add_flag("-h,--human-readable", listing.style.human, "with -l: sizes as 1.5K, 12M");
  command.add_flag("-R,--recursive", options.recursive, "also what is in directories below");
  command.add_flag("-r,--reverse", listing.reversed, "the other way round");
  CLI::Option* by_time = command.add_flag_callback(
      "-t", [&listing] { listing.order = ListOrder::kTime; }, "the newest first");
  command
      .add_flag_callback(
          "-S", [&listing] { listing.order = ListOrder::kSize; }, "the largest first")
      ->excludes(by_time);
  AddValue(command, "--color", "WHEN", listing.color, "colour names by type: auto, always or never",
           ParseColorWhen);
}

constexpr Command kReadlink{"readlink", "show where symbolic links point to", PathCount::kOneOrMore,
                            R"(
Prints where each symbolic link points to, one a line.

Examples:
  nfswalk readlink nfs://server/export usr/lib/libc.so
  nfswalk readlink --json nfs://server/export etc/mtab etc/os-release
)"};

constexpr Command kAccess{"access", "check whether a user may read, write, execute",
                          PathCount::kOneOrMore, R"(
Checks with the server, as access(2) does, whether the user may read, write, execute (search) each
PATH; without -r, -w and -x, whether it exists. Prints the paths that are allowed; one that is
not is an error.

Examples:
  nfswalk access -r -w nfs://server/export home/me/notes
  nfswalk access -x --uid 1000 --gid 1000 --groups 4,24 nfs://server/export usr/bin/*
)"};

void AddAccess(CLI::App& app, Invocation& invocation) {
  auto [command, options] = AddCommand<AccessOptions>(app, invocation, kAccess);
  command.add_flag("-r,--read", options.read, "may read");
  command.add_flag("-w,--write", options.write, "may write");
  command.add_flag("-x,--execute", options.execute, "may execute, or search a directory");
}

constexpr Command kCat{"cat", "print the contents of files", PathCount::kOneOrMore, R"(
Writes the bytes of each file to standard output, one after the other. With --json, an object
{"path", "offset_bytes", "data_base64"} for each piece read and {"path", "size_bytes"} at
the end of each file.

Examples:
  nfswalk cat nfs://server/export etc/hostname
  nfswalk cat nfs://server/export images/disk.img | sha256sum
)"};

constexpr Command kFind{"find", "walk directory trees", PathCount::kDefaultToRoot, R"(
Prints each PATH (the root of the export if none is given) and all that is below it, each
directory before its entries, in the server's order, whatever the number of threads. All tests
have to hold. Symbolic links are never followed. What cannot be read is an error; the search
goes on. Options may be spelled as in find(1), too: -name, -type, -size ...

Examples:
  nfswalk find nfs://server/export usr -name '*.h' -type f
  nfswalk find nfs://server/export home -size +100M -newer home/.backup-stamp
  nfswalk find --print0 nfs://server/export home | xargs -0 -n1 echo
  nfswalk find --json --maxdepth 1 nfs://server/export | jq -r .path
)"};

void AddFind(CLI::App& app, Invocation& invocation) {
  auto [command, options] = AddCommand<FindOptions>(app, invocation, kFind);
  FindFilter& filter = options.filter;
  AddValue(command, "--name", "PATTERN", filter.name, "only files with such a name: * ? [a-z]",
           ParseText);
  AddValue(command, "--iname", "PATTERN", filter.iname, "the same, whatever the case", ParseText);
  AddValue(command, "--path", "PATTERN", filter.path,
           "only files with such a path; * matches a slash, too", ParseText);
  AddValue(command, "--type", "LETTER,...", filter.types,
           "only files of this type: f, d, l, b, c, p, s", ParseTypes);
  AddValue(command, "--size", "SIZE", filter.size,
           "only files of this size: [+-]number[cwbkMG], as find(1)", ParseSizeTest);
  AddValue(command, "--newer", "PATH", options.newer,
           "only files modified after this one of the export", ParseText);
  AddValue(command, "--mindepth", "NUMBER", options.depth_min,
           "not the first levels, so many, of each PATH", ParseNumber);
  AddValue(command, "--maxdepth", "NUMBER", options.tree.depth_max,
           "at most so many levels below each PATH", ParseNumber);
  DeclareThreads(command, options.tree);
  command.add_flag("--print0", options.print0, "end each path with a NUL, not a newline")
      ->excludes(command.get_option("--json"));
}

constexpr Command kDu{"du", "sum up disk space", PathCount::kDefaultToRoot, R"(
Prints the disk space of each directory with all that is below it, in KiB, directories after
their entries; of the root of the export if no PATH is given. A file with several hard links
counts once. What cannot be read is an error and not counted.

Examples:
  nfswalk du -sh nfs://server/export home
  nfswalk du -d 1 nfs://server/export | sort -n
  nfswalk du --json -s nfs://server/export home | jq .used_bytes
)"};

void AddDu(CLI::App& app, Invocation& invocation) {
  auto [command, options] = AddCommand<DuOptions>(app, invocation, kDu);
  FreeShortHelp(command);
  CLI::Option* summarize = command.add_flag_callback(
      "-s,--summarize", [&depth_max = options.depth_max] { depth_max = 0; },
      "only the sum of each PATH");
  command.add_flag("-h,--human-readable", options.human, "sizes as 1.5K, 12M");
  command.add_flag("-a,--all", options.all, "files, too, not only directories")
      ->excludes(summarize);
  command.add_flag("--apparent-size", options.apparent_size, "sizes of files, not disk space");
  AddValue(command, "-d,--max-depth", "NUMBER", options.depth_max,
           "print only so many levels below each PATH", ParseNumber)
      ->excludes(summarize);
  DeclareThreads(command, options.tree);
}

constexpr Command kCp{"cp", "copy files and trees from and to exports", PathCount::kTwoOrMore, R"(
Copies to the last PATH: into it if it is a directory, else to it. A URL is the export of the
paths behind it; those before the first URL, and one behind other paths, are of this machine:
  URL PATH... LOCAL      LOCAL... URL PATH      URL PATH... URL PATH
A file is written under another name and renamed, so that a copy is whole or not there; a file in
its place is replaced, a directory or a device is not. Links are followed, but with -r copied as
links. Owners are not kept, nor set-user-ID and set-group-ID bits.

Examples:
  nfswalk cp nfs://server/export etc/hostname /tmp
  nfswalk cp -rp nfs://server/export home/me/project ./project
  nfswalk cp -r ./project nfs://server/export home/me
  nfswalk cp -r nfs://server/export home/me nfs://backup/export homes
)"};

void AddCp(CLI::App& app, Invocation& invocation) {
  auto [command, options] = AddCommand<CpOptions>(app, invocation, kCp);
  command.add_flag("-r,-R,--recursive", options.recursive, "directories with all that is in them");
  command.add_flag("-p,--preserve", options.preserve, "keep modes, times, xattrs and ACLs");
  AddValue(command, "--threads", "NUMBER", options.tree.threads,
           fmt::format("copy so many files at once ({})", options.tree.threads), ParseThreads);
}

constexpr Command kPut{"put", "write standard input to a file", PathCount::kOne, R"(
Writes standard input to PATH, which is created if it does not exist and emptied if it does. What
was written stays if that fails in the middle.

Examples:
  nfswalk put nfs://server/export backup/disk.img < disk.img
  nfswalk put -a nfs://server/export var/log/visits < today
)"};

void AddPut(CLI::App& app, Invocation& invocation) {
  auto [command, options] = AddCommand<PutOptions>(app, invocation, kPut);
  command.add_flag("-a,--append", options.append, "write behind what is there");
}

constexpr Command kMkdir{"mkdir", "make directories", PathCount::kOneOrMore, R"(
Makes each directory. Its mode is 777 without the bits of the umask, unless -m is given.

Examples:
  nfswalk mkdir -p nfs://server/export home/me/a/b
  nfswalk mkdir -m 1777 nfs://server/export tmp
)"};

void AddMkdir(CLI::App& app, Invocation& invocation) {
  auto [command, options] = AddCommand<MkdirOptions>(app, invocation, kMkdir);
  command.add_flag("-p,--parents", options.parents, "those above it, too; one that exists is none");
  AddValue(command, "-m,--mode", "MODE", options.mode, "as for chmod", ModeChange::Parse);
}

constexpr Command kRm{"rm", "remove files and trees", PathCount::kOneOrMore, R"(
Removes each file; a directory only with -r. Symbolic links are removed, not followed. The root,
"." and ".." are refused.

Examples:
  nfswalk rm nfs://server/export home/me/notes
  nfswalk rm -rf nfs://server/export home/me/build
)"};

void AddRm(CLI::App& app, Invocation& invocation) {
  auto [command, options] = AddCommand<RmOptions>(app, invocation, kRm);
  command.add_flag("-r,-R,--recursive", options.recursive, "directories with all that is in them");
  command.add_flag("-f,--force", options.force, "a path that does not exist is no error");
  DeclareThreads(command, options.tree);
}

constexpr Command kMv{"mv", "rename files and directories", PathCount::kTwoOrMore, R"(
Renames to the last PATH, or moves into it if it is a directory. A file in its place is replaced.

Examples:
  nfswalk mv nfs://server/export home/me/draft home/me/final
  nfswalk mv nfs://server/export home/me/a home/me/b home/me/done
)"};

constexpr Command kLn{"ln", "make links", PathCount::kTwoOrMore, R"(
Links the first PATHs as the last one, or in it if it is a directory. With -s the first ones are
texts that the links will hold, and need not lead anywhere.

Examples:
  nfswalk ln nfs://server/export data/1.log data/latest.log
  nfswalk ln -s nfs://server/export ../share/doc usr/doc
)"};

void AddLn(CLI::App& app, Invocation& invocation) {
  auto [command, options] = AddCommand<LnOptions>(app, invocation, kLn);
  command.add_flag("-s,--symbolic", options.symbolic, "symbolic links");
}

constexpr Command kTouch{"touch", "set times to now, or create empty files", PathCount::kOneOrMore,
                         R"(
Sets both times of each PATH to the server's present time; creates a file that does not exist.

Examples:
  nfswalk touch nfs://server/export home/.backup-stamp
)"};

void AddTouch(CLI::App& app, Invocation& invocation) {
  auto [command, options] = AddCommand<TouchOptions>(app, invocation, kTouch);
  command.add_flag("-c,--no-create", options.no_create, "create nothing");
}

constexpr Command kChmod{"chmod", "change modes", PathCount::kOneOrMore, R"(
Changes the permissions of each PATH; a symbolic link is followed, but with -R in a tree left
alone. MODE is octal, or clauses of u, g, o and a, of + - and =, and of r, w, x, X, s and t.

Examples:
  nfswalk chmod -m 644 nfs://server/export etc/motd
  nfswalk chmod -R -m u+rwX,go-w nfs://server/export home/me
)"};

void AddChmod(CLI::App& app, Invocation& invocation) {
  auto [command, options] = AddCommand<ChmodOptions>(app, invocation, kChmod);
  AddValue(command, "-m,--mode", "MODE", options.mode, "the permissions", ModeChange::Parse)
      ->required();
  command.add_flag("-R,--recursive", options.recursive, "directories with all that is in them");
  DeclareThreads(command, options.tree);
}

constexpr Command kDoctor{"doctor", "say what the server offers, and what is slow",
                          PathCount::kDefaultToRoot, R"(
Says what the server offers: versions, the time of a round trip, what it takes in one call, what
it grants the user. Looks each PATH up (the root if none is given) as programs would, and says
what makes lookups leave RCU-walk, with the options of this URL.

Examples:
  nfswalk doctor nfs://server/export
  nfswalk doctor 'nfs://server/export?version=4&actimeo=600' usr/include/stdio.h
  nfswalk doctor --json nfs://server/export | jq .round_trip.median_ns
)"};

std::string ExplainError(const CLI::App* app, const CLI::Error& error) {
  const auto used = app->get_subcommands();
  const auto rest = app->remaining();
  if (used.empty() && !rest.empty()) {
    if (rest.front() == "umount" || rest.front() == "unmount") {
      return fmt::format(
          "nfswalk: '{}' is no command: 'fusermount3 -u DIRECTORY' or umount(8) ends a mount\n",
          rest.front());
    }
    return fmt::format("nfswalk: '{}' is no command: accepted are {}\n",
                       Escape(Verbatim(rest.front())), kCommandNames);
  }
  return fmt::format("nfswalk: {}\nTry 'nfswalk{}{} --help'.\n", Escape(error.what()),
                     used.empty() ? "" : " ", used.empty() ? "" : used.front()->get_name());
}

// In the order of the help text.
void DeclareCommands(CLI::App& app, Invocation& invocation) {
  AddStat(app, invocation);
  AddLs(app, invocation);
  AddCommand<ReadlinkOptions>(app, invocation, kReadlink);
  AddAccess(app, invocation);
  AddCommand<CatOptions>(app, invocation, kCat);
  AddFind(app, invocation);
  AddDu(app, invocation);
  AddCp(app, invocation);
  AddPut(app, invocation);
  AddMkdir(app, invocation);
  AddRm(app, invocation);
  AddCommand<MvOptions>(app, invocation, kMv);
  AddLn(app, invocation);
  AddTouch(app, invocation);
  AddChmod(app, invocation);
  AddMount(app, invocation);
  AddMountStats(app, invocation);
  AddCommand<DoctorOptions>(app, invocation, kDoctor);
}

}  // namespace

std::expected<Invocation, NoInvocation> ParseCommandLine(int argc, const char* const* argv) {
  CLI::App app("Looks at an NFS export, and changes it, without the kernel's client.", "nfswalk");
  app.require_subcommand(1);
  app.footer(kProgramHelp + 1);
  app.failure_message(ExplainError);
  Invocation invocation;
  DeclareCommands(app, invocation);
  std::vector<std::string> arguments = ProtectArguments(argc, argv);
  AcceptFindSpelling(arguments);
  AcceptMountSpelling(arguments);
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& error) {
    std::ostringstream text;
    const bool is_help = app.exit(error, text, text) == 0;
    return std::unexpected(NoInvocation{is_help ? kExitOk : kExitUsage, std::move(text).str()});
  }
  return invocation;
}

}  // namespace nfswalk::cli
