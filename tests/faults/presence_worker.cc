#include "tests/faults/presence_worker.h"

#include <map>
#include <utility>

namespace nfswalk::faults {

namespace {

constexpr size_t kContradictionsMax = 5;

std::errc ErrorOf(const auto& result) { return result ? kOk : result.error(); }

}  // namespace

bool IsInjected(std::errc error) {
  return error == std::errc::timed_out || error == std::errc::io_error ||
         error == std::errc::permission_denied || error == protocol::kStale;
}

PresenceWorker::PresenceWorker(Client& client, const std::string& base, int number,
                               const Credential& credential)
    : client_(client),
      base_(base),
      number_(number),
      credential_(credential),
      base_file_(DirectoryIn(base, 0) + "/base" + std::to_string(number)),
      random_(number + 1) {
  for (const Kind kind : {Kind::kFile, Kind::kDirectory, Kind::kSymlink, Kind::kLink}) {
    for (int i = 0; i < 2 * kDirectories; ++i) {
      // Every other name is too long to be inline in a dentry.
      std::string name = "t" + std::to_string(number) + "k" +
                         std::to_string(static_cast<int>(kind)) + "n" + std::to_string(i);
      if (i % 2 != 0) name.append(80, 'x');
      names_.push_back({DirectoryIn(base, i / 2) + "/" + name, kind});
    }
  }
}

void PresenceWorker::Begin() {
  const auto made = client_.Create(base_file_, 0644, true, credential_);
  if (!made) Contradict(base_file_, "cannot be made before the faults begin");
}

void PresenceWorker::Step() {
  OwnName& name = AnyName();
  switch (Draw(16)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return name.presence == Presence::kPresent && Draw(8) != 0 ? Remove(name) : Make(name);
    case 4:
      return Remove(name);
    case 5:
    case 6: {
      OwnName& to = AnyName();
      // A rename onto another link of the same file does nothing and succeeds.
      if (to.kind == name.kind && &to != &name && name.kind != Kind::kLink) Rename(name, to);
      return;
    }
    case 7:
      if (name.kind == Kind::kFile) SetMode(name);
      return;
    case 8:
      if (name.kind == Kind::kFile) OpenAndWrite(name);
      return;
    case 9:
      return List(static_cast<int>(Draw(kDirectories)));
    case 10:
      return StatOthers();
    case 11:
    case 12:
      if (name.kind == Kind::kSymlink) return ReadLink(name);
      [[fallthrough]];
    default:
      return Stat(name);
  }
}

void PresenceWorker::Make(OwnName& name) {
  std::errc error{};
  switch (name.kind) {
    case Kind::kFile:
      error = ErrorOf(client_.Create(name.path, 0644, true, credential_));
      break;
    case Kind::kDirectory:
      error = ErrorOf(client_.MakeDirectory(name.path, 0755, credential_));
      break;
    case Kind::kSymlink:
      error = ErrorOf(client_.MakeSymlink(TargetOf(name.path), name.path, credential_));
      break;
    case Kind::kLink:
      error = client_.Link(base_file_, name.path, credential_);
      break;
  }
  Note(name, "make", error);
  if (error == kOk) {
    if (name.presence == Presence::kPresent) Contradict(name, "was made a second time");
    name.presence = Presence::kPresent;
    ++done_;
  } else if (error == std::errc::file_exists) {
    Observe(name, true, "is there already");
  } else if (OutcomeUnknown(error)) {
    SetUnknown(name);
  } else if (!IsInjected(error)) {
    Contradict(name, "could not be made: " + std::make_error_code(error).message());
  }
}

void PresenceWorker::Remove(OwnName& name) {
  const std::errc error = name.kind == Kind::kDirectory
                              ? client_.RemoveDirectory(name.path, credential_)
                              : client_.Unlink(name.path, credential_);
  Note(name, "remove", error);
  if (error == kOk) {
    if (name.presence == Presence::kAbsent) Contradict(name, "was removed a second time");
    name.presence = Presence::kAbsent;
    ++done_;
  } else if (OutcomeUnknown(error)) {
    SetUnknown(name);
  } else {
    CheckLookup(name, error, "to be removed");
  }
}

void PresenceWorker::Rename(OwnName& from, OwnName& to) {
  const std::errc error = client_.Rename(from.path, to.path, credential_);
  Note(from, "rename-from", error);
  Note(to, "rename-to", error);
  if (error == kOk) {
    if (from.presence == Presence::kAbsent) Contradict(from, "was renamed though it is not there");
    from.presence = Presence::kAbsent;
    to.presence = Presence::kPresent;
    // The link's text is unchanged.
    ++done_;
  } else if (OutcomeUnknown(error)) {
    SetUnknown(from);
    SetUnknown(to);
  } else {
    CheckLookup(from, error, "to be renamed");
  }
}

void PresenceWorker::SetMode(OwnName& name) {
  const uint32_t mode = 0600 | static_cast<uint32_t>(Draw(0100));
  const auto changed =
      client_.SetAttributesOf(name.path, {.mode = mode}, credential_, {.no_follow = true});
  if (changed && changed->mode != mode) Contradict(name, "has another mode than it was given");
  CheckLookup(name, ErrorOf(changed), "to be given a mode");
}

void PresenceWorker::Stat(OwnName& name) {
  const auto found = client_.Stat(name.path, credential_, {.no_follow = true});
  CheckLookup(name, ErrorOf(found), "to be looked at");
}

void PresenceWorker::ReadLink(OwnName& name) {
  std::array<char, 300> text;
  const auto size = client_.ReadLink(name.path, text, credential_);
  // The text is that of the name under which the link was made: renames leave it alone.
  if (size && !std::string_view(text.data(), *size).starts_with("nowhere/" + base_)) {
    Contradict(name, "leads elsewhere");
  }
  CheckLookup(name, ErrorOf(size), "to be read");
}

void PresenceWorker::OpenAndWrite(OwnName& name) {
  auto file = client_.Open(name.path, kMayRead | kMayWrite, credential_);
  CheckLookup(name, ErrorOf(file), "to be opened");
  if (!file) return;
  std::array<std::byte, 64> data{};
  const auto written = (*file)->PWrite(data, Draw(100));
  if (!written && !IsInjected(written.error())) Contradict(name, "could not be written");
  const auto read = (*file)->PRead(data, 0);
  if (!read && !IsInjected(read.error())) Contradict(name, "could not be read");
}

void PresenceWorker::List(int directory) {
  std::map<std::string, int> listed;
  const std::string path = DirectoryIn(base_, directory);
  const std::errc error = client_.ReadDir(path, credential_, [&](const DirectoryEntry& entry) {
    ++listed[path + "/" + entry.name];
    return true;
  });
  if (error != kOk) {
    if (!IsInjected(error)) {
      Contradict(path, "could not be listed: " + std::make_error_code(error).message());
    }
    return;
  }
  ++done_;
  for (OwnName& name : names_) {
    if (!name.path.starts_with(path + "/")) continue;
    const auto found = listed.find(name.path);
    const int times = found == listed.end() ? 0 : found->second;
    if (times > 1) Contradict(name, "is listed twice");
    Note(name, times > 0 ? "listed" : "not-listed", kOk);
    Observe(name, times > 0, times > 0 ? "is listed" : "is not listed");
  }
}

void PresenceWorker::StatOthers() {
  std::string path = AnyName().path;
  const size_t digit = path.rfind("/t") + 2;
  path[digit] = static_cast<char>('0' + Draw(4));
  const auto found = client_.Stat(path, credential_, {.no_follow = true});
  if (!found && found.error() != std::errc::no_such_file_or_directory &&
      !IsInjected(found.error())) {
    Contradict(path, "could not be looked at");
  }
}

void PresenceWorker::Observe(OwnName& name, bool present, std::string_view what) {
  if (name.presence == (present ? Presence::kAbsent : Presence::kPresent)) Contradict(name, what);
  name.presence = present ? Presence::kPresent : Presence::kAbsent;
}

void PresenceWorker::CheckLookup(OwnName& name, std::errc error, std::string_view what) {
  Note(name, what, error);
  if (error == kOk) {
    ++done_;
    Observe(name, true, "is there " + std::string(what));
  } else if (error == std::errc::no_such_file_or_directory) {
    Observe(name, false, "is not there " + std::string(what));
  } else if (!IsInjected(error)) {
    Contradict(name, std::string(what) + ": " + std::make_error_code(error).message());
  }
}

void PresenceWorker::SetUnknown(OwnName& name) {
  name.presence = Presence::kUnknown;
  ++unknown_outcomes_;
}

void PresenceWorker::Note(OwnName& name, std::string_view call, std::errc error) {
  name.history +=
      std::string(" ") + std::string(call) + ":" + std::to_string(static_cast<int>(error));
}

void PresenceWorker::Contradict(const OwnName& name, std::string_view what) {
  Contradict(name.path, std::string(what) + "; before that:" + name.history);
}

void PresenceWorker::Contradict(const std::string& path, std::string_view what) {
  if (contradictions_.size() < kContradictionsMax) {
    contradictions_.push_back(path + " " + std::string(what));
  }
}

}  // namespace nfswalk::faults
