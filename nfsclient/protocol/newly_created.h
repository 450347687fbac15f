// newly_created: whether an object is the one that a call has just made, where the server does not
// tell.
//
// Thread safety: pure functions.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_NEWLY_CREATED_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_NEWLY_CREATED_H_

#include "nfsclient/protocol/protocol.h"

namespace nfswalk::protocol {

// Returns whether `found` are the attributes of an object of `type` that `credential` has just
// created with the `requested` attributes.
bool LooksNewlyCreated(const Attributes& found, FileType type, const SetAttributes& requested,
                       const Credential& credential);

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_NEWLY_CREATED_H_
