#include "tests/known_bugs/scripted_server.h"

#include <cstring>

namespace nfswalk {

using fixtures::MemoryServer;
using protocol::FileHandle;

namespace {
uint64_t FileOf(const FileHandle& handle) {
  uint64_t id;
  std::memcpy(&id, handle.bytes().data(), sizeof id);
  return id;
}

template <class Reply>
Reply Failed(std::errc error) {
  Reply reply;
  reply.error = error;
  return reply;
}

int CountOf(const std::map<std::string, int, std::less<>>& counts, std::string_view key) {
  const auto found = counts.find(key);
  return found == counts.end() ? 0 : found->second;
}
}  // namespace

ScriptedServer::ScriptedServer(int version) {
  if (version != 4) return;
  AnswerWholePaths();
  AnswerChangeInfo(true);
}

void ScriptedServer::Grant(uint64_t file, uint32_t rights) {
  std::lock_guard lock(script_mutex_);
  rights_[file] = rights;
}

void ScriptedServer::Fail(std::string_view call, std::errc error) {
  std::lock_guard lock(script_mutex_);
  errors_[std::string(call)] = error;
}

void ScriptedServer::LeaveOutAttributes(std::string_view call) {
  std::lock_guard lock(script_mutex_);
  without_attributes_.emplace(call);
}

int ScriptedServer::Asked(std::string_view name) const {
  std::lock_guard lock(script_mutex_);
  return CountOf(asked_, name);
}

int ScriptedServer::Calls(std::string_view call) const {
  std::lock_guard lock(script_mutex_);
  return CountOf(calls_, call);
}

ScriptedServer::Script ScriptedServer::ScriptOf(std::string_view call) {
  std::lock_guard lock(script_mutex_);
  ++calls_[std::string(call)];
  const auto error = errors_.find(call);
  return {error == errors_.end() ? std::errc{} : error->second, without_attributes_.contains(call)};
}

uint32_t ScriptedServer::RightsTo(const FileHandle& file) const {
  std::lock_guard lock(script_mutex_);
  const auto found = rights_.find(FileOf(file));
  return found == rights_.end() ? protocol::kAccessAll : found->second;
}

protocol::AttributesReply ScriptedServer::GetAttributes(const FileHandle& file,
                                                        const Credential& who) {
  const Script script = ScriptOf("GetAttributes");
  auto reply = MemoryServer::GetAttributes(file, who);
  if (script.error != std::errc{}) return {script.error, {}};
  return reply;
}

protocol::LookupReply ScriptedServer::Lookup(const FileHandle& directory, std::string_view name,
                                             const Credential& who) {
  const Script script = ScriptOf("Lookup");
  {
    std::lock_guard lock(script_mutex_);
    ++asked_[std::string(name)];
  }
  auto reply = MemoryServer::Lookup(directory, name, who);
  if (script.error != std::errc{}) return Failed<protocol::LookupReply>(script.error);
  if (script.no_attributes) reply.attributes = reply.directory = {};
  return reply;
}

protocol::LookupPathReply ScriptedServer::LookupPath(const FileHandle& directory,
                                                     std::span<const std::string_view> names,
                                                     const Credential& who) {
  const Script script = ScriptOf("LookupPath");
  if (step_by_step_) return LookupSteps(directory, names, who);
  std::map<uint64_t, uint32_t> rights;
  {
    std::lock_guard lock(script_mutex_);
    for (const std::string_view name : names) ++asked_[std::string(name)];
    rights = rights_;
  }
  auto reply = MemoryServer::LookupPath(directory, names, who);
  if (script.error != std::errc{}) return Failed<protocol::LookupPathReply>(script.error);
  const auto of = [&](const FileHandle& file) {
    const auto found = rights.find(FileOf(file));
    return found == rights.end() ? protocol::kAccessAll : found->second;
  };
  reply.granted = of(directory);
  for (auto& step : reply.steps) step.granted = of(step.handle);
  return reply;
}

// In the order of the COMPOUND that the client sends.
protocol::LookupPathReply ScriptedServer::LookupSteps(const FileHandle& directory,
                                                      std::span<const std::string_view> names,
                                                      const Credential& who) {
  protocol::LookupPathReply reply;
  reply.directory = GetAttributes(directory, who).attributes;
  reply.granted = Access(directory, who).granted;
  FileHandle at = directory;
  for (const std::string_view name : names) {
    const auto found = Lookup(at, name, who);
    reply.error = found.error;
    reply.name_is_missing = found.error == std::errc::no_such_file_or_directory;
    if (found.error != std::errc{}) break;
    at = found.handle;
    const auto attributes = GetAttributes(at, who).attributes;
    reply.steps.push_back({at, attributes, Access(at, who).granted});
  }
  return reply;
}

protocol::AccessReply ScriptedServer::Access(const FileHandle& file, const Credential& who) {
  const Script script = ScriptOf("Access");
  const uint32_t rights = RightsTo(file);
  auto reply = MemoryServer::Access(file, who);
  if (script.error != std::errc{}) return Failed<protocol::AccessReply>(script.error);
  reply.granted = rights;
  if (script.no_attributes) reply.attributes = {};
  return reply;
}

protocol::ReadDirReply ScriptedServer::ReadDir(const FileHandle& directory,
                                               protocol::ReadDirPosition position, bool plus,
                                               const Credential& who) {
  const Script script = ScriptOf("ReadDir");
  auto reply = MemoryServer::ReadDir(directory, position, plus, who);
  if (script.error != std::errc{}) return Failed<protocol::ReadDirReply>(script.error);
  return reply;
}

protocol::OpenReply ScriptedServer::Open(const FileHandle& directory, std::string_view name,
                                         const FileHandle& file, bool, bool,
                                         const Credential& who) {
  const Script script = ScriptOf("Open");
  if (script.error != std::errc{}) return Failed<protocol::OpenReply>(script.error);
  if (!opens_by_name_) return {};
  const auto found = MemoryServer::Lookup(directory, name, who);
  if (found.error != std::errc{}) return Failed<protocol::OpenReply>(found.error);
  if (found.attributes->type == FileType::kDirectory) {
    return Failed<protocol::OpenReply>(std::errc::is_a_directory);
  }
  if (FileOf(found.handle) != FileOf(file)) {
    return Failed<protocol::OpenReply>(protocol::kStale);
  }
  protocol::OpenReply reply;
  reply.attributes = found.attributes;
  return reply;
}

}  // namespace nfswalk
