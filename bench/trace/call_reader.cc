#include "bench/trace/call_reader.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace nfswalk::bench {
namespace {

constexpr std::string_view kAbsent;

std::string_view ArgumentAt(const std::vector<std::string_view>& arguments, int position) {
  const bool present = position >= 0 && static_cast<size_t>(position) < arguments.size();
  return present ? arguments[static_cast<size_t>(position)] : kAbsent;
}

// Whether `error` tells something about the path, and not about the caller or its arguments.
bool IsAnswerOfPath(int error, SyscallKind kind) {
  switch (error) {
    case 0:
    case ENOENT:
    case ENOTDIR:
    case EACCES:
    case ELOOP:
    case ENAMETOOLONG:
      return true;
    case EINVAL:
      return kind == SyscallKind::kReadLink;  // not a link
    default:
      return false;
  }
}

bool IsReadOnly(SyscallKind kind) {
  return kind == SyscallKind::kStat || kind == SyscallKind::kAccess ||
         kind == SyscallKind::kReadLink || kind == SyscallKind::kOpen;
}

bool OpensForChange(std::string_view flags) {
  return HasFlag(flags, "O_WRONLY") || HasFlag(flags, "O_RDWR") || HasFlag(flags, "O_CREAT") ||
         HasFlag(flags, "O_TRUNC");
}

uint8_t AccessMode(std::string_view text) {
  return static_cast<uint8_t>((HasFlag(text, "R_OK") ? R_OK : 0) |
                              (HasFlag(text, "W_OK") ? W_OK : 0) |
                              (HasFlag(text, "X_OK") ? X_OK : 0));
}

}  // namespace

void CallReader::ReadAll() {
  trace_.calls.reserve(calls_.size());
  for (index_ = 0; index_ < calls_.size(); ++index_) Read(index_);
}

void CallReader::Read(size_t index) {
  const CompleteCall& source = calls_[index];
  const SyscallForm& form = *source.form;
  const Arguments arguments = SplitArguments(source.arguments);
  const CallResult result = ParseResult(source.result);
  NoteDescriptors(source.pid, arguments, result);
  if (form.kind == SyscallKind::kStat) ++trace_.stat_calls;
  if (!result.known) {
    if (IsReadOnly(form.kind)) LeaveOut(LeftOut::kAnswerNotRecorded);
    return;
  }
  Call call{.error = result.error, .pid = source.pid, .line = source.line};
  const std::string_view flags = ArgumentAt(arguments, form.flags);
  call.no_follow =
      form.no_follow || HasFlag(flags, "AT_SYMLINK_NOFOLLOW") || HasFlag(flags, "O_NOFOLLOW");
  if (IsReadOnly(form.kind) && !IsAnswerOfPath(result.error, form.kind)) {
    return LeaveOut(LeftOut::kNotAboutPath);
  }
  switch (form.kind) {
    case SyscallKind::kStat:
      return ReadStat(std::move(call), source, arguments);
    case SyscallKind::kReadLink:
      return ReadReadLink(std::move(call), source, arguments);
    case SyscallKind::kOpen:
      if (result.descriptor) call.text = result.descriptor->path;
      return ReadOpen(std::move(call), source, arguments);
    case SyscallKind::kReadDir:
      if (result.error == 0 && result.value > 0) ReadReadDir(source, arguments);
      return;
    case SyscallKind::kChange:
      return ReadChange(std::move(call), source, arguments);
    case SyscallKind::kAccess:
    case SyscallKind::kExecute: {
      const bool access = form.kind == SyscallKind::kAccess;
      if (!access && result.error != 0) return;
      call.kind = access ? CallKind::kAccess : CallKind::kExecute;
      call.access_mode = access ? AccessMode(ArgumentAt(arguments, form.mode)) : X_OK;
      auto path = PathOf(source, arguments, form.directory, form.path);
      if (!path) return access ? LeaveOut(path.error()) : void();
      call.path = std::move(*path);
      trace_.calls.push_back(std::move(call));
      return;
    }
    default:
      if (result.error == 0) ReadProcessCall(source, arguments);
  }
}

