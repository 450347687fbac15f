#include "nfsclient/cli/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <expected>
#include <functional>
#include <iterator>
#include <sstream>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

namespace nfswalk::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSubsetOf;
using testing::Not;
using testing::StartsWith;

using Arguments = std::vector<std::string>;

constexpr const char* kUrl = "nfs://server/export";
const Arguments kCommands = {"stat", "ls",    "readlink", "access", "cat", "find",
                             "du",   "cp",    "put",      "mkdir",  "rm",  "mv",
                             "ln",   "touch", "chmod",    "doctor"};

std::expected<Invocation, NoInvocation> Parse(const Arguments& arguments) {
  std::vector<const char*> argv{"nfswalk"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  return ParseCommandLine(static_cast<int>(argv.size()), argv.data());
}

// Returns the invocation of a command line that is right.
Invocation Parsed(const Arguments& arguments) {
  auto invocation = Parse(arguments);
  if (invocation) return *std::move(invocation);
  ADD_FAILURE() << invocation.error().text;
  return {};
}

// Returns the error text of a command line that is wrong.
std::string ErrorOf(const Arguments& arguments) {
  const auto invocation = Parse(arguments);
  if (invocation) return "no error";
  EXPECT_EQ(invocation.error().code, kExitUsage);
  return invocation.error().text;
}

Arguments Words(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

// A command with its URL, paths, and `more` behind them.
Arguments Line(const std::string& command, const Arguments& more = {}) {
  Arguments line{command, kUrl, "a"};
  if (command != "put") line.push_back("b");
  const bool has_mode = !more.empty() && (more[0].starts_with("-m") || more[0] == "--mode");
  if (command == "chmod" && !has_mode) line.insert(line.end(), {"-m", "644"});
  line.insert(line.end(), more.begin(), more.end());
  return line;
}

struct OptionRow {
  std::string command;
  Arguments spellings;  // words of one of them are one argument each
  std::function<bool(const Invocation&)> is_set;
};

template <typename Options>
OptionRow Row(const std::string& command, const Arguments& spellings,
              bool (*is_set)(const Options&)) {
  return {command, spellings, [is_set](const Invocation& invocation) {
            return is_set(std::get<Options>(invocation.options));
          }};
}

std::vector<OptionRow> RowsOfChanges() {
  return {
      Row<PutOptions>("put", {"-a", "--append"}, [](auto& o) { return o.append; }),
      Row<MkdirOptions>("mkdir", {"-p", "--parents"}, [](auto& o) { return o.parents; }),
      Row<MkdirOptions>("mkdir", {"-m 750", "-m750", "--mode 750"},
                        [](auto& o) { return o.mode && o.mode->Apply(0777, true, 0) == 0750; }),
      Row<RmOptions>("rm", {"-r", "-R", "--recursive"}, [](auto& o) { return o.recursive; }),
      Row<RmOptions>("rm", {"-f", "--force"}, [](auto& o) { return o.force; }),
      Row<RmOptions>("rm", {"--threads 3"}, [](auto& o) { return o.tree.threads == 3; }),
      Row<LnOptions>("ln", {"-s", "--symbolic"}, [](auto& o) { return o.symbolic; }),
      Row<TouchOptions>("touch", {"-c", "--no-create"}, [](auto& o) { return o.no_create; }),
      Row<ChmodOptions>("chmod", {"-m u+x", "--mode u+x"},
                        [](auto& o) { return o.mode->Apply(0600, false, 0) == 0700; }),
      Row<ChmodOptions>("chmod", {"-R", "--recursive"}, [](auto& o) { return o.recursive; }),
      Row<ChmodOptions>("chmod", {"--threads 4"}, [](auto& o) { return o.tree.threads == 4; }),
  };
}

// Each option of each command, and what it alone sets.
std::vector<OptionRow> OptionRows() {
  std::vector<OptionRow> rows = {
      Row<StatOptions>("stat", {"-L", "--dereference"}, [](auto& o) { return o.follow; }),
      Row<StatOptions>("stat", {"-c <%n>", "--format <%n>", "--format=<%n>"},
                       [](auto& o) {
                         return o.format && o.format->Render({"a", ""}) == "<a>";
                       }),
      Row<StatOptions>("stat", {"--acl"}, [](auto& o) { return o.acl; }),
      Row<StatOptions>("stat", {"--xattrs"}, [](auto& o) { return o.xattrs; }),
      Row<LsOptions>("ls", {"--acl"}, [](auto& o) { return o.listing.acl; }),
      Row<LsOptions>("ls", {"-a", "--all"}, [](auto& o) { return o.all; }),
      Row<LsOptions>("ls", {"-A", "--almost-all"}, [](auto& o) { return o.almost_all; }),
      Row<LsOptions>("ls", {"-d", "--directory"}, [](auto& o) { return o.directory_itself; }),
      Row<LsOptions>("ls", {"-l", "--long", "-ll"},
                     [](auto& o) { return o.listing.details && !o.listing.style.numeric; }),
      Row<LsOptions>("ls", {"-n", "--numeric-uid-gid", "-ln", "-nl"},
                     [](auto& o) { return o.listing.details && o.listing.style.numeric; }),
      Row<LsOptions>("ls", {"-h", "--human-readable"},
                     [](auto& o) { return o.listing.style.human; }),
      Row<LsOptions>("ls", {"-R", "--recursive"}, [](auto& o) { return o.recursive; }),
      Row<LsOptions>("ls", {"-r", "--reverse"}, [](auto& o) { return o.listing.reversed; }),
      Row<LsOptions>("ls", {"-t"}, [](auto& o) { return o.listing.order == ListOrder::kTime; }),
      Row<LsOptions>("ls", {"-S"}, [](auto& o) { return o.listing.order == ListOrder::kSize; }),
      Row<LsOptions>("ls", {"--color never", "--color=never"},
                     [](auto& o) { return o.listing.color == ColorWhen::kNever; }),
      Row<AccessOptions>("access", {"-r", "--read"}, [](auto& o) { return o.read; }),
      Row<AccessOptions>("access", {"-w", "--write"}, [](auto& o) { return o.write; }),
      Row<AccessOptions>("access", {"-x", "--execute"}, [](auto& o) { return o.execute; }),
      Row<FindOptions>("find", {"--name [a].h", "-name [a].h"},
                       [](auto& o) { return o.filter.name == "[a].h"; }),
      Row<FindOptions>("find", {"--iname {x}", "-iname {x}"},
                       [](auto& o) { return o.filter.iname == "{x}"; }),
      Row<FindOptions>("find", {"--path -path", "-path -path"},
                       [](auto& o) { return o.filter.path == "-path"; }),
      Row<FindOptions>("find", {"--type f,l", "-type f,l"},
                       [](auto& o) { return o.filter.types == "fl"; }),
      Row<FindOptions>("find", {"--size -3k", "-size -3k", "--size=-3k"},
                       [](auto& o) { return o.filter.size && o.filter.size->Matches(2048); }),
      Row<FindOptions>("find", {"--newer x", "-newer x"}, [](auto& o) { return o.newer == "x"; }),
      Row<FindOptions>("find", {"--mindepth 2", "-mindepth 2"},
                       [](auto& o) { return o.depth_min == 2; }),
      Row<FindOptions>("find", {"--maxdepth 3", "-maxdepth 3"},
                       [](auto& o) { return o.tree.depth_max == 3; }),
      Row<FindOptions>("find", {"--threads 1"}, [](auto& o) { return o.tree.threads == 1; }),
      Row<FindOptions>("find", {"--print0", "-print0"}, [](auto& o) { return o.print0; }),
      Row<DuOptions>("du", {"-s", "--summarize"}, [](auto& o) { return o.depth_max == 0; }),
      Row<DuOptions>("du", {"-h", "--human-readable"}, [](auto& o) { return o.human; }),
      Row<DuOptions>("du", {"-a", "--all"}, [](auto& o) { return o.all; }),
      Row<DuOptions>("du", {"--apparent-size"}, [](auto& o) { return o.apparent_size; }),
      Row<DuOptions>("du", {"-d 2", "-d2", "--max-depth 2"},
                     [](auto& o) { return o.depth_max == 2; }),
      Row<DuOptions>("du", {"--threads 64"}, [](auto& o) { return o.tree.threads == 64; }),
      Row<CpOptions>("cp", {"-r", "-R", "--recursive"}, [](auto& o) { return o.recursive; }),
      Row<CpOptions>("cp", {"-p", "--preserve"}, [](auto& o) { return o.preserve; }),
      Row<CpOptions>("cp", {"--threads 2"}, [](auto& o) { return o.tree.threads == 2; }),
  };
  std::ranges::move(RowsOfChanges(), std::back_inserter(rows));
  for (const std::string& command : kCommands) {
    rows.push_back({command, {"--json"}, [](auto& line) { return line.common.json; }});
    rows.push_back(
        {command, {"--uid 4294967295"}, [](auto& line) { return line.common.uid == 4294967295; }});
    rows.push_back({command, {"--gid 0"}, [](auto& line) { return line.common.gid == 0u; }});
    rows.push_back({command, {"--groups 27,4,24"}, [](auto& line) {
                      return line.common.groups == std::vector<uint32_t>{27, 4, 24};
                    }});
  }
  return rows;
}

// Which of `rows` that are for the command a command line sets.
Arguments SetBy(const Arguments& line, const std::vector<OptionRow>& rows) {
  Arguments set;
  const Invocation invocation = Parsed(line);
  for (const OptionRow& row : rows) {
    if (row.command == line[0] && row.is_set(invocation)) set.push_back(row.spellings[0]);
  }
  return set;
}

TEST(CommandLine, EachOptionAloneSetsItsFieldAndNoOther) {
  const std::vector<OptionRow> rows = OptionRows();
  for (const OptionRow& row : rows) {
    for (const std::string& spelling : row.spellings) {
      EXPECT_THAT(SetBy(Line(row.command, Words(spelling)), rows), ElementsAre(row.spellings[0]))
          << row.command << " " << spelling;
    }
  }
}

TEST(CommandLine, WithoutOptionsNoneIsSet) {
  for (const std::string& command : kCommands) {
    EXPECT_THAT(SetBy(Line(command), OptionRows()), IsEmpty()) << command;
    EXPECT_EQ(Parsed(Line(command)).command, command);
  }
}

// "--all" of "  -a,--all      also names": the last spelling of each option that the help text has.
Arguments OptionsInHelp(const std::string& command) {
  Arguments options;
  const auto help = Parse({command, "--help"});
  std::istringstream lines(help.error().text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  -")) continue;
    const std::string names = Words(line)[0];
    options.push_back(names.substr(names.rfind(',') + 1));
  }
  return options;
}

TEST(CommandLine, EachOptionOfTheHelpTextIsTested) {
  for (const std::string& command : kCommands) {
    Arguments tested{"--help"};
    for (const OptionRow& row : OptionRows()) {
      if (row.command != command) continue;
      for (const std::string& spelling : row.spellings) tested.push_back(Words(spelling)[0]);
    }
    EXPECT_THAT(OptionsInHelp(command), AllOf(Not(IsEmpty()), IsSubsetOf(tested))) << command;
  }
}

struct BadValueRow {
  std::string command;
  std::string option;
  Arguments values;
  std::string accepted;
};

std::vector<BadValueRow> BadValueRows() {
  std::vector<BadValueRow> rows = {
      {"stat", "--format", {"%q", "%J"}, "accepted are %a %A %b"},
      {"ls", "--color", {"red", "", "AUTO", "[auto]"}, "accepted is auto, always or never"},
      {"find", "--type", {"x", "", "f,", "ff", "[f]"}, "accepted is one of f (file)"},
      {"find", "--size", {"x", "", "+", "10K", "{1}"}, "accepted is a number, + or - before it"},
      {"find", "--mindepth", {"x", "-1"}, "accepted is a number from 0 to 4294967295"},
      {"find", "--maxdepth", {"x", "4294967296"}, "accepted is a number from 0 to 4294967295"},
      {"mkdir", "--mode", {"", "8", "u", "rwx"}, "accepted is an octal mode such as 755"},
      {"chmod", "--mode", {"10000", "a+q", "+r,"}, "accepted is an octal mode such as 755"},
      {"du", "--max-depth", {"x", "1k"}, "accepted is a number from 0 to 4294967295"},
  };
  for (const std::string command : {"find", "du", "cp", "rm", "chmod"}) {
    rows.push_back({command,
                    "--threads",
                    {"0", "65", "-1", "1.5", "", "[1]"},
                    "accepted is a number from 1 to 64"});
  }
  for (const std::string& command : kCommands) {
    for (const std::string option : {"--uid", "--gid"}) {
      rows.push_back({command,
                      option,
                      {"4294967296", "-1", "root", "0x10", "1 ", "", "1.5"},
                      "accepted is a number from 0 to 4294967295"});
    }
    rows.push_back({command, "--groups", {"1;2", "staff", "[1]"}, "accepted is a number from 0"});
  }
  return rows;
}

TEST(CommandLine, AWrongValueIsNamedWithWhatIsAccepted) {
  for (const BadValueRow& row : BadValueRows()) {
    for (const std::string& value : row.values) {
      EXPECT_THAT(ErrorOf(Line(row.command, {row.option, value})),
                  AllOf(StartsWith("nfswalk: "), HasSubstr(row.option + ": '" + value + "'"),
                        HasSubstr(row.accepted),
                        HasSubstr("\nTry 'nfswalk " + row.command + " --help'.\n")));
    }
  }
}

TEST(CommandLine, OptionsThatContradictEachOtherAreRefused) {
  for (const auto& [command, one, other] :
       std::vector<std::array<std::string, 3>>{{"stat", "--json", "-c%n"},
                                               {"ls", "-t", "-S"},
                                               {"find", "--json", "--print0"},
                                               {"du", "-s", "-a"},
                                               {"du", "-s", "-d1"}}) {
    EXPECT_THAT(ErrorOf(Line(command, {one, other})), HasSubstr(" excludes ")) << command;
    EXPECT_THAT(ErrorOf(Line(command, {other, one})), HasSubstr(" excludes ")) << command;
  }
}

TEST(CommandLine, ACommandIsRequiredAndAnUnknownOneIsNamed) {
  EXPECT_THAT(ErrorOf({}), HasSubstr("required"));
  EXPECT_EQ(ErrorOf({"frob"}),
            "nfswalk: 'frob' is no command: accepted are stat, ls, readlink, access, cat, find, "
            "du, cp, put, mkdir, rm, mv, ln, touch, chmod, mount, stats and doctor\n");
  EXPECT_THAT(ErrorOf({"[a"}), HasSubstr("'[a' is no command"));
}

MountCommandOptions MountOf(const Invocation& invocation) {
  return std::get<MountCommandOptions>(invocation.options);
}

TEST(CommandLine, MountTakesOptionsOfTheUrlAndOfFuseInOneList) {
  const Invocation line = Parsed({"mount", "-o", "vers=4,ro,actimeo=7", "-f", "-oallow_other,nocto",
                                  "nfs://server/export?actimeo=5", "/mnt"});
  EXPECT_EQ(line.common.mount.server.version, 4);
  EXPECT_EQ(line.common.mount.acregmin_s, 7u) << "what follows -o overrides the URL";
  EXPECT_TRUE(line.common.mount.nocto);
  EXPECT_EQ(MountOf(line).directory, "/mnt");
  EXPECT_TRUE(MountOf(line).foreground);
  EXPECT_TRUE(MountOf(line).list.others);
  EXPECT_THAT(MountOf(line).list.fuse, ElementsAre("ro", "allow_other"));
}

TEST(CommandLine, MountIsSpelledAsByMount8) {
  const Invocation line =
      Parsed({"nfs://server/export", "/mnt", "-o", "rw,vers=3,_netdev,x-systemd.a,dev,suid"});
  EXPECT_EQ(line.command, "mount");
  EXPECT_EQ(line.common.mount.server.version, 3);
  EXPECT_EQ(MountOf(line).directory, "/mnt");
  EXPECT_THAT(MountOf(line).list.fuse, ElementsAre("rw", "dev", "suid", "nosuid", "nodev"))
      << "mount.fuse3 adds dev and suid by itself";
  EXPECT_FALSE(MountOf(line).foreground);
}

TEST(CommandLine, AUrlIsOneInAnyCase) {
  EXPECT_EQ(Parsed({"NFS://server/export", "/mnt"}).command, "mount");
  const Invocation copy =
      Parsed({"cp", "-r", "Nfs://server/export", "a", "nfs://server/export/", "b"});
  ASSERT_TRUE(std::get<CpOptions>(copy.options).to.has_value());
  EXPECT_TRUE(std::get<CpOptions>(copy.options).to->same_server);
}

// A directory is not copied into itself.
TEST(CommandLine, ACopyKnowsItsOwnServer) {
  const std::tuple<const char*, const char*, bool> rows[] = {
      {"nfs://server/export", "nfs://server/export", true},
      {"nfs://server/export", "nfs://server/export/inside", true},
      {"nfs://server/export", "nfs://server:2049/export", true},
      {"nfs://server:2049/export", "nfs://server:2049/other", true},
      {"nfs://server:2049/export", "nfs://server:2050/export", false},
      {"nfs://server/export", "nfs://other/export", false},
  };
  for (const auto& [from, to, same] : rows) {
    const Invocation copy = Parsed({"cp", "-r", from, "a", to, "b"});
    EXPECT_EQ(std::get<CpOptions>(copy.options).to->same_server, same) << from << " " << to;
  }
}

TEST(CommandLine, AnExportIsSpelledAsInNfs5) {
  for (const auto& [source, host, path] : std::vector<std::array<std::string, 3>>{
           {"server:/export", "server", "/export"},
           {"server:/", "server", "/"},
           {"192.0.2.1:/a%b?c:/d", "192.0.2.1", "/a%b?c:/d"},
           {"[2001:db8::1]:/export", "2001:db8::1", "/export"}}) {
    const Invocation line = Parsed({"mount", "-o", "vers=4", source, "/mnt"});
    EXPECT_EQ(line.common.mount.server.host, host);
    EXPECT_EQ(line.common.mount.server.export_path, path);
    EXPECT_EQ(line.common.mount.server.version, 4);
    EXPECT_EQ(line.common.url, source);
    EXPECT_EQ(Parsed({source, "/mnt"}).command, "mount") << "by mount(8)";
    EXPECT_EQ(Parsed({"ls", source}).common.mount.server.export_path, path);
  }
  const Invocation copy = Parsed({"cp", "-r", "server:/export", "a", "nfs://server/export", "b"});
  EXPECT_TRUE(std::get<CpOptions>(copy.options).to->same_server);
  for (const char* none : {":/export", "http://server/export", "a/b:/c", "2001:db8::1:/export"}) {
    EXPECT_THAT(ErrorOf({"mount", none, "/mnt"}), HasSubstr("is no URL of a mount")) << none;
  }
}

TEST(CommandLine, UmountNamesWhatEndsAMount) {
  EXPECT_EQ(ErrorOf({"umount", "/mnt"}),
            "nfswalk: 'umount' is no command: 'fusermount3 -u DIRECTORY' or umount(8) ends a mount\n");
}

TEST(CommandLine, MountNamesTheOptionThatIsNone) {
  EXPECT_THAT(ErrorOf({"mount", "-o", "ro,frob", "nfs://server/export", "/mnt"}),
              AllOf(HasSubstr("frob"), HasSubstr("accepted are")));
  EXPECT_THAT(ErrorOf({"mount", "nfs://server/export"}), HasSubstr("DIRECTORY"));
  EXPECT_THAT(ErrorOf({"mount", "-o", "allow_root", "nfs://server/export", "/mnt"}),
              AllOf(HasSubstr("allow_root"), HasSubstr("accepted is allow_other")));
  EXPECT_THAT(ErrorOf({"mount", "-o", "soft&nolock", "nfs://server/export", "/mnt"}),
              HasSubstr("'soft&nolock'"));
}

TEST(CommandLine, StatsTakesDirectoriesAndOneFormat) {
  const Invocation line = Parsed({"stats", "--openmetrics", "/mnt", "/other"});
  EXPECT_THAT(line.common.paths, ElementsAre("/mnt", "/other"));
  EXPECT_TRUE(std::get<MountStatsOptions>(line.options).openmetrics);
  EXPECT_THAT(ErrorOf({"stats", "--openmetrics", "--json", "/mnt"}), HasSubstr(" excludes "));
  EXPECT_THAT(ErrorOf({"stats"}), HasSubstr("DIRECTORY"));
}

TEST(CommandLine, ErrorsHideNoTerminalEscapes) {
  EXPECT_THAT(ErrorOf(Line("ls", {"--color", "\x1b[31m"})),
              AllOf(HasSubstr("'\\x1b[31m'"), Not(HasSubstr("\x1b"))));
}

TEST(CommandLine, HelpIsNoError) {
  for (const std::string& command : kCommands) {
    const auto invocation = Parse({command, "--help"});
    ASSERT_FALSE(invocation.has_value());
    EXPECT_EQ(invocation.error().code, kExitOk);
    EXPECT_THAT(invocation.error().text,
                AllOf(HasSubstr("Usage: nfswalk " + command + " "),
                      HasSubstr("\nExamples:\n  nfswalk " + command + " "),
                      HasSubstr("\n\nExit codes: 0 all went well, 1 some")));
  }
}

TEST(CommonOptions, TheUrlComesFirstThenPaths) {
  const CommonOptions options =
      Parsed({"stat", "nfs://server/export?soft", "a", "/b/c", "--json", "d"}).common;
  EXPECT_EQ(options.url, "nfs://server/export?soft");
  EXPECT_EQ(options.mount.server.host, "server");
  EXPECT_FALSE(options.mount.transport.hard);
  EXPECT_THAT(options.paths, ElementsAre("a", "/b/c", "d"));
  EXPECT_TRUE(options.json);
}

Paths PathsOf(const Arguments& arguments) { return Parsed(arguments).common.paths; }

TEST(CommonOptions, PathsThatLookLikeListsStayWhatTheyAre) {
  EXPECT_THAT(PathsOf({"stat", kUrl, "[a,b]"}), ElementsAre("[a,b]"));
  EXPECT_THAT(PathsOf({"stat", kUrl, "{}"}), ElementsAre("{}"));
  EXPECT_THAT(PathsOf({"stat", kUrl, "[", "%%", "{x}", "[]"}), ElementsAre("[", "%%", "{x}", "[]"));
}

TEST(CommonOptions, StrangePathsReachTheServerUnchanged) {
  const std::string long_path(5000, 'x');
  EXPECT_THAT(PathsOf({"stat", kUrl, "", "a b", "\xff\n", "ls", long_path}),
              ElementsAre("", "a b", "\xff\n", "ls", long_path));
  EXPECT_THAT(PathsOf({"stat", kUrl, "--", "-x", "--json"}), ElementsAre("-x", "--json"));
}

TEST(CommonOptions, WithoutAPathTheRootIsMeantWhereACommandAllowsIt) {
  for (const std::string command : {"ls", "find", "du", "doctor"}) {
    EXPECT_THAT(PathsOf({command, kUrl}), ElementsAre(".")) << command;
    EXPECT_THAT(PathsOf({command, kUrl, "a"}), ElementsAre("a")) << command;
  }
  for (const std::string command : {"stat", "readlink", "access", "cat", "cp"}) {
    EXPECT_THAT(ErrorOf({command, kUrl}), HasSubstr("PATH is required")) << command;
  }
  EXPECT_THAT(ErrorOf({"cp", kUrl, "[a]"}),
              HasSubstr("'[a]' alone: accepted are one or more paths"));
}

TEST(CommonOptions, ABrokenUrlIsExplained) {
  for (const std::string& command : kCommands) {
    EXPECT_THAT(ErrorOf({command, "nfs://s/e?timeo=0", "a", "b"}), HasSubstr("timeo=0"));
    EXPECT_THAT(ErrorOf({command, "/export", "a", "b"}), HasSubstr("nfs://host[:port]/export"));
    EXPECT_THAT(ErrorOf({command}), HasSubstr("URL is required"));
  }
}

TEST(CommonOptions, GroupsMayBeNoneButNotMissing) {
  EXPECT_THAT(*Parsed(Line("stat", {"--groups", ""})).common.groups, IsEmpty());
  for (const std::string text : {",", "1,", ",1", "1,,2"}) {
    EXPECT_THAT(ErrorOf(Line("stat", {"--groups", text})), HasSubstr("': ")) << text;
  }
}

TEST(TreeCommands, CachesAreSmallUnlessTheUrlSaysOtherwise) {
  for (const std::string& command : kCommands) {
    const bool tree = command == "find" || command == "du" || command == "cp" || command == "rm" ||
                      command == "chmod";
    Arguments line = Line(command);
    line[1] = "nfs://s/e?dentries=60000&inodes=20000";
    const MountOptions mount = Parsed(line).common.mount;
    EXPECT_EQ(mount.dentries_max, 60'000u) << command;
    EXPECT_EQ(mount.inodes_max, 20'000u) << command;
    EXPECT_EQ(mount.access_entries_max, tree ? std::optional<size_t>(50'000) : std::nullopt)
        << command;
  }
}

TEST(CredentialOf, IsThatOfTheProcessUnlessAnIdIsGiven) {
  EXPECT_EQ(CredentialOf({}), Credential::OfProcess());
  CommonOptions options;
  options.uid = 4'000'000;
  EXPECT_EQ(CredentialOf(options), Credential(4'000'000, 65534)) << "no account, no group";
  options.uid = 1;
  const passwd* const account = getpwuid(1);
  ASSERT_NE(account, nullptr);
  EXPECT_EQ(CredentialOf(options), Credential(1, account->pw_gid));
  options.gid = 100;
  options.groups = {4, 24};
  EXPECT_EQ(CredentialOf(options), Credential(1, 100, {4, 24}));
}

}  // namespace
}  // namespace nfswalk::cli
