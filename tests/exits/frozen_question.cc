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

namespace {

walk::WalkFlags FlagsOf(const Question& question) {
  return {.follow_last = question.kind != Question::kReadLink && !question.flags.no_follow,
          .no_symlinks = question.flags.no_symlinks,
          .beneath = question.flags.beneath,
          .strict = false,
          .cached = false,
          .open = false,
          .dont_cache = question.flags.dont_cache};
}

std::errc TakeParent(RefWalk& walk, Answer& answer) {
  answer.attributes.fileid = walk.inode().fileid;
  answer.text = walk.last();
  return {};
}

RcuAnswer AskRcuForParent(Client& client, const Question& question) {
  nfs::Superblock& superblock = ClientInternals::SuperblockOf(client);
  const walk::WalkFlags flags = FlagsOf(question);
  walk::PathWalk walk(superblock, walk::AtRoot(superblock), question.path, question.credential,
                      flags);
  RcuAnswer result;
  result.answer.error = walk.Begin();
  if (result.answer.error != std::errc{}) return result;
  const walk::RcuOutcome outcome = walk.RcuToReference(&RefWalk::ResolveParent);
  result.answer.error = outcome.error;
  if (outcome.need == NeedRef::kComplete) {
    result.answer.error = walk.Ref(walk::Revalidation::kAsNeeded, &RefWalk::ResolveParent,
                                   [&](RefWalk& ref) { return TakeParent(ref, result.answer); });
  } else if (outcome.need != NeedRef::kNone) {
    result.need = outcome.need;
    result.answer.error = std::errc::resource_unavailable_try_again;
  }
  return result;
}

}  // namespace

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
  } else if (question.kind == Question::kParent) {
    nfs::Superblock& superblock = ClientInternals::SuperblockOf(client);
    answer.error = walk::ResolveToReference(
        superblock, walk::AtRoot(superblock), question.path, question.credential, FlagsOf(question),
        &RefWalk::ResolveParent, [&](RefWalk& walk) { return TakeParent(walk, answer); });
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
  if (question.kind == Question::kParent) return AskRcuForParent(client, question);
  Question cached = question;
  cached.flags.cached = true;
  const Stats before = client.stats();
  RcuAnswer result;
  result.answer = Ask(client, cached);
  const Stats after = client.stats();
  const auto left_for = [&](NeedRef need) {
    const auto i = static_cast<size_t>(need);
    return after.need_ref[i] != before.need_ref[i];
  };
  for (size_t i = 0; i < kNeedRefCount; ++i) {
    if (left_for(NeedRef(i))) result.need = NeedRef(i);
  }
  // A change that a test makes meanwhile may leave for another reason.
  if (left_for(NeedRef::kChanged)) result.need = NeedRef::kChanged;
  return result;
}

// Ends as Client::Stat(), Access() and ReadLink() do for ref-walk.
Answer AskRef(Client& client, const Question& question) {
  nfs::Superblock& superblock = ClientInternals::SuperblockOf(client);
  const bool to_parent = question.kind == Question::kParent;
  Answer answer;
  answer.error = ResolveRef(
      superblock, question.path, question.credential, FlagsOf(question),
      to_parent ? &RefWalk::ResolveParent : &RefWalk::Resolve, [&](RefWalk& walk) -> std::errc {
        if (to_parent) return TakeParent(walk, answer);
        if (question.kind == Question::kAccess) {
          return nfs::PermissionRef(superblock, walk.inode(), walk.credential(), question.mode);
        }
        const Credential& key = walk.credential()->key();
        if (question.kind == Question::kReadLink) {
          auto text = nfs::ReadLinkRef(superblock, walk.inode(), key);
          if (!text) return text.error();
          answer.text = *text;
          return {};
        }
        const std::errc error = nfs::RevalidateInode(superblock, walk.inode(), key, walk.force());
        if (error == std::errc{}) nfs::CopyAttributes(walk.inode(), answer.attributes);
        return error;
      });
  return answer;
}

void PrintTo(const Question& question, std::ostream* stream) {
  constexpr std::array<const char*, 4> kKinds = {"stat", "access", "readlink", "parent of"};
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
