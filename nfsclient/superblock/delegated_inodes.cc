#include "nfsclient/superblock/delegated_inodes.h"

#include "nfsclient/icache/inode.h"
#include "rcu/mix64.h"

namespace nfswalk::nfs {

DelegatedInodes::Part& DelegatedInodes::PartOf(const icache::Inode& inode) {
  return parts_[rcu::Mix64(reinterpret_cast<uintptr_t>(&inode)) % kParts];
}

std::shared_ptr<protocol::OpenState> DelegatedInodes::Share(const icache::Inode& inode) {
  Part& part = PartOf(inode);
  const std::lock_guard lock(part.mutex);
  const auto found = part.records.find(&inode);
  if (found == part.records.end() || !found->second->open->can_be_shared()) return nullptr;
  found->second->delegation->NoteUsed();
  return found->second->open;
}

bool DelegatedInodes::Has(const icache::Inode& inode) {
  Part& part = PartOf(inode);
  const std::lock_guard lock(part.mutex);
  return part.records.contains(&inode);
}

std::vector<icache::InodeRef> DelegatedInodes::All() {
  std::vector<icache::InodeRef> all;
  for (Part& part : parts_) {
    const std::lock_guard lock(part.mutex);
    for (const auto& [inode, record] : part.records) all.push_back(icache::Hold(*record->inode));
  }
  return all;
}

void DelegatedInodes::Drop(std::unique_ptr<Record> record) {
  const std::lock_guard lock(ended_mutex_);
  record->next = std::move(ended_);
  ended_ = std::move(record);
}

std::unique_ptr<DelegatedInodes::Record> DelegatedInodes::TakeEnded() {
  const std::lock_guard lock(ended_mutex_);
  std::unique_ptr<Record> taken = std::move(ended_);
  if (taken != nullptr) ended_ = std::move(taken->next);
  return taken;
}

void DelegatedInodes::Clear() {
  for (Part& part : parts_) {
    const std::lock_guard lock(part.mutex);
    for (auto& [inode, record] : part.records) {
      record->has_ended = true;
      Drop(std::move(record));
    }
    part.records.clear();
  }
  while (TakeEnded() != nullptr) {
  }
}

}  // namespace nfswalk::nfs
