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

// Limit of recoveries by one operation.
constexpr int kRecoveriesMax = 4;
// A state id lost sooner after its reopening is reopened only after a pause.
constexpr std::chrono::milliseconds kStableState{100};

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

  Opened Open(const OpenRequest& request, const Credential& credential, RpcCaller::Budget& budget);
  std::errc Recover(OpenFile& file, const StateId& used, StateError state_error,
                    RpcCaller::Budget& budget);
  std::errc Pause(RpcCaller::Budget& budget) { return caller_.PauseForJukebox(budget); }
  void Close(const std::shared_ptr<OpenFile>& file);
  void Stop() {
    stopped_.store(true);
    lease_.Stop();
  }
  // OpenStates that outlive the Nfs4Opens still close, but their lease is no longer renewed.
  void EndLease() {
    lease_.Stop();
    lease_.Join();
  }

 private:
  std::unique_ptr<OpenState> Register(const OpenRequest& request, const Credential& credential,
                                      uint64_t generation, Acquired acquired);

  RpcCaller& caller_;
  std::atomic<bool> stopped_{false};
  OpenAcquirer acquirer_;
  OpenFiles files_;
  Lease lease_;
};

namespace {

// Shares ownership of Impl, to close after the Nfs4Opens is destroyed.
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

Nfs4Opens::Opened Nfs4Opens::Impl::Open(const OpenRequest& request, const Credential& credential,
                                        RpcCaller::Budget& budget) {
  OpenArguments arguments;
  arguments.read = request.read;
  arguments.write = request.write;
  arguments.how = request.how;
  arguments.attributes = request.attributes;
  arguments.exclusive_verifier = request.exclusive_verifier;
  arguments.name = request.name;
  for (int tries = 0; tries < kRecoveriesMax; ++tries) {
    const auto client = lease_.Client(budget);
    if (!client) return Failure<Opened>(client.error());
    Acquired acquired =
        acquirer_.Acquire(*client, request.directory, arguments, credential, budget);
    const StateError state_error = StateErrorOf(acquired.status);
    if (ConcernsClient(state_error)) {
      const std::errc error = lease_.Replace(client->generation, state_error, budget);
      if (error != kOk) return Failure<Opened>(error);
      continue;
    }
    if (acquired.error != kOk) return Failure<Opened>(acquired.error);
    Opened opened{kOk, acquired.handle, acquired.attributes, acquired.directory, nullptr};
    opened.state = Register(request, credential, client->generation, std::move(acquired));
    return opened;
  }
  return Failure<Opened>(std::errc::io_error);
}

std::unique_ptr<OpenState> Nfs4Opens::Impl::Register(const OpenRequest& request,
                                                     const Credential& credential,
                                                     uint64_t generation, Acquired acquired) {
  auto file = std::make_shared<OpenFile>();
  file->directory = request.directory;
  file->name = request.name;
  file->read = request.read;
  file->write = request.write;
  file->credential = credential;
  file->handle = acquired.handle;
  file->owner = std::move(acquired.owner);
  file->state = {.id = acquired.state, .generation = generation};
  files_.Add(file);
  lease_.FileOpened();
  return std::make_unique<OpenOnServer<Impl>>(shared_from_this(), std::move(file));
}

std::errc Nfs4Opens::Impl::Recover(OpenFile& file, const StateId& used, StateError state_error,
                                   RpcCaller::Budget& budget) {
  const bool was_stable =
      std::chrono::steady_clock::now() - file.CurrentState().reopened >= kStableState;
  if (!was_stable && file.CurrentState().id == used) {
    const std::errc error = caller_.PauseForJukebox(budget);
    if (error != kOk) return error;
  }
  for (int tries = 0; tries < kRecoveriesMax; ++tries) {
    const OpenFile::State now = file.CurrentState();
    if (now.lost) return std::errc::io_error;
    if (now.id != used) return kOk;
    if (ConcernsClient(state_error)) {
      const std::errc error = lease_.Replace(now.generation, state_error, budget);
      if (error != kOk) return error;
      // The file may not be reopened yet under the new client id.
      state_error = StateError::kState;
      continue;
    }
    const auto client = lease_.Client(budget);
    if (!client) return client.error();
    const OpenFiles::Reopened reopened = files_.Reopen(file, used, *client, budget);
    if (reopened.error != kOk) return reopened.error;
    if (ConcernsClient(reopened.state_error)) {
      const std::errc error = lease_.Replace(client->generation, reopened.state_error, budget);
      if (error != kOk) return error;
    }
  }
  return std::errc::io_error;
}

void Nfs4Opens::Impl::Close(const std::shared_ptr<OpenFile>& file) {
  files_.Remove(file);
  lease_.FileClosed();
  const std::lock_guard lock(file->reopen_mutex);
  file->closed = true;
  const OpenFile::State now = file->CurrentState();
  // No CLOSE for an earlier client id: the server dropped its state.
  if (stopped_.load() || now.lost || now.generation != lease_.Current().generation) return;
  RpcCaller::Budget budget = caller_.NewBudget();
  acquirer_.Release(std::move(file->owner), file->handle, now.id, budget);
}

Nfs4Opens::Nfs4Opens(RpcCaller& caller, const OwnerNames& owners)
    : impl_(std::make_shared<Impl>(caller, owners)) {}

Nfs4Opens::~Nfs4Opens() { impl_->EndLease(); }

Nfs4Opens::Opened Nfs4Opens::Open(const OpenRequest& request, const Credential& credential,
                                  RpcCaller::Budget& budget) {
  return impl_->Open(request, credential, budget);
}

StateId Nfs4Opens::StateOf(const OpenState* state) {
  if (state == nullptr) return {};
  return static_cast<const OpenOnServer<Impl>*>(state)->file().CurrentState().id;
}

std::errc Nfs4Opens::Recover(const OpenState* state, const StateId& used, int status,
                             RpcCaller::Budget& budget) {
  const StateError state_error = StateErrorOf(status);
  switch (state_error) {
    case StateError::kWait:
      return impl_->Pause(budget);
    case StateError::kState:
    case StateError::kLeaseExpired:
    case StateError::kServerRestart:
      if (state == nullptr) break;
      return impl_->Recover(static_cast<const OpenOnServer<Impl>*>(state)->file(), used,
                            state_error, budget);
    case StateError::kNone:
    case StateError::kOwner:
    case StateError::kRevoked:
      break;
  }
  return ErrnoOfStatus4(status);
}

void Nfs4Opens::Shutdown() { impl_->Stop(); }

}  // namespace nfswalk::protocol
