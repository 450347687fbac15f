// idmap_domain: the domain in NFSv4's "name@domain" owners and groups (RFC 7530 5.9).
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_NFS4_IDMAP_DOMAIN_H_
#define NFSWALK_NFSCLIENT_NFS4_IDMAP_DOMAIN_H_

#include <optional>
#include <string>
#include <string_view>

namespace nfswalk::protocol {

// Returns Domain in section General of an idmapd.conf(5); nullopt if it is not set.
std::optional<std::string> ConfiguredIdmapDomain(std::string_view idmapd_conf);

// Returns Domain of /etc/idmapd.conf, the host's DNS domain or "localdomain". May block on DNS.
std::string SystemIdmapDomain();

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_NFS4_IDMAP_DOMAIN_H_
