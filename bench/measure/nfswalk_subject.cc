#include <utility>

#include "bench/measure/subjects.h"

namespace nfswalk::bench {
namespace {

class NfswalkThread final : public SubjectThread {
 public:
  NfswalkThread(Client& client, const std::vector<Credential>& identities)
      : client_(client), identities_(identities) {}

  Answer Ask(const Call& call, std::span<char> link_text) override {
    const ResolveFlags flags{.no_follow = call.no_follow};
    const Credential& me = identities_[next_identity_];
    if (++next_identity_ == identities_.size()) next_identity_ = 0;
    switch (call.kind) {
      case CallKind::kReadLink: {
        const Result<size_t> count = client_.ReadLink(call.path, link_text, me);
        if (!count) return {.error = static_cast<int>(count.error())};
        return {.size_bytes = *count};
      }
      case CallKind::kOpen: {
        const Result<std::unique_ptr<File>> file =
            client_.Open(call.path, call.access_mode, me, flags);
        return {.error = file ? 0 : static_cast<int>(file.error())};
      }
      case CallKind::kAccess:
        return {.error = static_cast<int>(client_.Access(call.path, call.access_mode, me, flags))};
      case CallKind::kReadDir:
        return {.error = static_cast<int>(client_.ReadDir(
                    call.path, me, [](const DirectoryEntry&) { return true; }, flags))};
      default: {
        const Result<Attributes> attributes = client_.Stat(call.path, me, flags);
        if (!attributes) return {.error = static_cast<int>(attributes.error())};
        // FileType holds the type bits of st_mode, shifted right by 12.
        return {.mode = (static_cast<uint32_t>(attributes->type) << 12) | attributes->mode,
                .size_bytes = attributes->size_bytes,
                .links = attributes->nlink,
                .modified = attributes->mtime};
      }
    }
  }

  Answer Change(const BuildCall& call) override {
    return {.error = static_cast<int>(Changes(call, identities_.front()))};
  }

 private:
  std::errc Changes(const BuildCall& call, const Credential& me) {
    switch (call.kind) {
      case CallKind::kCreate:
        return ErrorOf(client_.Create(call.path, call.mode, call.exclusive, me));
      case CallKind::kTruncate:
        return SetAttributes({.size_bytes = call.size_bytes}, call, me);
      case CallKind::kMakeDirectory:
        return ErrorOf(client_.MakeDirectory(call.path, call.mode, me));
      case CallKind::kRemoveDirectory:
        return client_.RemoveDirectory(call.path, me);
      case CallKind::kUnlink:
        return client_.Unlink(call.path, me);
      case CallKind::kSymlink:
        return ErrorOf(client_.MakeSymlink(call.second, call.path, me));
      case CallKind::kLink:
        return client_.Link(call.path, call.second, me);
      case CallKind::kRename:
        return client_.Rename(call.path, call.second, me);
      case CallKind::kChmod:
        return SetAttributes({.mode = call.mode}, call, me);
      default:
        return SetAttributes({.mtime = protocol::SetTime{call.modified}}, call, me);
    }
  }

  std::errc SetAttributes(const nfswalk::SetAttributes& attributes, const BuildCall& call,
                          const Credential& me) {
    return ErrorOf(
        client_.SetAttributesOf(call.path, attributes, me, {.no_follow = call.no_follow}));
  }

  static std::errc ErrorOf(const auto& result) { return result ? std::errc{} : result.error(); }

  Client& client_;
  const std::vector<Credential>& identities_;  // the subject's
  size_t next_identity_ = 0;
};

class NfswalkSubject final : public Subject {
 public:
  NfswalkSubject(std::unique_ptr<Client> client, std::string_view mode,
                 std::vector<Credential> identities)
      : client_(std::move(client)), mode_(mode), identities_(std::move(identities)) {}

  std::string_view subject() const override { return "nfswalk"; }
  std::string_view mode() const override { return mode_; }
  std::expected<std::unique_ptr<SubjectThread>, std::string> StartThread() override {
    return std::make_unique<NfswalkThread>(*client_, identities_);
  }
  Stats stats() const override { return client_->stats(); }

 private:
  const std::unique_ptr<Client> client_;
  const std::string_view mode_;
  const std::vector<Credential> identities_;
};

}  // namespace

std::unique_ptr<Subject> MakeNfswalkSubject(std::unique_ptr<Client> client, std::string_view mode,
                                            std::vector<Credential> identities) {
  return std::make_unique<NfswalkSubject>(std::move(client), mode, std::move(identities));
}

}  // namespace nfswalk::bench
