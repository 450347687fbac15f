#include "nfsclient/nfs4/state/state_id_calls.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include "nfsclient/nfs4/compound.h"
#include "nfsclient/nfs4/decode.h"
#include "nfsclient/nfs4/operation_names.h"
#include "nfsclient/nfs4/state/state_error.h"

namespace nfswalk::protocol {

Tested TestStateIds(rpc::Caller& caller, std::span<const StateId> states,
                    rpc::Caller::Budget& budget) {
  Compound compound;
  compound.TestStates(states);
  return CallCompound<Tested>(caller, compound, sunrpc_auth::Credential::OfProcess(), budget,
                              [&](CompoundReader& reader, Tested& tested) {
                                tested.statuses.resize(states.size());
                                (void)TakeTested(reader, tested.statuses);
                                tested.error = reader.error();
                                tested.status = reader.status();
                              });
}

bool FreeStateId(rpc::Caller& caller, const StateId& state,
                 const sunrpc_auth::Credential& credential, rpc::Caller::Budget& budget) {
  Compound compound;
  compound.FreeState(state);
  const auto freed = CallCompound<ClientIds::Status>(
      caller, compound, credential, budget, [](CompoundReader& reader, ClientIds::Status& reply) {
        reader.Next(kOpFreeStateId);
        reply.error = reader.error();
      });
  return !IsUnanswered(freed.error);
}

ClientIds::Status SendDelegReturn(rpc::Caller& caller, const StateId& delegation,
                                  const FileHandle& file, const sunrpc_auth::Credential& credential,
                                  rpc::Caller::Budget& budget) {
  for (;;) {
    Compound compound;
    compound.PutHandle(file).ReturnDelegation(delegation);
    ClientIds::Status reply =
        CallCompound<ClientIds::Status>(caller, compound, credential, budget,
                                        [](CompoundReader& reader, ClientIds::Status& returned) {
                                          if (reader.Next(OP_PUTFH))
                                            (void)reader.Next(OP_DELEGRETURN);
                                          returned.status = reader.status();
                                        });
    const bool is_delayed = reply.error == kOk && StateErrorOf(reply.status) == StateError::kWait;
    if (!is_delayed) return reply;
    reply.error = caller.PauseForJukebox(budget);
    if (reply.error != kOk) return reply;
  }
}

}  // namespace nfswalk::protocol