void CallReader::ReadStat(Call call, const CompleteCall& source, const Arguments& arguments) {
  call.kind = CallKind::kStat;
  auto path = PathOf(source, arguments, source.form->directory, source.form->path);
  if (!path) return LeaveOut(path.error());
  call.path = std::move(*path);
  if (call.error == 0) {
    call.attributes = ParseAttributes(ArgumentAt(arguments, source.form->answer));
    if (!call.attributes) return LeaveOut(LeftOut::kAnswerNotRecorded);
  }
  trace_.calls.push_back(std::move(call));
}

void CallReader::ReadReadLink(Call call, const CompleteCall& source, const Arguments& arguments) {
  call.kind = CallKind::kReadLink;
  auto path = PathOf(source, arguments, source.form->directory, source.form->path);
  if (!path) return LeaveOut(path.error());
  call.path = std::move(*path);
  if (call.error == 0) {
    auto text = ParseQuoted(ArgumentAt(arguments, source.form->answer));
    if (!text) return LeaveOut(LeftOut::kAnswerNotRecorded);
    // A full buffer holds the beginning of a longer text.
    const auto count = static_cast<size_t>(ParseResult(source.result).value);
    const bool whole = !text->cut_short && text->bytes.size() == count;
    // No link holds an empty text or a NUL.
    const bool possible = !text->bytes.empty() && !text->bytes.contains('\0');
    if (!whole || !possible) return LeaveOut(LeftOut::kTextCutShort);
    call.text = std::move(text->bytes);
  }
  trace_.calls.push_back(std::move(call));
}

void CallReader::ReadOpen(Call call, const CompleteCall& source, const Arguments& arguments) {
  const std::string_view flags = ArgumentAt(arguments, source.form->flags);
  if (OpensForChange(flags)) return ReadChange(std::move(call), source, arguments);
  call.kind = CallKind::kOpen;
  call.must_be_directory = HasFlag(flags, "O_DIRECTORY");
  call.access_mode = HasFlag(flags, "O_PATH") ? F_OK : R_OK;
  if ((call.error == ELOOP && call.no_follow) ||
      (call.error == ENOTDIR && call.must_be_directory)) {
    return LeaveOut(LeftOut::kOpenDecidedByType);
  }
  auto path = PathOf(source, arguments, source.form->directory, source.form->path);
  if (!path) return LeaveOut(path.error());
  call.path = std::move(*path);
  trace_.calls.push_back(std::move(call));
}

void CallReader::ReadReadDir(const CompleteCall& source, const Arguments& arguments) {
  auto path = DirectoryOf(source, arguments, source.form->directory);
  if (!path) return LeaveOut(path.error());
  Call call{.kind = CallKind::kReadDir, .no_follow = true, .must_be_directory = true};
  call.pid = source.pid;
  call.line = source.line;
  call.path = std::move(*path);
  trace_.calls.push_back(std::move(call));
}

void CallReader::ReadChange(Call call, const CompleteCall& source, const Arguments& arguments) {
  if (call.error != 0) return;
  const SyscallForm& form = *source.form;
  call.kind = CallKind::kChange;
  // A path that cannot be told changes nothing that is told either.
  if (auto path = PathOf(source, arguments, form.directory, form.path)) {
    call.path = std::move(*path);
    trace_.calls.push_back(call);
  }
  if (form.path2 < 0) return;
  if (auto path = PathOf(source, arguments, form.directory2, form.path2)) {
    call.path = std::move(*path);
    trace_.calls.push_back(std::move(call));
  }
}

void CallReader::ReadProcessCall(const CompleteCall& source, const Arguments& arguments) {
  const SyscallForm& form = *source.form;
  if (form.kind == SyscallKind::kSpawn) {
    const auto child = static_cast<uint32_t>(ParseResult(source.result).value);
    const bool share = source.arguments.find("CLONE_FS") != std::string_view::npos;
    if (child != 0) processes_.Spawn(source.pid, child, share);
    return;
  }
  const auto path = form.kind == SyscallKind::kChangeDirectoryFd
                        ? DirectoryOf(source, arguments, form.directory)
                        : PathOf(source, arguments, form.directory, form.path);
  // An unreadable chdir leaves the directory unknown rather than wrong.
  processes_.SetWorkingDirectory(source.pid, path.value_or(""));
  if (form.kind == SyscallKind::kWorkingDirectory && path) trace_.resolved_paths.insert(*path);
}

