#include "nfsclient/protocol/nfs4_opens.h"
namespace nfswalk::protocol {
class Nfs4Opens::Impl {};
Nfs4Opens::Nfs4Opens(RpcCaller&, const OwnerNames&) {}
Nfs4Opens::~Nfs4Opens() = default;
Nfs4Opens::Opened Nfs4Opens::Open(const Wish&, const Credential&, RpcCaller::Budget&) {
  Opened o;
  o.error = std::errc::operation_not_supported;
  return o;
}
StateId Nfs4Opens::StateOf(const OpenState*) { return {}; }
std::errc Nfs4Opens::Recover(const OpenState*, const StateId&, int, RpcCaller::Budget&) {
  return std::errc::io_error;
}
void Nfs4Opens::Shutdown() {}
}  // namespace nfswalk::protocol
