#include "nfsclient/nfs/stale_name.h"

namespace nfswalk::nfs {

bool ContradictsName(std::errc error, const icache::Inode* known) {
  if (error == protocol::kStale) return true;
  const bool is_directory = known != nullptr && known->is_directory();
  switch (error) {
    case std::errc::no_such_file_or_directory:
      return known != nullptr;
    case std::errc::file_exists:
      return known == nullptr;
    case std::errc::is_a_directory:
    case std::errc::directory_not_empty:
      return !is_directory;
    case std::errc::not_a_directory:
      return known == nullptr || is_directory;
    case std::errc::invalid_argument:
    case std::errc::too_many_symbolic_link_levels:
      return known == nullptr || known->type.load() != protocol::FileType::kSymlink;
    default:
      return false;
  }
}

void ExpireName(Superblock& superblock, const vfs::DentryRef& directory, const vfs::Name& name) {
  if (const vfs::DentryRef known = superblock.dentries.Lookup(*directory, name)) {
    superblock.dentries.Drop(*known);
  }
  superblock.invalidations.Post(InvalidReason::kName, *directory.inode(), name.view());
}

}  // namespace nfswalk::nfs
