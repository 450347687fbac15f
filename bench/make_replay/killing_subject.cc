#include "bench/make_replay/killing_subject.h"

#include <atomic>
#include <cstdlib>
#include <utility>

#include "bench/measure/progress.h"

namespace nfswalk::bench {
namespace {

// The calls left until the server dies, shared by all threads.
class Fuse {
 public:
  Fuse(ServerExport& server, uint64_t after)
      : server_(server), left_(static_cast<int64_t>(after)) {}

  void Burn() {
    if (left_.fetch_sub(1) != 1) return;
    const Outcome restarted = server_.KillAndRestart();
    if (restarted) return Warn("make_replay", "killed and restarted the server");
    Warn("make_replay", "the server does not come back: " + restarted.error());
    std::_Exit(1);
  }

 private:
  ServerExport& server_;
  std::atomic<int64_t> left_;
};

class KillingThread final : public SubjectThread {
 public:
  KillingThread(std::unique_ptr<SubjectThread> thread, Fuse& fuse)
      : thread_(std::move(thread)), fuse_(fuse) {}
  Answer Ask(const Call& call, std::span<char> link_text) override {
    fuse_.Burn();
    return thread_->Ask(call, link_text);
  }

 private:
  const std::unique_ptr<SubjectThread> thread_;
  Fuse& fuse_;
};

class KillingSubject final : public Subject {
 public:
  KillingSubject(std::unique_ptr<Subject> subject, ServerExport& server, uint64_t after)
      : subject_(std::move(subject)), fuse_(server, after) {}

  std::string_view subject() const override { return subject_->subject(); }
  std::string_view mode() const override { return subject_->mode(); }
  Stats stats() const override { return subject_->stats(); }
  std::expected<std::unique_ptr<SubjectThread>, std::string> StartThread() override {
    auto thread = subject_->StartThread();
    if (!thread) return std::unexpected(std::move(thread.error()));
    return std::make_unique<KillingThread>(std::move(*thread), fuse_);
  }

 private:
  const std::unique_ptr<Subject> subject_;
  Fuse fuse_;
};

}  // namespace

std::unique_ptr<Subject> MakeKillingSubject(std::unique_ptr<Subject> subject, ServerExport& server,
                                            uint64_t after) {
  return std::make_unique<KillingSubject>(std::move(subject), server, after);
}

}  // namespace nfswalk::bench
