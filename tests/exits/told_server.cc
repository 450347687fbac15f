#include "tests/exits/told_server.h"

#include "access_cache/access_rights.h"

namespace nfswalk::exits {

using fixtures::MemoryServer;

std::errc ToldServer::Note(std::string_view call, std::string_view what) {
  ++count_;
  if (frozen_) return std::errc::io_error;
  calls_.push_back(std::string(call) + " " + std::string(what));
  const auto told = errors_.find(call);
  return told == errors_.end() ? std::errc{} : told->second;
}

uint32_t ToldServer::RightsOf(const FileHandle& file, const Credential& credential) const {
  return rights_ ? rights_(IdOf(file), credential) : protocol::kAccessAll;
}

protocol::AttributesReply ToldServer::GetAttributes(const FileHandle& file,
                                                    const Credential& credential) {
  const std::errc error = Note("GETATTR", std::to_string(IdOf(file)));
  if (error != std::errc{}) return {.error = error, .attributes = {}};
  auto reply = MemoryServer::GetAttributes(file, credential);
  if (confused_) reply.attributes.fileid = *std::exchange(confused_, {});
  return reply;
}

protocol::LookupReply ToldServer::Lookup(const FileHandle& directory, std::string_view name,
                                         const Credential& credential) {
  protocol::LookupReply failed;
  failed.error = Note("LOOKUP", name);
  if (failed.error != std::errc{}) return failed;
  return MemoryServer::Lookup(directory, name, credential);
}

// As a server does that checks search permission before every name.
protocol::LookupPathReply ToldServer::LookupPath(const FileHandle& directory,
                                                 std::span<const std::string_view> names,
                                                 const Credential& credential) {
  protocol::LookupPathReply failed;
  failed.error = Note("PATH", names.front());
  if (failed.error != std::errc{}) return failed;
  auto reply = MemoryServer::LookupPath(directory, names, credential);
  reply.granted = RightsOf(directory, credential);
  bool may_search = (*reply.granted & access_cache::kServerLookup) != 0;
  size_t allowed = 0;
  for (; allowed < reply.steps.size() && may_search; ++allowed) {
    auto& step = reply.steps[allowed];
    step.granted = RightsOf(step.handle, credential);
    may_search = (*step.granted & access_cache::kServerLookup) != 0;
  }
  if (may_search || (allowed == names.size() && reply.error == std::errc{})) return reply;
  reply.steps.resize(allowed);
  reply.error = std::errc::permission_denied;
  reply.name_is_missing = false;
  return reply;
}

protocol::AccessReply ToldServer::Access(const FileHandle& file, const Credential& credential) {
  protocol::AccessReply failed;
  failed.error = Note("ACCESS", std::to_string(IdOf(file)));
  if (failed.error != std::errc{}) return failed;
  auto reply = MemoryServer::Access(file, credential);
  reply.granted = RightsOf(file, credential);
  return reply;
}

protocol::ReadLinkReply ToldServer::ReadLink(const FileHandle& link, const Credential& credential) {
  protocol::ReadLinkReply failed;
  failed.error = Note("READLINK", std::to_string(IdOf(link)));
  if (failed.error != std::errc{}) return failed;
  return MemoryServer::ReadLink(link, credential);
}

protocol::ReadDirReply ToldServer::ReadDir(const FileHandle& directory,
                                           protocol::ReadDirPosition position, bool plus,
                                           const Credential& credential) {
  protocol::ReadDirReply failed;
  failed.error = Note("READDIR", std::to_string(IdOf(directory)));
  if (failed.error != std::errc{}) return failed;
  return MemoryServer::ReadDir(directory, position, plus, credential);
}

protocol::OpenReply ToldServer::Open(const FileHandle&, std::string_view name, const FileHandle&,
                                     bool, bool, const Credential&) {
  protocol::OpenReply reply;
  if (opens_by_name_) reply.error = Note("OPEN", name);
  return reply;
}

}  // namespace nfswalk::exits
