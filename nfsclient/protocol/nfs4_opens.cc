#include "nfsclient/protocol/nfs4_opens.h"

#include <atomic>
#include <chrono>
#include <utility>

#include "nfsclient/protocol/nfs4_lease.h"
#include "nfsclient/protocol/nfs4_open_acquire.h"
#include "nfsclient/protocol/nfs4_open_files.h"
#include "nfsclient/protocol/nfs4_state_error.h"
#include "nfsclient/protocol/nfs4_status.h"
#include "nfsclient/protocol/wire_limits.h"

namespace nfswalk::protocol {
namespace {

// How often one operation starts over because its client id or its state is gone.
constexpr int kRecoveriesMax = 4;
// A state that does not last that long is opened again only after a pause.
constexpr std::chrono::milliseconds kSoundState{100};

}  // namespace

class Nfs4Opens::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(RpcCaller& caller, const OwnerNames& owners)
      : caller_(caller),
        acquirer_(caller, owners),
        files_(acquirer_),
        lease_(caller, [this](const LiveClient& client, RpcCaller::Budget& budget) {
          return files_.ReopenAll(client, budget);
        }) {}

  Opened Open(const OpenRequest& wish, const Credential& credential, RpcCaller::Budget& budget);
  std::errc Recover(OpenFile& file, const StateId& used, StateError trouble,
                    RpcCaller::Budget& budget);
  std::errc Pause(RpcCaller::Budget& budget) { return caller_.PauseForJukebox(budget); }
  void Close(const std::shared_ptr<OpenFile>& file);
  void Stop() {
    stopped_.store(true);
    lease_.Stop();
  }
  // States that outlive the Nfs4Opens still close, but nobody renews their lease any more.
  void EndLease() {
    lease_.Stop();
    lease_.Join();
  }

 private:
  std::unique_ptr<OpenState> Register(const OpenRequest& wish, const Credential& credential,
                                      uint64_t generation, Acquired acquired);

  RpcCaller& caller_;
  std::atomic<bool> stopped_{false};
  OpenAcquirer acquirer_;
  OpenFiles files_;
  Lease lease_;
};

namespace {

// Shares what it needs to close, which thus outlives the Nfs4Opens.
template <typename Impl>
class OpenOnServer final : public OpenState {
 public:
  OpenOnServer(std::shared_ptr<Impl> opens, std::shared_ptr<OpenFile> file)
      : opens_(std::move(opens)), file_(std::move(file)) {}
  ~OpenOnServer() override { opens_->Close(file_); }

  OpenFile& file() const { return *file_; }

 private:
  const std::shared_ptr<Impl> opens_;
  const std::shared_ptr<OpenFile> file_;
};

}  // namespace

Nfs4Opens::Opened Nfs4Opens::Impl::Open(const OpenRequest& wish, const Credential& credential,
                                        RpcCaller::Budget& budget) {
  OpenArguments arguments;
  arguments.read = wish.read;
  arguments.write = wish.write;
  arguments.how = wish.how;
  arguments.attributes = wish.attributes;
  arguments.exclusive_verifier = wish.exclusive_verifier;
  arguments.name = wish.name;
  for (int tries = 0; tries < kRecoveriesMax; ++tries) {
    const auto client = lease_.Client(budget);
    if (!client) return Failure<Opened>(client.error());
    Acquired acquired = acquirer_.Acquire(*client, wish.directory, arguments, credential, budget);
    const StateError trouble = StateErrorOf(acquired.status);
    if (ConcernsClient(trouble)) {
      const std::errc error = lease_.Replace(client->generation, trouble, budget);
      if (error != kOk) return Failure<Opened>(error);
      continue;
    }
    if (acquired.error != kOk) return Failure<Opened>(acquired.error);
    Opened opened{kOk, acquired.handle, acquired.attributes, acquired.directory, nullptr};
    opened.state = Register(wish, credential, client->generation, std::move(acquired));
    return opened;
  }
  return Failure<Opened>(std::errc::io_error);
}

