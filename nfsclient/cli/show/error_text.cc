#include "nfsclient/cli/show/error_text.h"

#include <fmt/format.h>

#include <cstring>

#include "nfsclient/cli/show/escape.h"
#include "nfsclient/client.h"

namespace nfswalk::cli {
namespace {

constexpr std::string_view kReplaced =
    "it was removed or replaced meanwhile; what has its name now was left alone";

std::string WhatToDo(std::string_view command, std::errc error,
                     const sunrpc_auth::Credential& credential) {
  if (error == protocol::kStale) return std::string(kReplaced);
  switch (error) {
    case std::errc::no_such_file_or_directory:
      return "check the spelling; paths start at the root of the export";
    case std::errc::permission_denied:
    case std::errc::operation_not_permitted:
      return fmt::format(
          "called as uid {} gid {}; --uid, --gid and --groups choose another identity",
          credential.uid(), credential.gid());
    case std::errc::not_a_directory:
      return "a file stands where the path needs a directory";
    case std::errc::is_a_directory:
      if (command == "cp") return "-r copies directories";
      if (command == "rm") return "-r removes directories";
      return "use ls or find to look into a directory";
    case std::errc::filename_too_long:
      return "a path has at most 4095 bytes, a component what the server allows, mostly 255";
    case std::errc::too_many_symbolic_link_levels:
      return "more than 40 symbolic links, which readlink shows, or a listing of the server that "
             "never ends";
    case std::errc::invalid_argument:
      if (command == "readlink") return "not a symbolic link; stat shows what it is";
      if (command == "rm") return "the root, \".\" and \"..\" are not removed";
      return "the server refused the request for this file";
    case std::errc::read_only_file_system:
      return "the export is read-only";
    case std::errc::too_many_files_open:
      return "each level of a tree needs a descriptor; raise the limit (ulimit -n)";
    case std::errc::operation_not_supported:
      return command == "cp" ? "only files, directories and symbolic links are copied" : "";
    case std::errc::timed_out:
      return "the server did not answer; is it running? without soft the call waits for it";
    case std::errc::operation_canceled:
      return "the connection to the server was closed for good";
    case std::errc::io_error:
      return "the server could not read it, or sent a reply that makes no sense; see its log";
    default:
      return {};
  }
}

std::string_view WhatToDoLocally(std::errc error) {
  if (error == protocol::kStale) return kReplaced;
  switch (error) {
    case std::errc::no_such_file_or_directory:
      return "make the directory first; a link to nowhere is not written through";
    case std::errc::permission_denied:
    case std::errc::operation_not_permitted:
    case std::errc::read_only_file_system:
      return "this process may not write there";
    case std::errc::is_a_directory:
      return "a directory is not replaced; remove it or choose another name";
    case std::errc::not_a_directory:
      return "a file stands where a directory is needed; remove it or choose another name";
    case std::errc::file_exists:
      return "what is no file is not replaced; cat writes to pipes and devices";
    case std::errc::no_space_on_device:
    case std::errc::file_too_large:
      return "make room there; nothing of this file is left";
    case std::errc::filename_too_long:
      return "the local file system does not take names or paths that long";
    default:
      return {};
  }
}

}  // namespace

std::string_view ErrorName(std::errc error) {
  const char* name = strerrorname_np(static_cast<int>(error));
  return name != nullptr ? name : "EUNKNOWN";
}

std::string ErrorMessage(std::errc error) { return std::make_error_code(error).message(); }

std::string FailureText(std::string_view command, std::string_view path, std::errc error,
                        const sunrpc_auth::Credential& credential) {
  std::string text = fmt::format("{} '{}': {}", command, Escape(path), ErrorMessage(error));
  const std::string advice = WhatToDo(command, error, credential);
  if (!advice.empty()) text += fmt::format(" ({})", advice);
  return text;
}

std::string LocalFailureText(std::string_view command, std::string_view path,
                             std::string_view local_path, std::errc error) {
  std::string text = fmt::format("{} '{}' to '{}': {}", command, Escape(path), Escape(local_path),
                                 ErrorMessage(error));
  const std::string_view advice = WhatToDoLocally(error);
  if (!advice.empty()) text += fmt::format(" ({})", advice);
  return text;
}

std::string NotKeptText(std::string_view command, std::string_view path, std::string_view to,
                        std::string_view what, std::errc error) {
  return fmt::format("{} '{}' to '{}': {} not kept: {}", command, Escape(path), Escape(to), what,
                     ErrorMessage(error));
}

bool IsServerFailure(std::errc error) {
  return error == std::errc::timed_out || error == std::errc::operation_canceled;
}

}  // namespace nfswalk::cli
