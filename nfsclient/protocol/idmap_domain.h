// idmap_domain: the domain behind the '@' of NFSv4's users and groups (RFC 7530 5.9).
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_IDMAP_DOMAIN_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_IDMAP_DOMAIN_H_

#include <optional>
#include <string>
#include <string_view>

namespace nfswalk::protocol {

// What idmapd.conf(5) says: Domain in its section General; nullopt if it does not.
std::optional<std::string> ConfiguredIdmapDomain(std::string_view idmapd_conf);

// Domain of /etc/idmapd.conf, else the host's DNS domain, else "localdomain". May wait for DNS.
std::string SystemIdmapDomain();

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_IDMAP_DOMAIN_H_
