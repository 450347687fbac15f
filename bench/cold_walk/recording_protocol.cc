#include "bench/cold_walk/recording_protocol.h"

namespace nfswalk::bench {

using Kind = RecordedCall::Kind;

void RecordingProtocol::Note(RecordedCall call) {
  const std::lock_guard guard(mutex_);
  record_.push_back(std::move(call));
}

protocol::RootReply RecordingProtocol::GetRoot(const Credential& credential) {
  return inner_->GetRoot(credential);  // belongs to the mount
}

protocol::AttributesReply RecordingProtocol::GetAttributes(const FileHandle& file,
                                                           const Credential& credential) {
  Note({.kind = Kind::kGetAttributes, .handle = file});
  return inner_->GetAttributes(file, credential);
}

protocol::LookupReply RecordingProtocol::Lookup(const FileHandle& directory, std::string_view name,
                                                const Credential& credential) {
  Note({.kind = Kind::kLookup, .handle = directory, .names = {std::string(name)}});
  return inner_->Lookup(directory, name, credential);
}

protocol::LookupPathReply RecordingProtocol::LookupPath(const FileHandle& directory,
                                                        std::span<const std::string_view> names,
                                                        const Credential& credential) {
  Note({.kind = Kind::kLookupPath,
        .handle = directory,
        .names = std::vector<std::string>(names.begin(), names.end())});
  return inner_->LookupPath(directory, names, credential);
}

protocol::AccessReply RecordingProtocol::Access(const FileHandle& file,
                                                const Credential& credential) {
  Note({.kind = Kind::kAccess, .handle = file});
  return inner_->Access(file, credential);
}

protocol::ReadDirReply RecordingProtocol::ReadDir(const FileHandle& directory,
                                                  protocol::ReadDirPosition position, bool plus,
                                                  const Credential& credential) {
  Note({.kind = Kind::kReadDir, .handle = directory, .position = position});
  return inner_->ReadDir(directory, position, plus, credential);
}

// What a walk of regular files does not do is handed on and not recorded.

protocol::ReadLinkReply RecordingProtocol::ReadLink(const FileHandle& link,
                                                    const Credential& credential) {
  return inner_->ReadLink(link, credential);
}

protocol::OpenReply RecordingProtocol::Open(const FileHandle& directory, std::string_view name,
                                            const FileHandle& file, bool read, bool write,
                                            const Credential& credential) {
  return inner_->Open(directory, name, file, read, write, credential);
}

protocol::ReadReply RecordingProtocol::Read(const FileHandle& file, uint64_t offset_bytes,
                                            std::span<std::byte> into,
                                            const protocol::OpenState* state,
                                            const Credential& credential) {
  return inner_->Read(file, offset_bytes, into, state, credential);
}

protocol::WriteReply RecordingProtocol::Write(const FileHandle& file, uint64_t offset_bytes,
                                              std::span<const std::byte> data,
                                              const protocol::OpenState* state,
                                              const Credential& credential) {
  return inner_->Write(file, offset_bytes, data, state, credential);
}

protocol::CreateReply RecordingProtocol::Create(const FileHandle& directory, std::string_view name,
                                                protocol::CreateMode how,
                                                const protocol::SetAttributes& attributes,
                                                const Credential& credential) {
  return inner_->Create(directory, name, how, attributes, credential);
}

protocol::CreateReply RecordingProtocol::MakeDirectory(const FileHandle& directory,
                                                       std::string_view name,
                                                       const protocol::SetAttributes& attributes,
                                                       const Credential& credential) {
  return inner_->MakeDirectory(directory, name, attributes, credential);
}

protocol::CreateReply RecordingProtocol::MakeSymlink(const FileHandle& directory,
                                                     std::string_view name, std::string_view target,
                                                     const protocol::SetAttributes& attributes,
                                                     const Credential& credential) {
  return inner_->MakeSymlink(directory, name, target, attributes, credential);
}

protocol::LinkReply RecordingProtocol::Link(const FileHandle& file, const FileHandle& directory,
                                            std::string_view name, const Credential& credential) {
  return inner_->Link(file, directory, name, credential);
}

protocol::RenameReply RecordingProtocol::Rename(const FileHandle& from_directory,
                                                std::string_view from_name,
                                                const FileHandle& to_directory,
                                                std::string_view to_name,
                                                const Credential& credential) {
  return inner_->Rename(from_directory, from_name, to_directory, to_name, credential);
}

protocol::RemoveReply RecordingProtocol::Remove(const FileHandle& directory, std::string_view name,
                                                const Credential& credential) {
  return inner_->Remove(directory, name, credential);
}

protocol::RemoveReply RecordingProtocol::RemoveDirectory(const FileHandle& directory,
                                                         std::string_view name,
                                                         const Credential& credential) {
  return inner_->RemoveDirectory(directory, name, credential);
}

protocol::SetAttributesReply RecordingProtocol::SetAttributesOf(
    const FileHandle& file, const protocol::SetAttributes& attributes,
    const Credential& credential) {
  return inner_->SetAttributesOf(file, attributes, credential);
}

}  // namespace nfswalk::bench
