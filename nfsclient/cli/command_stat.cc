#include <memory>
#include <optional>
#include <string>

#include "nfsclient/cli/commands.h"
#include "nfsclient/cli/link_target.h"
#include "nfsclient/cli/stat_format.h"
#include "nfsclient/cli/verbatim.h"

namespace nfswalk::cli {
namespace {

constexpr const char* kExamples =
    "Prints the attributes of each PATH. A symbolic link shows itself, unless -L is "
    "given.\n"
    "The directives of --format are those of stat(1): %a %A %b %B %d %D %f %F %g %G %h %i %n %N\n"
    "%r %R %Hr %Lr %s %t %T %u %U %x %X %y %Y %z %Z %%, with flags (- 0 #), width and precision.\n"
    "%d and %D are the server's number of the file system. There is no birth time, block size of\n"
    "I/O, mount point or security context: NFS does not carry them.\n"
    "\n"
    "Examples:\n"
    "  nfswalk stat nfs://server/export usr/include/stdio.h\n"
    "  nfswalk stat --format '%A %8s %y %n' nfs://server/export usr bin\n"
    "  nfswalk stat --json 'nfs://server/export?actimeo=600' usr bin | jq .size_bytes\n";

struct StatOptions {
  bool follow = false;
  std::optional<StatFormat> format;
};

void StatOne(Session& session, const std::string& path, const StatOptions& options) {
  const auto attributes =
      session.client().Stat(path, session.credential(), {.no_follow = !options.follow});
  if (!attributes) return session.Fail(path, attributes.error());
  std::string target;
  if (attributes->type == protocol::FileType::kSymlink) {
    auto read = ReadLinkTarget(session, path);
    if (!read) return session.Fail(path, read.error());
    target = *std::move(read);
  }
  if (session.json()) {
    JsonObject object = PathJson(path);
    AddAttributes(object, *attributes);
    if (!target.empty()) AddBytes(object, "target", target);
    return session.Print(object);
  }
  Console& console = session.console();
  const StatSubject subject{path, target, console.out_is_terminal(), *attributes};
  console.Print(options.format ? options.format->Render(subject) + "\n" : StatBlock(subject));
}

}  // namespace

void AddStatCommand(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("stat", "show type, rights, owner, size and times");
  DeclareCommonOptions(*command, invocation.common, Paths::kOneOrMore, kExamples);
  auto options = std::make_shared<StatOptions>();
  command->add_flag("-L,--dereference", options->follow, "show what a symbolic link points to");
  AddValue(*command, "-c,--format", options->format, "print this for each PATH, and a newline",
           [](const std::string& text) { return StatFormat::Parse(text); })
      ->type_name("FORMAT")
      ->excludes(command->get_option("--json"));
  command->callback([&invocation, options] {
    invocation.run = [&paths = invocation.common.paths, options](Session& session) {
      for (const std::string& path : paths) {
        if (session.done()) return;
        StatOne(session, path, *options);
        session.console().Advance(1, "paths");
      }
    };
  });
}

}  // namespace nfswalk::cli
