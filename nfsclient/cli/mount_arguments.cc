#include "nfsclient/cli/mount_arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "nfsclient/cli/command_line.h"
#include "nfsclient/cli/commands/commands.h"
#include "nfsclient/cli/mount_source.h"
#include "nfsclient/mount/option_list.h"

namespace nfswalk::cli {
namespace {

constexpr const char* kStatsHelp = R"(
Asks the process of a mount that DIRECTORY is in: calls to the server by procedure (version 4: by
the operation that a COMPOUND is for) and how long they took, walks and why they left RCU-walk,
what is cached. Counters begin with the mount.

Examples:
  nfswalk stats ~/export
  nfswalk stats --json ~/export | jq .rpc_replies_total
  nfswalk stats --openmetrics ~/export > /var/lib/node_exporter/nfswalk.prom

Exit codes: 0 all went well, 1 no mount of nfswalk, 2 wrong command line.
)";

constexpr const char* kHelp = R"(
Makes the export a directory of this machine that all programs can use (FUSE), until
'fusermount3 -u DIRECTORY' or umount(8). In the background once it is mounted.

OPTIONS are those of the URL, named as in nfs(5), and those of mount(8) and FUSE: ro, suid, dev,
noexec, noatime, allow_other, auto_unmount, fsname=NAME, subtype=NAME; and nonempty. Of nfs(5) what
this client does anyway is accepted (sec=sys, proto=tcp, bg), and what it cannot do is refused.
The files are those of the user who mounts, and no other user may enter; with allow_other each
process has its own rights. Locks (fcntl, flock) are the server's with version 4, and hold among
the programs of this machine only with nolock and with version 3, which has no NLM here. In fstab:
  nfs://server/export  /mnt  fuse.nfswalk  lock,nosuid,nodev,_netdev  0  0

Examples:
  nfswalk mount nfs://server/export ~/export
  nfswalk mount -o vers=4,nocto,actimeo=60 server:/export ~/export

Exit codes: 0 mounted (with -f: and unmounted), 1 the directory cannot be mounted on, 2 wrong
command line, 3 the server could not be reached.
)";

// The options after -o come behind those of the URL, so that they win.
MountOptions ParseMount(std::string url, const mount::OptionList& list) {
  for (const std::string& option : list.client) {
    if (const auto why = mount::RefusedMountOption(option); !why.empty()) {
      throw CLI::ValidationError("-o", fmt::format("option '{}': {}", option, why));
    }
    if (option.find('&') != std::string::npos) {
      throw CLI::ValidationError("-o", "'" + option + "': options are separated by commas here");
    }
    if (!nfs::KnowsMountOption(option)) {
      throw CLI::ValidationError(
          "-o", fmt::format("option '{}' is not known: accepted are {}; of the URL {}", option,
                            mount::MountOnlyNames(), nfs::MountOptionNames()));
    }
    url += url.find('?') == std::string::npos ? '?' : '&';
    url += option;
  }
  auto parsed = ParseMountUrl(url);
  if (!parsed) throw CLI::ValidationError("URL", parsed.error());
  return *std::move(parsed);
}

}  // namespace

void AddMount(CLI::App& app, Invocation& invocation) {
  CLI::App& command = *app.add_subcommand("mount", "mount an export with FUSE");
  CommonOptions& common = invocation.common;
  auto options = std::make_shared<MountCommandOptions>();
  command
      .add_option("URL", common.url, "nfs://host[:port]/export[?option&...], or host:/export")
      ->required();
  command.add_option("DIRECTORY", options->directory, "where to mount it")->required();
  command
      .add_option_function<std::vector<std::string>>(
          "-o,--options",
          [options](const std::vector<std::string>& lists) {
            for (const std::string& list : lists) AddOptions(options->list, list);
          },
          "options of nfs(5), of mount(8) and of FUSE, separated by commas")
      ->type_name("OPTIONS")
      ->allow_extra_args(false);
  command.add_flag("-f,--foreground", options->foreground, "stay in the foreground");
  command.footer(kHelp + 1);
  command.callback([&invocation, options] {
    invocation.command = "mount";
    std::string& source = invocation.common.url;
    if (source.ends_with('\0')) source.pop_back();  // one that begins with a bracket
    invocation.common.mount = ParseMount(UrlOf(invocation.common.url), options->list);
    invocation.options = *options;
  });
}

void AddMountStats(CLI::App& app, Invocation& invocation) {
  CLI::App& command = *app.add_subcommand("stats", "show counters of a mount");
  auto options = std::make_shared<MountStatsOptions>();
  command.add_option("DIRECTORY", invocation.common.paths, "in mounts of nfswalk")->required();
  CLI::Option* const json =
      command.add_flag("--json", invocation.common.json, "print JSON lines, one object a mount");
  command.add_flag("--openmetrics", options->openmetrics, "print what Prometheus reads")
      ->excludes(json);
  command.footer(kStatsHelp + 1);
  command.callback([&invocation, options] {
    invocation.command = "stats";
    invocation.options = *options;
  });
}

void AcceptMountSpelling(std::vector<std::string>& arguments) {
  if (arguments.empty()) return;
  if (!nfs::IsMountUrl(arguments.back()) && !IsDevice(arguments.back())) return;
  // mount.fuse3(8) adds "dev,suid" wherever fstab does not have their contraries, and mount(8)
  // does not pass them on where fstab has them: neither tells what was asked for.
  arguments.insert(arguments.begin(), {"nosuid,nodev", "-o"});
  arguments.push_back("mount");
}

}  // namespace nfswalk::cli
