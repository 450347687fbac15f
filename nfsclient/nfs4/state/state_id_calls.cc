#include "nfsclient/nfs4/state/state_id_calls.h"

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

}  // namespace nfswalk::protocol
