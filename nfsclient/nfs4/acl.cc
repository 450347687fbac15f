#include "nfsclient/nfs4/acl.h"

#include <algorithm>
#include <span>
#include <utility>

#include "nfsclient/rpc/xdr_reader.h"

namespace nfswalk::protocol {
namespace {

constexpr std::string_view kOwner = "OWNER@", kGroup = "GROUP@", kEveryone = "EVERYONE@";

// The letters of nfs4_acl(5), in the order in which nfs4_getfacl(1) prints them.
constexpr std::string_view kTypeLetters = "ADUL";
constexpr std::pair<uint32_t, char> kFlagLetters[] = {
    {Ace::kFileInherit, 'f'}, {Ace::kDirectoryInherit, 'd'}, {Ace::kNoPropagate, 'n'},
    {Ace::kInheritOnly, 'i'}, {Ace::kSuccess, 'S'},          {Ace::kFailure, 'F'},
    {Ace::kGroup, 'g'},
};
constexpr std::pair<uint32_t, char> kMaskLetters[] = {
    {Ace::kRead, 'r'},
    {Ace::kWrite, 'w'},
    {Ace::kAppend, 'a'},
    {Ace::kDeleteChild, 'D'},
    {Ace::kDelete, 'd'},
    {Ace::kExecute, 'x'},
    {0x80, 't'},
    {Ace::kWriteAttributes, 'T'},
    {0x8, 'n'},
    {Ace::kWriteNamed, 'N'},
    {0x20000, 'c'},
    {Ace::kWriteAcl, 'C'},
    {Ace::kWriteOwner, 'o'},
    {0x100000, 'y'},
};

std::string LettersOf(uint32_t bits, std::span<const std::pair<uint32_t, char>> letters) {
  std::string text;
  for (const auto& [bit, letter] : letters) {
    if ((bits & bit) != 0) text += letter;
  }
  return text;
}

}  // namespace

std::optional<std::vector<Ace>> ReadAcl(std::string_view bytes) {
  rpc::XdrReader reader(std::as_bytes(std::span(bytes)));
  std::vector<Ace> acl;
  const uint32_t entries = reader.U32();
  for (uint32_t i = 0; i < entries && reader.good(); ++i) {
    Ace& ace = acl.emplace_back();
    ace.type = reader.U32();
    ace.flags = reader.U32();
    ace.mask = reader.U32();
    ace.who = reader.Bytes(bytes.size());
  }
  if (!reader.good() || reader.bytes_left() != 0) return std::nullopt;
  return acl;
}

bool IsAsMode(const std::vector<Ace>& acl) {
  constexpr uint32_t kInherited =
      Ace::kFileInherit | Ace::kDirectoryInherit | Ace::kNoPropagate | Ace::kInheritOnly;
  constexpr uint32_t kOfOwner =
      Ace::kWriteNamed | Ace::kWriteAttributes | Ace::kDelete | Ace::kWriteAcl | Ace::kWriteOwner;
  const auto is_as_mode = [](const Ace& ace) {
    if (ace.type > Ace::kDeny || (ace.flags & kInherited) != 0) return false;
    if (ace.who == kOwner) return true;
    if (ace.who != kGroup && ace.who != kEveryone) return false;
    const uint32_t writes = ace.mask & (Ace::kWrite | Ace::kAppend);
    const bool has_half = writes == Ace::kWrite || writes == Ace::kAppend ||
                          (writes == 0 && (ace.mask & Ace::kDeleteChild) != 0);
    return ace.type == Ace::kDeny || (!has_half && (ace.mask & kOfOwner) == 0);
  };
  return !acl.empty() && std::ranges::all_of(acl, is_as_mode);
}

uint32_t ClassModeOf(const std::vector<Ace>& acl) {
  uint32_t denied_by_name = 0;
  for (const Ace& ace : acl) {
    const bool is_named = ace.who != kOwner && ace.who != kGroup && ace.who != kEveryone;
    const bool counts = ace.type == Ace::kDeny && (ace.flags & Ace::kInheritOnly) == 0;
    if (is_named && counts) denied_by_name |= ace.mask;
  }
  const auto mode_of = [&](bool is_group) {
    uint32_t allowed = 0, decided = denied_by_name;  // the first entry with a bit decides it
    for (const Ace& ace : acl) {
      const bool counts = (ace.who == kEveryone || (is_group && ace.who == kGroup)) &&
                          ace.type <= Ace::kDeny && (ace.flags & Ace::kInheritOnly) == 0;
      if (!counts) continue;
      if (ace.type == Ace::kAllow) allowed |= ace.mask & ~decided;
      decided |= ace.mask;
    }
    const auto may = [&](uint32_t bits) { return (allowed & bits) == bits; };
    return (may(Ace::kRead) ? 4u : 0u) | (may(Ace::kWrite | Ace::kAppend) ? 2u : 0u) |
           (may(Ace::kExecute) ? 1u : 0u);
  };
  return mode_of(true) << 3 | mode_of(false);
}

std::string AceText(const Ace& ace) {
  std::string text;
  if (ace.type < kTypeLetters.size()) text += kTypeLetters[ace.type];
  text += ":" + LettersOf(ace.flags, kFlagLetters) + ":";
  return text.append(ace.who) + ":" + LettersOf(ace.mask, kMaskLetters);
}

}  // namespace nfswalk::protocol
