#include "bench/cold_walk/recording_protocol.h"

namespace nfswalk::bench {

using Kind = RecordedCall::Kind;

void RecordingProtocol::Note(RecordedCall call) {
  const std::lock_guard guard(mutex_);
  record_.push_back(std::move(call));
}

protocol::AttributesReply RecordingProtocol::GetAttributes(const FileHandle& file,
                                                           const Credential& who) {
  Note({.kind = Kind::kGetAttributes, .handle = file});
  return inner_->GetAttributes(file, who);
}

protocol::LookupReply RecordingProtocol::Lookup(const FileHandle& directory, std::string_view name,
                                                const Credential& who) {
  Note({.kind = Kind::kLookup, .handle = directory, .names = {std::string(name)}});
  return inner_->Lookup(directory, name, who);
}

protocol::LookupPathReply RecordingProtocol::LookupPath(const FileHandle& directory,
                                                        std::span<const std::string_view> names,
                                                        const Credential& who) {
  Note({.kind = Kind::kLookupPath,
        .handle = directory,
        .names = std::vector<std::string>(names.begin(), names.end())});
  return inner_->LookupPath(directory, names, who);
}

protocol::AccessReply RecordingProtocol::Access(const FileHandle& file, const Credential& who) {
  Note({.kind = Kind::kAccess, .handle = file});
  return inner_->Access(file, who);
}

protocol::ReadDirReply RecordingProtocol::ReadDir(const FileHandle& directory,
                                                  protocol::ReadDirPosition position, bool plus,
                                                  const Credential& who) {
  Note({.kind = Kind::kReadDir, .handle = directory, .position = position});
  return inner_->ReadDir(directory, position, plus, who);
}

}  // namespace nfswalk::bench
