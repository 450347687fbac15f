#include "tests/exits/frozen_question.h"

#include <array>
#include <cstring>

#include "nfsclient/nfs/attribute_cache.h"
#include "nfsclient/nfs/permission.h"
#include "nfsclient/nfs/readlink.h"
#include "nfsclient/walk/walk.h"
#include "tests/fixtures/client_internals.h"

namespace nfswalk::exits {

using walk::RefWalk;

Answer Ask(Client& client, const Question& question) {
  Answer answer;
  if (question.kind == Question::kStat) {
    auto attributes = client.Stat(question.path, question.credential, question.flags);
    if (attributes) {
      answer.attributes = *attributes;
    } else {
      answer.error = attributes.error();
    }
  } else if (question.kind == Question::kAccess) {
    answer.error = client.Access(question.path, question.mode, question.credential, question.flags);
  } else {
    std::array<char, walk::PathBuffer::kPathMax> text;
    auto size = client.ReadLink(question.path, text, question.credential, question.flags);
    if (size) {
      answer.text.assign(text.data(), *size);
    } else {
      answer.error = size.error();
    }
  }
  return answer;
}

RcuAnswer AskRcu(Client& client, const Question& question) {
  Question cached = question;
  cached.flags.cached = true;
  const Stats before = client.stats();
  RcuAnswer result;
  result.answer = Ask(client, cached);
  const Stats after = client.stats();
  for (size_t i = 0; i < kNeedRefCount; ++i) {
    if (after.need_ref[i] != before.need_ref[i]) result.need = static_cast<NeedRef>(i);
  }
  return result;
}

// Ends as Client::Stat(), Access() and ReadLink() do for ref-walk.
Answer AskRef(Client& client, const Question& question) {
  nfs::Superblock& superblock = ClientInternals::SuperblockOf(client);
  const bool reads_link = question.kind == Question::kReadLink;
  const walk::WalkFlags flags{.follow_last = !reads_link && !question.flags.no_follow,
                              .no_symlinks = question.flags.no_symlinks,
                              .beneath = question.flags.beneath,
                              .strict = false,
                              .cached = false,
                              .open = false,
                              .dont_cache = question.flags.dont_cache};
  Answer answer;
  answer.error = walk::ResolveRef(
      superblock, question.path, question.credential, flags, &RefWalk::Resolve,
      [&](RefWalk& walk) -> std::errc {
        if (question.kind == Question::kAccess) {
          return nfs::PermissionRef(superblock, walk.inode(), walk.credential(), question.mode);
        }
        const Credential& key = walk.credential()->key();
        if (reads_link) {
          auto text = nfs::ReadLinkRef(superblock, walk.inode(), key);
          if (!text) return text.error();
          answer.text = *text;
          return {};
        }
        const std::errc error = nfs::Revalidate(superblock, walk.inode(), key, walk.force());
        if (error == std::errc{}) nfs::CopyAttributes(walk.inode(), answer.attributes);
        return error;
      });
  return answer;
}

void PrintTo(const Question& question, std::ostream* stream) {
  constexpr std::array<const char*, 3> kKinds = {"stat", "access", "readlink"};
  *stream << kKinds[question.kind] << " \"" << question.path << "\" mode " << question.mode
          << " by " << question.credential.uid() << ":" << question.credential.gid();
  for (uint32_t group : question.credential.groups()) *stream << "," << group;
  const ResolveFlags& flags = question.flags;
  if (flags.no_follow) *stream << " no_follow";
  if (flags.no_symlinks) *stream << " no_symlinks";
  if (flags.beneath) *stream << " beneath";
  if (flags.in_root) *stream << " in_root";
  if (flags.strict) *stream << " strict";
}

void PrintTo(const Answer& answer, std::ostream* stream) {
  *stream << (answer.error == std::errc{} ? "success" : std::strerror(int(answer.error)))
          << ", file " << answer.attributes.fileid << ", change " << answer.attributes.change
          << ", mode " << answer.attributes.mode << ", text \"" << answer.text << "\"";
}

}  // namespace nfswalk::exits
