#include "bench/make_replay/nfswalk_subject.h"

#include <array>
#include <utility>

namespace nfswalk::bench {

namespace {

class NfswalkWorker final : public Worker {
 public:
  explicit NfswalkWorker(Client& client) : client_(client), root_(0, 0) {}

  Answer Ask(const ReplayCall& call) override {
    const Call& recorded = *call.recorded;
    const ResolveFlags flags{.no_follow = recorded.no_follow};
    switch (recorded.kind) {
      case CallKind::kStat: return Stat(*call.path, flags);
      case CallKind::kAccess:
        return {.error = static_cast<int>(
                    client_.Access(*call.path, recorded.access_mode, root_, flags))};
      case CallKind::kReadLink: {
        auto count = client_.ReadLink(*call.path, text_, root_);
        if (!count) return {.error = static_cast<int>(count.error())};
        return {.link_text = {text_.data(), *count}};
      }
      case CallKind::kOpen: {
        Answer answer = Stat(*call.path, flags);
        if (answer.error != 0) return answer;
        if (recorded.directory && (answer.mode & 0170000) != 0040000) return {.error = ENOTDIR};
        answer.error =
            static_cast<int>(client_.Access(*call.path, recorded.access_mode, root_, flags));
        return answer;
      }
      case CallKind::kReadDir:
        return {.error = static_cast<int>(client_.ReadDir(
                    *call.path, root_, [](const DirectoryEntry&) { return true; }))};
    }
    return {.error = EINVAL};
  }

 private:
  Answer Stat(const std::string& path, ResolveFlags flags) {
    auto attributes = client_.Stat(path, root_, flags);
    if (!attributes) return {.error = static_cast<int>(attributes.error())};
    uint32_t type = static_cast<uint32_t>(attributes->type) << 12;
    return {.mode = type | attributes->mode, .size = attributes->size_bytes};
  }

  Client& client_;
  const Credential root_;
  std::array<char, 4096> text_;
};

class NfswalkSubject final : public Subject {
 public:
  NfswalkSubject(std::unique_ptr<Client> client, WalkMode mode)
      : client_(std::move(client)), mode_(mode) {}

  std::string name() const override { return "nfswalk"; }
  std::string mode() const override { return std::string(WalkModeName(mode_)); }
  std::expected<std::unique_ptr<Worker>, std::string> MakeWorker() override {
    return std::make_unique<NfswalkWorker>(*client_);
  }
  SubjectCounters counters() const override {
    Stats stats = client_->stats();
    SubjectCounters counters{.rpcs = stats.rpcs, .peek_hits = stats.peek_hits, .need_ref = {}};
    for (size_t i = 1; i < kNeedRefCount; ++i) {
      counters.need_ref[std::string(NeedRefName(static_cast<NeedRef>(i)))] = stats.need_ref[i];
    }
    return counters;
  }
  void Forget() override { client_->DropCaches(); }

 private:
  std::unique_ptr<Client> client_;
  const WalkMode mode_;
};

}  // namespace

std::unique_ptr<Subject> MakeNfswalkSubject(std::unique_ptr<Client> client, WalkMode mode) {
  return std::make_unique<NfswalkSubject>(std::move(client), mode);
}

}  // namespace nfswalk::bench
