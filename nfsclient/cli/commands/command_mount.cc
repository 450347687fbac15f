#include <fmt/format.h>
#include <sys/prctl.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "nfsclient/cli/commands/commands.h"
#include "nfsclient/cli/mount_source.h"
#include "nfsclient/cli/show/escape.h"
#include "nfsclient/mount/connect_guard.h"
#include "nfsclient/mount/daemon.h"
#include "nfsclient/mount/mount_point.h"
#include "nfsclient/mount/session.h"

namespace nfswalk::cli {
namespace {

constexpr std::string_view kSourceOption = "fsname=";

// Returns what the kernel shows as the source of the mount.
std::string SourceOf(const CommonOptions& common, const mount::OptionList& list) {
  const auto last =
      std::find_if(list.fuse.rbegin(), list.fuse.rend(),
                   [](const std::string& option) { return option.starts_with(kSourceOption); });
  if (last == list.fuse.rend() && IsDevice(common.url)) return common.url;
  return last == list.fuse.rend() ? common.url.substr(0, common.url.find('?'))
                                  : last->substr(kSourceOption.size());
}

mount::SessionOptions SessionOptionsOf(const std::string& source, const mount::OptionList& list,
                                       std::string directory) {
  std::string shown = Escape(directory);
  mount::SessionOptions session{std::move(directory), {}, std::move(shown)};
  // Options of the command line win.
  session.options = {"subtype=nfswalk", std::string(kSourceOption) + source};
  // The kernel answers other users from its caches, without a request that a server could refuse.
  if (list.others) session.options.push_back("default_permissions");
  session.options.insert(session.options.end(), list.fuse.begin(), list.fuse.end());
  return session;
}

}  // namespace

ExitCode RunMount(Console& console, const CommonOptions& common,
                  const MountCommandOptions& options) {
  const auto refuse = [&](std::string_view why, ExitCode code) {
    console.Complain(fmt::format("mount: {}", Escape(why)));
    return code;
  };
  const std::string source = SourceOf(common, options.list);
  const auto directory = mount::CheckMountPoint(
      options.directory,
      [&source](std::string_view mounted) { return NameSameExport(mounted, source); },
      options.list.nonempty);
  if (!directory) return refuse(directory.error(), kExitPathFailed);
  std::optional<mount::Daemon> background;
  if (!options.foreground) {
    auto started = mount::Daemon::Start();
    if (!started) {
      return refuse(std::make_error_code(started.error()).message(), kExitPathFailed);
    }
    background = *started;
  }
  // No core of it holds what other users read and write.
  if (options.list.others) prctl(PR_SET_DUMPABLE, 0);
  mount::BlockEndingSignals();
  openlog("nfswalk", LOG_PID | (options.foreground ? LOG_PERROR : 0), LOG_DAEMON);
  auto mount_options = common.mount;
  mount_options.protected_regular = false;  // the kernel's fs.protected_regular decides
  const std::string url = Escape(common.url);
  mount_options.transport.on_server_responds = [&url](bool responds) {
    syslog(responds ? LOG_NOTICE : LOG_WARNING, "the server of %s %s", url.c_str(),
           responds ? "responds again" : "is not responding, still trying");
  };
  std::optional<mount::ConnectGuard> connecting(
      std::in_place, background ? background->parent() : -1, [&](int signal) {
        (void)refuse(fmt::format("'{}': not mounted: {}", common.url, strsignal(signal)), kExitOk);
      });
  auto client = Client::Mount(mount_options);
  connecting.reset();
  if (!client) {
    return refuse(fmt::format("'{}': {}", common.url, client.error().message), kExitServerFailed);
  }
  const auto served =
      mount::Serve(**client, common.mount, SessionOptionsOf(source, options.list, *directory), [&] {
        syslog(LOG_INFO, "%s mounted on %s", url.c_str(), Escape(*directory).c_str());
        // The foreground process was killed; the user would not learn of the mount.
        if (background && !background->Detach()) kill(getpid(), SIGTERM);
      });
  if (!served) return refuse(fmt::format("'{}': {}", *directory, served.error()), kExitPathFailed);
  syslog(LOG_INFO, "%s unmounted", Escape(*directory).c_str());
  return kExitOk;
}

}  // namespace nfswalk::cli
