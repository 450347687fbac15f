// Requests about names in directories.

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <climits>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

#include "nfsclient/mount/answer.h"
#include "nfsclient/mount/entry_reply.h"
#include "nfsclient/mount/operations.h"

namespace nfswalk::mount {
namespace {

using After = NameRetries::After;

constexpr uint32_t kPermissionBits = 07777;

void Lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  AnswerCached(request, [parent, name = std::string(name)](const Try& attempt) {
    return ReplyLookup(attempt, parent, name);
  });
}

void Forget(fuse_req_t request, fuse_ino_t number, uint64_t lookups) {
  FileSystem::Of(request).nodes.Forget(number, lookups);
  fuse_reply_none(request);
}

void ForgetMulti(fuse_req_t request, size_t count, fuse_forget_data* forgets) {
  NodeTable& nodes = FileSystem::Of(request).nodes;
  for (size_t i = 0; i < count; ++i) nodes.Forget(forgets[i].ino, forgets[i].nlookup);
  fuse_reply_none(request);
}

void ReadLink(fuse_req_t request, fuse_ino_t number) {
  AnswerCached(request, [number](const Try& attempt) {
    char target[PATH_MAX];
    const auto length = attempt.file_system.nodes.At(number).ReadLink(
        "", {target, sizeof(target) - 1}, attempt.credential, attempt.flags);
    if (!length) return length.error();
    target[*length] = '\0';
    fuse_reply_readlink(attempt.request, target);
    return std::errc{};
  });
}

// A change that is answered by its error alone. `change`: std::errc(const Try&).
template <typename Change>
void ReplyDone(fuse_req_t request, Change change) {
  AnswerOnWorker(request, [change = std::move(change)](const Try& attempt) {
    const std::errc error = change(attempt);
    if (error == std::errc{}) fuse_reply_err(attempt.request, 0);
    return error;
  });
}

// Makes something by `make` (a Result<LookupResult>, called with a Node and the credential), and
// replies with it. `asks`: the caller comes back with a name that it was asked for.
template <typename Make>
void MakeEntry(fuse_req_t request, fuse_ino_t parent, const char* name, Make make,
               bool asks = true) {
  AnswerOnWorker(request, [parent, name = std::string(name), make, asks](const Try& attempt) {
    const std::errc error = ReplyEntry(attempt, parent, name, [&] {
      const Node& directory = attempt.file_system.nodes.At(parent);
      auto made = make(directory, name, attempt.credential);
      const bool is_gone = made && made->node == nullptr;
      return is_gone ? directory.Lookup(name, attempt.credential) : std::move(made);
    });
    return asks ? AskForNames(attempt, parent, name, After::kMissing, error) : error;
  });
}

void MakeNode(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode, dev_t device) {
  MakeEntry(request, parent, name,
            [mode, device](const Node& at, const std::string& path, const Credential& credential) {
              const uint32_t bits = mode & kPermissionBits;
              if (S_ISREG(mode)) return at.Create(path, bits, true, credential);
              return at.MakeNode(path, static_cast<FileType>((mode & S_IFMT) >> 12), bits,
                                 {.major = major(device), .minor = minor(device)}, credential);
            },
            !S_ISSOCK(mode));  // bind(2) does not (unix_bind_bsd())
}

void MakeDirectory(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode) {
  MakeEntry(request, parent, name,
            [mode](const Node& at, const std::string& path, const Credential& credential) {
              return at.MakeDirectory(path, mode & kPermissionBits, credential);
            });
}

void MakeSymlink(fuse_req_t request, const char* target, fuse_ino_t parent, const char* name) {
  MakeEntry(request, parent, name,
            [target = std::string(target)](const Node& at, const std::string& path,
                                           const Credential& credential) {
              return at.MakeSymlink(target, path, credential);
            });
}

void Link(fuse_req_t request, fuse_ino_t number, fuse_ino_t parent, const char* name) {
  AnswerOnWorker(request, [number, parent, name = std::string(name)](const Try& attempt) {
    NodeTable& nodes = attempt.file_system.nodes;
    const std::errc error = nodes.At(number).Link("", nodes.At(parent), name, attempt.credential);
    const std::errc asked = AskForNames(attempt, parent, name, After::kMissing, error);
    if (asked != std::errc{}) return asked;
    return ReplyLookup(attempt, parent, name);
  });
}

// Before the removal of a name, or of what a rename replaces: a file that was closed before counts
// as closed then (NAME-31).
void AwaitCloses(FileSystem& file_system, const Node& directory, const std::string& name) {
  if (directory.LeadsToOpenFile(name)) file_system.receivers->AwaitReceived();
}

void Unlink(fuse_req_t request, fuse_ino_t parent, const char* name) {
  ReplyDone(request, [parent, name = std::string(name)](const Try& attempt) {
    const Node& directory = attempt.file_system.nodes.At(parent);
    AwaitCloses(attempt.file_system, directory, name);
    return AskForNames(attempt, parent, name, After::kFound,
                       directory.Unlink(name, attempt.credential));
  });
}

void RemoveDirectory(fuse_req_t request, fuse_ino_t parent, const char* name) {
  ReplyDone(request, [parent, name = std::string(name)](const Try& attempt) {
    const Node& directory = attempt.file_system.nodes.At(parent);
    AwaitCloses(attempt.file_system, directory, name);
    const std::errc error = directory.RemoveDirectory(name, attempt.credential);
    // It is a directory, as the kernel knows.
    const bool is_known = error == std::errc::directory_not_empty;
    return is_known ? error : AskForNames(attempt, parent, name, After::kFound, error);
  });
}

void Rename(fuse_req_t request, fuse_ino_t from_parent, const char* from, fuse_ino_t to_parent,
            const char* to, unsigned flags) {
  ReplyDone(request, [from_parent, from = std::string(from), to_parent, to = std::string(to),
                      flags](const Try& attempt) {
    FileSystem& file_system = attempt.file_system;
    const Node& directory = file_system.nodes.At(from_parent);
    // d_move() would move what the kernel has of a name that now leads to another file (NAME-19).
    const bool is_known = !file_system.names_are_cached || directory.IsNameValid(from);
    // The VFS comes back once, whichever of the two it was asked for.
    NameRetries& retries = file_system.name_retries;
    const bool from_was_asked = retries.End(attempt.caller, from_parent, from);
    const bool was_asked = retries.End(attempt.caller, to_parent, to) || from_was_asked;
    if (!is_known && !was_asked &&
        retries.MayAskAgain(attempt.caller, from_parent, from, After::kFound)) {
      return protocol::kStale;
    }
    const Node& to_directory = file_system.nodes.At(to_parent);
    AwaitCloses(file_system, to_directory, to);
    const std::errc error = directory.Rename(from, to_directory, to, attempt.credential, flags);
    if (was_asked) return error;
    const bool is_missing = error == std::errc::no_such_file_or_directory;
    return is_missing ? AskForNames(attempt, from_parent, from, After::kFound, error)
                      : AskForNames(attempt, to_parent, to, After::kEither, error);
  });
}

}  // namespace

void AddNameOperations(fuse_lowlevel_ops& operations) {
  operations.lookup = Lookup;
  operations.forget = Forget;
  operations.forget_multi = ForgetMulti;
  operations.readlink = ReadLink;
  operations.mknod = MakeNode;
  operations.mkdir = MakeDirectory;
  operations.symlink = MakeSymlink;
  operations.link = Link;
  operations.unlink = Unlink;
  operations.rmdir = RemoveDirectory;
  operations.rename = Rename;
}

}  // namespace nfswalk::mount
