#include "nfsclient/cli/session.h"

#include <fmt/format.h>
#include <pwd.h>

#include <algorithm>

#include "nfsclient/cli/show/error_text.h"
#include "nfsclient/cli/show/escape.h"

namespace nfswalk::cli {

namespace {

constexpr uint32_t kNoGroup = 65534;

// The group of another user: never that of this process.
uint32_t GroupOf(uint32_t uid) {
  const passwd* const account = getpwuid(uid);
  return account != nullptr ? account->pw_gid : kNoGroup;
}

}  // namespace

Credential CredentialOf(const CommonOptions& options) {
  const Credential process = Credential::OfProcess();
  if (!options.uid && !options.gid && !options.groups) return process;
  uint32_t gid = process.gid();
  if (options.gid) {
    gid = *options.gid;
  } else if (options.uid) {
    gid = GroupOf(*options.uid);
  }
  return Credential(options.uid.value_or(process.uid()), gid,
                    options.groups.value_or(std::vector<uint32_t>()));
}

Session::Session(Client& client, Console& console, std::string_view command,
                 const CommonOptions& options)
    : client_(client),
      console_(console),
      command_(command),
      credential_(CredentialOf(options)),
      json_(options.json) {}

void Session::Fail(std::string_view path, std::errc error) {
  RaiseExitCode(IsServerFailure(error) ? kExitServerFailed : kExitPathFailed);
  if (json_) {
    JsonObject object = PathJson(path);
    AddError(object, error);
    Print(object);
  }
  console_.Complain(FailureText(command_, path, error, credential_));
}

void Session::Report(std::string_view path, std::errc error) {
  if (error != std::errc{}) return Fail(path, error);
  if (json_) Print(PathJson(path));
}

void Session::FailLocally(std::string_view path, std::string_view local_path, std::errc error) {
  RaiseExitCode(kExitPathFailed);  // also where there is no memory for a message
  if (json_) {
    JsonObject object = PathJson(path);
    AddBytes(object, "to", local_path);
    AddError(object, error);
    Print(object);
  }
  console_.Complain(LocalFailureText(command_, path, local_path, error));
}

void Session::FailToKeep(std::string_view path, std::string_view to, std::string_view what,
                         std::errc error) {
  RaiseExitCode(kExitPathFailed);
  if (json_) {
    JsonObject object = PathJson(path);
    AddBytes(object, "to", to);
    object.Set("not_kept", what);
    AddError(object, error);
    Print(object);
  }
  console_.Complain(NotKeptText(command_, path, to, what, error));
}

void Session::FailMount(std::string_view url, std::string_view why) {
  console_.Complain(fmt::format("mount '{}': {}", Escape(url), Escape(why)));
  RaiseExitCode(kExitServerFailed);
}

void Session::RaiseExitCode(ExitCode code) {
  const std::lock_guard lock(mutex_);
  exit_code_ = std::max(exit_code_, code);
}

}  // namespace nfswalk::cli