std::unique_ptr<OpenState> Nfs4Opens::Impl::Register(const OpenRequest& wish,
                                                     const Credential& credential,
                                                     uint64_t generation, Acquired acquired) {
  auto file = std::make_shared<OpenFile>();
  file->directory = wish.directory;
  file->name = wish.name;
  file->read = wish.read;
  file->write = wish.write;
  file->credential = credential;
  file->handle = acquired.handle;
  file->owner = std::move(acquired.owner);
  file->state = {.id = acquired.state, .generation = generation};
  files_.Add(file);
  lease_.Hold();
  return std::make_unique<OpenOnServer<Impl>>(shared_from_this(), std::move(file));
}

std::errc Nfs4Opens::Impl::Recover(OpenFile& file, const StateId& used, StateError trouble,
                                   RpcCaller::Budget& budget) {
  const bool was_sound = std::chrono::steady_clock::now() - file.Now().reopened >= kSoundState;
  if (!was_sound && file.Now().id == used) {
    const std::errc error = caller_.PauseForJukebox(budget);
    if (error != kOk) return error;
  }
  for (int tries = 0; tries < kRecoveriesMax; ++tries) {
    const OpenFile::State now = file.Now();
    if (now.lost) return std::errc::io_error;
    if (now.id != used) return kOk;
    if (ConcernsClient(trouble)) {
      const std::errc error = lease_.Replace(now.generation, trouble, budget);
      if (error != kOk) return error;
      // Somebody may have made the client id but not have come to this file.
      trouble = StateError::kState;
      continue;
    }
    const auto client = lease_.Client(budget);
    if (!client) return client.error();
    const OpenFiles::Reopened reopened = files_.Reopen(file, used, *client, budget);
    if (reopened.error != kOk) return reopened.error;
    if (ConcernsClient(reopened.trouble)) {
      const std::errc error = lease_.Replace(client->generation, reopened.trouble, budget);
      if (error != kOk) return error;
    }
  }
  return std::errc::io_error;
}

void Nfs4Opens::Impl::Close(const std::shared_ptr<OpenFile>& file) {
  files_.Remove(file);
  lease_.Drop();
  const std::lock_guard busy(file->busy);
  file->closed = true;
  const OpenFile::State now = file->Now();
  // A server that has forgotten the client has forgotten the file.
  if (stopped_.load() || now.lost || now.generation != lease_.Known().generation) return;
  RpcCaller::Budget budget = caller_.NewBudget();
  acquirer_.Release(std::move(file->owner), file->handle, now.id, budget);
}

Nfs4Opens::Nfs4Opens(RpcCaller& caller, const OwnerNames& owners)
    : impl_(std::make_shared<Impl>(caller, owners)) {}

Nfs4Opens::~Nfs4Opens() { impl_->EndLease(); }

Nfs4Opens::Opened Nfs4Opens::Open(const OpenRequest& wish, const Credential& credential,
                                  RpcCaller::Budget& budget) {
  return impl_->Open(wish, credential, budget);
}

StateId Nfs4Opens::StateOf(const OpenState* state) {
  if (state == nullptr) return {};
  return static_cast<const OpenOnServer<Impl>*>(state)->file().Now().id;
}

std::errc Nfs4Opens::Recover(const OpenState* state, const StateId& used, int status,
                             RpcCaller::Budget& budget) {
  const StateError trouble = StateErrorOf(status);
  switch (trouble) {
    case StateError::kWait:
      return impl_->Pause(budget);
    case StateError::kState:
    case StateError::kLeaseExpired:
    case StateError::kServerRestart:
      if (state == nullptr) break;
      return impl_->Recover(static_cast<const OpenOnServer<Impl>*>(state)->file(), used, trouble,
                            budget);
    case StateError::kNone:
    case StateError::kOwner:
    case StateError::kRevoked:
      break;
  }
  return ErrnoOfStatus4(status);
}

void Nfs4Opens::Shutdown() { impl_->Stop(); }

}  // namespace nfswalk::protocol