std::expected<std::string, LeftOut> CallReader::PathOf(const CompleteCall& source,
                                                       const Arguments& arguments, int directory,
                                                       int path) {
  auto text = ParseQuoted(ArgumentAt(arguments, path));
  if (!text) return std::unexpected(LeftOut::kNotAboutPath);
  if (text->cut_short) return std::unexpected(LeftOut::kTextCutShort);
  // No system call can have been given this.
  if (text->bytes.contains('\0')) return std::unexpected(LeftOut::kNotAboutPath);
  if (text->bytes.starts_with('/')) return std::move(text->bytes);
  auto base = DirectoryOf(source, arguments, directory);
  if (!base) return std::unexpected(base.error());
  if (!text->bytes.empty()) return JoinPath(*base, text->bytes);
  // AT_EMPTY_PATH: the descriptor itself. Without that flag an empty path is no path.
  const bool descriptor_itself = source.arguments.find("AT_EMPTY_PATH") != std::string_view::npos;
  if (!descriptor_itself) return std::unexpected(LeftOut::kNotAboutPath);
  return base;
}

std::expected<std::string, LeftOut> CallReader::DirectoryOf(const CompleteCall& source,
                                                            const Arguments& arguments,
                                                            int directory) {
  const auto descriptor = ParseDescriptor(ArgumentAt(arguments, directory));
  if (descriptor && descriptor->has_path) return descriptor->path;
  if (descriptor && descriptor->annotated) return std::unexpected(LeftOut::kNoPathBehindDescriptor);
  if (directory >= 0 && !(descriptor && descriptor->working_directory)) {
    return std::unexpected(LeftOut::kDirectoryUnknown);
  }
  if (processes_.WorkingDirectory(source.pid).empty()) LearnWorkingDirectory(source.pid);
  const std::string& working = processes_.WorkingDirectory(source.pid);
  if (working.empty()) return std::unexpected(LeftOut::kDirectoryUnknown);
  return working;
}

void CallReader::LearnWorkingDirectory(uint32_t pid) {
  if (!searched_ahead_.insert(pid).second) return;
  for (const CompleteCall& call : calls_.subspan(index_)) {
    if (call.pid != pid) continue;
    const bool moves = call.form->kind == SyscallKind::kChangeDirectory ||
                       call.form->kind == SyscallKind::kChangeDirectoryFd;
    if (moves) return;
    const Arguments arguments = SplitArguments(call.arguments);
    NoteDescriptors(pid, arguments, CallResult{});
    if (call.form->kind == SyscallKind::kWorkingDirectory) {
      const auto text = ParseQuoted(ArgumentAt(arguments, 0));
      const bool usable =
          text && !text->cut_short && text->bytes.starts_with('/') && !text->bytes.contains('\0');
      if (usable) processes_.SetWorkingDirectory(pid, text->bytes);
    }
    if (!processes_.WorkingDirectory(pid).empty()) return;
  }
}

void CallReader::NoteDescriptors(uint32_t pid, const Arguments& arguments,
                                 const CallResult& result) {
  for (std::string_view argument : arguments) {
    if (argument.find('<') == std::string_view::npos) continue;
    const auto descriptor = ParseDescriptor(argument);
    if (!descriptor || !descriptor->has_path) continue;
    trace_.resolved_paths.insert(descriptor->path);
    if (descriptor->working_directory) processes_.SetWorkingDirectory(pid, descriptor->path);
  }
  if (result.descriptor && result.descriptor->has_path) {
    trace_.resolved_paths.insert(result.descriptor->path);
  }
}

}  // namespace nfswalk::bench
