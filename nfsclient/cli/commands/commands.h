// commands: the subcommands of nfswalk and the options of each, as the command line sets them.
//
// Thread safety: one thread.
#ifndef NFSWALK_NFSCLIENT_CLI_COMMANDS_COMMANDS_H_
#define NFSWALK_NFSCLIENT_CLI_COMMANDS_COMMANDS_H_

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <variant>

#include "nfsclient/cli/commands/find_filter.h"
#include "nfsclient/cli/commands/listing.h"
#include "nfsclient/cli/commands/mode_change.h"
#include "nfsclient/cli/console.h"
#include "nfsclient/cli/exit_code.h"
#include "nfsclient/cli/session.h"
#include "nfsclient/cli/show/stat_format.h"
#include "nfsclient/cli/tree_walk.h"
#include "nfsclient/mount/option_list.h"

namespace nfswalk::cli {

struct StatOptions {
  bool follow = false;
  bool acl = false;
  bool xattrs = false;
  std::optional<StatFormat> format;
};

struct LsOptions {
  ListingOptions listing;
  bool all = false;
  bool almost_all = false;
  bool recursive = false;
  bool directory_itself = false;
};

struct ReadlinkOptions {};

// None: whether the file exists.
struct AccessOptions {
  bool read = false;
  bool write = false;
  bool execute = false;
};

struct CatOptions {};

struct FindOptions {
  FindFilter filter;  // without `newer`
  TreeOptions tree;
  size_t depth_min = 0;
  std::optional<std::string> newer;  // a path of the export
  bool print0 = false;
};

struct DuOptions {
  TreeOptions tree;
  bool human = false;
  bool all = false;
  bool apparent_size = false;
  size_t depth_max = std::numeric_limits<size_t>::max();
};

struct CpOptions {
  // Another export that files are copied to.
  struct Destination {
    MountOptions mount;
    std::string url;
    bool same_server = false;  // as the source's: with one version a file has the same ids
    bool same_url = false;     // one mount does: the server can copy by itself
  };

  TreeOptions tree{.threads = 32};
  bool recursive = false;
  bool preserve = false;
  bool from_here = false;         // from this machine, to the export of the session
  std::optional<Destination> to;  // neither: to this machine
};

struct PutOptions {
  bool append = false;
};

struct MkdirOptions {
  bool parents = false;
  std::optional<ModeChange> mode;
};

struct RmOptions {
  TreeOptions tree;
  bool recursive = false;
  bool force = false;
};

struct MvOptions {};

struct LnOptions {
  bool symbolic = false;
};

struct TouchOptions {
  bool no_create = false;
};

struct ChmodOptions {
  TreeOptions tree;
  bool recursive = false;
  std::optional<ModeChange> mode;  // always set
};

struct DoctorOptions {};

// Options of `nfswalk stats`; paths are directories of this machine.
struct MountStatsOptions {
  bool openmetrics = false;
};

// Options of `nfswalk mount`; MountOptions are the client's.
struct MountCommandOptions {
  std::string directory;
  mount::OptionList list;  // its options of the client are in CommonOptions::mount
  bool foreground = false;
};

using CommandOptions =
    std::variant<StatOptions, LsOptions, ReadlinkOptions, AccessOptions, CatOptions, FindOptions,
                 DuOptions, CpOptions, PutOptions, MkdirOptions, RmOptions, MvOptions, LnOptions,
                 TouchOptions, ChmodOptions, DoctorOptions, MountCommandOptions, MountStatsOptions>;

// Each reports failures to `session`, and returns early once the output failed.
void RunCommand(Session& session, const Paths& paths, const StatOptions& options);
void RunCommand(Session& session, const Paths& paths, const LsOptions& options);
void RunCommand(Session& session, const Paths& paths, const ReadlinkOptions& options);
void RunCommand(Session& session, const Paths& paths, const AccessOptions& options);
void RunCommand(Session& session, const Paths& paths, const CatOptions& options);
void RunCommand(Session& session, const Paths& paths, const FindOptions& options);
void RunCommand(Session& session, const Paths& paths, const DuOptions& options);
void RunCommand(Session& session, const Paths& paths, const CpOptions& options);
void RunCommand(Session& session, const Paths& paths, const PutOptions& options);
void RunCommand(Session& session, const Paths& paths, const MkdirOptions& options);
void RunCommand(Session& session, const Paths& paths, const RmOptions& options);
void RunCommand(Session& session, const Paths& paths, const MvOptions& options);
void RunCommand(Session& session, const Paths& paths, const LnOptions& options);
void RunCommand(Session& session, const Paths& paths, const TouchOptions& options);
void RunCommand(Session& session, const Paths& paths, const ChmodOptions& options);

// These need no export that is mounted before, but for the last, they connect by themselves.
ExitCode RunDoctor(Console& console, const CommonOptions& options);
// Returns when the export is unmounted, in another process than it was called unless `foreground`.
// Preconditions: no other thread.
ExitCode RunMount(Console& console, const CommonOptions& common,
                  const MountCommandOptions& options);
ExitCode RunMountStats(Console& console, const CommonOptions& common,
                       const MountStatsOptions& options);

}  // namespace nfswalk::cli

#endif  // NFSWALK_NFSCLIENT_CLI_COMMANDS_COMMANDS_H_
