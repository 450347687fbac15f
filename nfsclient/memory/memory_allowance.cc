#include "nfsclient/memory/memory_allowance.h"

#include <sys/resource.h>
#include <unistd.h>

#include <optional>

#include "nfsclient/memory/cgroup.h"

namespace nfswalk::nfs {
namespace {

void Lower(MemoryAllowance& allowance, std::optional<uint64_t> bytes, LimitSource source) {
  if (bytes && *bytes < allowance.bytes) allowance = {.bytes = *bytes, .source = source};
}

}  // namespace

std::string_view LimitSourceName(LimitSource source) {
  switch (source) {
    case LimitSource::kOptions:
      return "options";
    case LimitSource::kPhysical:
      return "physical";
    case LimitSource::kCgroup:
      return "cgroup";
    case LimitSource::kRlimit:
      return "rlimit";
  }
  return "unknown";
}

MemoryAllowance AllowedMemory(const std::string& root) {
  MemoryAllowance allowance{.bytes = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                                     static_cast<uint64_t>(sysconf(_SC_PAGESIZE)),
                            .source = LimitSource::kPhysical};
  for (const std::string& cgroup : OwnCgroups(root)) {
    Lower(allowance, MemoryLimitOf(cgroup), LimitSource::kCgroup);
  }
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
      Lower(allowance, limit.rlim_cur, LimitSource::kRlimit);
    }
  }
  return allowance;
}

}  // namespace nfswalk::nfs
