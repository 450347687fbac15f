// Attacks in the results of NFSv4.0 (RFC 7530): of COMPOUND, and of its operations.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "tests/fixtures/libnfs_raw.h"
#include "tests/hostile/attack.h"
#include "tests/hostile/hostile_names.h"

namespace nfswalk::hostile {
namespace {

using Errors = std::vector<std::errc>;

const Errors kEio = {std::errc::io_error};
constexpr size_t kBodyBytes = 8;  // begins behind the operation's number and its status

Attack On(int operation, std::string name, Forge forge) {
  return {
      .name = std::move(name), .version = 4, .operations = {operation}, .forge = std::move(forge)};
}
Attack Failing(int operation, std::string name, Forge forge, Errors errors = kEio) {
  Attack attack = On(operation, std::move(name), std::move(forge));
  attack.ending = Ending::kFails;
  attack.errors = std::move(errors);
  return attack;
}

// The operation with this body, or with this status and none.
Forge Body(const Xdr& body) {
  return
      [bytes = body.str()](const std::string& good) { return good.substr(0, kBodyBytes) + bytes; };
}
Forge Status(uint32_t status) {
  return
      [status](const std::string& good) { return Xdr().Raw(good.substr(0, 4)).U32(status).str(); };
}

// A whole result of COMPOUND.
Attack OnCompound(std::string name, const Xdr& results) {
  return {.name = std::move(name),
          .version = 4,
          .operations = ReadingOperations(4),
          .tamper = Always(results),
          .ending = Ending::kFails,
          .errors = kEio};
}

Xdr Handle(uint32_t bytes) {
  return bytes == kHugeBytes ? Xdr().U32(bytes).Raw(std::string(128, 'h'))
                             : Xdr().Bytes(std::string(bytes, 'h'));
}

// A GETATTR with the same bitmap, and with the values that `change` makes of its own.
Forge Values(std::function<std::string(std::string values)> change) {
  return [change = std::move(change)](const std::string& good) {
    constexpr size_t kBitmapBytes = 12;  // of the fake server: two words
    const std::string head = good.substr(0, kBodyBytes + kBitmapBytes);
    protocol::XdrReader body(std::string_view(good).substr(head.size()));
    return head + Xdr().Bytes(change(body.Bytes())).str();
  };
}

// Whether they are no attributes of a file, but of the server.
bool AreLimits(const std::string& values) { return values.size() < 40; }

// The type is the first value of all that the client asks for files.
Forge Type(std::function<uint32_t(size_t index)> type) {
  return Values([type = std::move(type), index = size_t{0}](const std::string& values) mutable {
    if (AreLimits(values)) return values;
    return Xdr().U32(type(index++)).Raw(values.substr(4)).str();
  });
}

// The owner of `file` and of `dir` is 4711 (hostile_server.cc).
Forge Owner(const std::string& owner) {
  return Values([owner](std::string values) {
    const std::string there = Xdr().Bytes("4711").str();
    if (const size_t at = values.find(there); at != values.npos) {
      values.replace(at, there.size(), Xdr().Bytes(owner).str());
    }
    return values;
  });
}

Forge MaxRead(uint64_t bytes) {
  return Values([bytes](std::string values) {
    const std::string there = Xdr().U64(64 * 1024).str();
    size_t at = 0;
    while (AreLimits(values) && (at = values.find(there, at)) != values.npos) {
      values.replace(at, there.size(), Xdr().U64(bytes).str());
    }
    return values;
  });
}

std::vector<Attack> CompoundAttacks() {
  return {
      OnCompound("ResultsHuge", Xdr().U32(0).Bytes("").U32(0xffffffff, OP_PUTFH, 0)),
      OnCompound("OkWithoutResults", Xdr().U32(0).Bytes("").U32(0)),
      // fs/nfs/nfs4xdr.c: decode_compound_hdr() takes this for the status.
      OnCompound("ErrorWithoutResults", Xdr().U32(NFS4ERR_IO).Bytes("").U32(0)),
      OnCompound("CompoundWithNothing", Xdr()),
      OnCompound("TagOfTwoGiB", Xdr().U32(0).U32(kHugeBytes, 0, 0)),
      OnCompound("TagOfAMiB", Xdr().U32(0).Bytes(std::string(kMiB, 't')).U32(0)),
      OnCompound("OperationsOfOthers", Xdr().U32(0).Bytes("").U32(2, OP_READ, 0, OP_LINK, 0)),
      OnCompound("FewerResults", Xdr().U32(0).Bytes("").U32(1, OP_PUTFH, 0)),
      OnCompound("FewerResultsThanCounted", Xdr().U32(0).Bytes("").U32(3, OP_PUTFH, 0)),
      OnCompound("CompoundStatusHuge",
                 Xdr().U32(0x7fffffff).Bytes("").U32(1, OP_PUTFH, 0x7fffffff)),
  };
}

std::vector<Attack> OperationAttacks() {
  std::vector<Attack> attacks;
  for (const uint32_t bytes : {0u, 129u, kHugeBytes}) {
    attacks.push_back(
        Failing(OP_GETFH, "HandleOf" + std::to_string(bytes) + "Bytes", Body(Handle(bytes))));
    attacks.back().after = 1;  // of the root
    attacks.push_back(
        On(OP_GETFH, "RootHandleOf" + std::to_string(bytes) + "Bytes", Body(Handle(bytes))));
  }
  const auto other_operation = [](const std::string& good) {
    return Xdr().U32(OP_WRITE).Raw(good.substr(4)).str();
  };
  attacks.push_back(Failing(OP_LOOKUP, "OtherOperation", other_operation));
  attacks.push_back(Failing(OP_LOOKUP, "OperationCutShort",
                            [](const std::string& good) { return good.substr(0, 6); }));
  attacks.push_back(Failing(OP_LOOKUP, "LookupStatusHuge", Status(0x7fffffff)));
  // A client may take what is missing from the results behind it.
  attacks.push_back(On(OP_ACCESS, "AccessCutShort", Body(Xdr().U32(1))));
  attacks.push_back(On(OP_ACCESS, "AccessGrantsAllBits", Body(Xdr().U32(~0u, ~0u))));
  return attacks;
}

std::vector<Attack> AttributeAttacks() {
  const auto longer = [](const std::string& values) { return values + std::string(4, 'l'); };
  const auto shorter = [](const std::string& values) {
    return values.substr(0, std::max<size_t>(values.size(), 4) - 4);
  };
  const int of = OP_GETATTR;
  const auto type = [](uint32_t same) { return Type([same](size_t) { return same; }); };
  const std::string huge_bitmap = Xdr().U32(0xffffffff, 1, 1).str();
  std::vector<Attack> attacks = {
      Failing(of, "AttributesLonger", Values(longer)),
      Failing(of, "AttributesShorter", Values(shorter)),
      Failing(of, "BitmapHuge", Body(Xdr().Raw(huge_bitmap))),
      Failing(of, "AttributesOfTwoGiB", Body(Xdr().U32(1, 2, kHugeBytes, 1))),
      Failing(of, "AttributesNotAsked", Body(Xdr().U32(1, 1).Bytes(Xdr().U32(1, ~0u)))),
      Failing(of, "TypeTen", type(10)),
      On(of, "OwnerOfAMiB", Owner(std::string(kMiB, '9'))),
      On(of, "OwnerWithEscapeSequence", Owner("\033[2J@\033]0;t\007")),
      On(of, "OwnerWithNul",
         Owner(std::string("4\0"
                           "7",
                           3))),
      On(of, "OwnerAboveAllNumbers", Owner("99999999999999999999")),
      On(of, "TypesFlip", Type([](size_t index) {
           return index % 3 == 0 ? NF4REG : index % 3 == 1 ? NF4LNK : NF4DIR;
         })),
  };
  for (Attack& attack : attacks) attack.after = 2;  // of the root and of the server, at mount
  attacks.push_back(On(of, "RootIsAFile", type(NF4REG)));
  attacks.push_back(On(of, "RootIsALink", type(NF4LNK)));
  attacks.push_back(On(of, "RootAttributesShorter", Values(shorter)));
  attacks.push_back(On(of, "SizesOfZero", MaxRead(0)));
  attacks.push_back(On(of, "SizesOf4GiB", MaxRead(0xffffffff)));
  attacks.push_back(On(of, "SizesOf16EiB", MaxRead(~uint64_t{0})));
  for (size_t i = attacks.size() - 3; i < attacks.size(); ++i) attacks[i].ending = Ending::kServed;
  return attacks;
}

// Entries in the order of the fake server's root.
enum Like : size_t { kDirectory = 0, kFile = 1, kLink = 2 };

// The attributes of an entry of a good READDIR, from the bitmap on: those of the last one if it has
// less.
std::string AttributesOf(const std::string& good, Like like) {
  constexpr size_t kEntriesAt = kBodyBytes + NFS4_VERIFIER_SIZE;
  if (good.size() < kEntriesAt) return {};  // of no directory
  protocol::XdrReader reader(std::string_view(good).substr(kEntriesAt));
  std::string attributes;
  for (size_t i = 0; i <= like && reader.U32() != 0; ++i) {
    reader.U64();    // cookie
    reader.Bytes();  // name
    const std::string bitmap = reader.Raw(12);
    attributes = bitmap + Xdr().Bytes(reader.Bytes()).str();
  }
  return attributes;
}

struct Entry {
  std::string name;
  uint64_t cookie;
  Like like = kFile;
};

std::string Listing(const std::string& good, const std::vector<Entry>& entries, bool eof = true) {
  Xdr listed;
  listed.Raw(good.substr(0, kBodyBytes + NFS4_VERIFIER_SIZE));
  for (const Entry& entry : entries) {
    listed.U32(1).U64(entry.cookie).Bytes(entry.name).Raw(AttributesOf(good, entry.like));
  }
  return listed.U32(0, eof ? 1 : 0).str();
}
Forge Lists(std::vector<Entry> entries, bool eof = true) {
  return [entries = std::move(entries), eof](const std::string& good) {
    return Listing(good, entries, eof);
  };
}

// Listings without end, also of directories that have no entries left, with so many entries in each
// reply, and one more of the name `last` if that is given.
Forge Cookies(size_t entries, std::function<uint64_t(uint64_t index)> cookie,
              const std::string& last = "") {
  return [entries, cookie = std::move(cookie), last, index = uint64_t{0},
          held = std::string()](const std::string& good) mutable {
    std::vector<Entry> listed;
    if (!AttributesOf(good, kFile).empty()) held = good;
    if (held.empty()) return good;
    for (size_t i = 0; i < entries; ++i, ++index) {
      listed.push_back({"entry" + std::to_string(index), cookie(index)});
    }
    if (!last.empty()) listed.push_back({last, cookie(index++)});
    return Listing(held, listed, false);
  };
}

std::vector<Attack> ListingAttacks() {
  const int list = OP_READDIR;
  const Errors loop = {std::errc::too_many_symbolic_link_levels};
  std::vector<Attack> attacks = {
      Failing(list, "CookiesAllTheSame", Cookies(2, [](uint64_t) { return 7; }),
              {loop[0], kEio[0]}),
      Failing(list, "CookiesCycle", Cookies(1, [](uint64_t i) { return i % 4 + 3; }), loop),
      // 300 cookies over 30,000 entries and for ever.
      Failing(list, "CookiesRepeat", Cookies(100, [](uint64_t i) { return i % 300 + 3; }), loop),
      Failing(list, "NoEntriesAndNoEnd", Lists({}, false)),
      On(list, "NothingButDot",
         Cookies(
             0, [](uint64_t i) { return i + 3; }, ".")),
      // No server of this version lists it (RFC 7530 16.24).
      Failing(list, "EachReplyEndsInDot",
              Cookies(
                  2, [](uint64_t i) { return i + 3; }, ".")),
      // Cookies by which the mount tells the kernel that it has listed "." alone (FUSE).
      Failing(list, "CookiesOfTheMount", Cookies(1, [](uint64_t) { return INT64_MAX - 2; }),
              {loop[0], kEio[0]}),
      On(list, "LinkThenDirectoryOfOneName", Lists({{"link", 3, kLink}, {"link", 4, kDirectory}})),
      Failing(list, "EntriesCutShort", Body(Xdr().Raw("verifier").U32(1))),
      Failing(list, "EntryBitmapHuge",
              Body(Xdr().Raw("verifier").U32(1).U64(3).Bytes("a").U32(~0u, 0))),
      On(list, "ListingWithoutEnd", Cookies(100, [](uint64_t i) { return i + 3; })),
  };
  attacks.back().ending = Ending::kInterrupted;
  attacks.push_back(Loop(4, list));
  for (const HostileName& name : HostileNames()) {
    attacks.push_back(On(list, "Listed" + name.title, Lists({{name.bytes, 3}})));
    if (!name.errors.empty()) attacks.back().ending = Ending::kFails;
    attacks.back().errors = name.errors;
  }
  return attacks;
}

std::vector<Attack> DataAttacks() {
  const std::string four_mib(4 * kMiB, 'd');
  std::vector<Attack> attacks = {
      Failing(OP_READ, "MoreDataThanAsked", Body(Xdr().U32(1).Bytes(four_mib))),
      Failing(OP_READ, "DataOfTwoGiB", Body(Xdr().U32(1, kHugeBytes).Raw("data"))),
      // Linux ends at the size that the attributes have.
      On(OP_READ, "DataWithoutEnd", Body(Xdr().U32(0).Bytes(kPiece))),
      On(OP_READ, "DataAtEachOffset", Body(Xdr().U32(1).Bytes(kPiece))),
      On(OP_READ, "NoDataAndNoEnd", Body(Xdr().U32(0).Bytes(""))),
      On(OP_READ, "EndOfFileTwo", Body(Xdr().U32(2).Bytes(kPiece))),
  };
  for (const HostileName& text : HostileLinkTexts()) {
    const Forge forge = Body(Xdr().Bytes(text.bytes));
    attacks.push_back(text.errors.empty()
                          ? On(OP_READLINK, "LinkText" + text.title, forge)
                          : Failing(OP_READLINK, "LinkText" + text.title, forge, text.errors));
  }
  return attacks;
}

// Errors that a client is to wait for, or to answer with new state, for ever.
std::vector<Attack> StatusAttacks() {
  struct Row {
    const char* name;
    int operation;
    int status;
    Errors errors;
  };
  const Errors late = {std::errc::timed_out};
  const Errors late_or_eio = {std::errc::timed_out, std::errc::io_error};
  const Errors resource = {std::errc::timed_out, static_cast<std::errc>(EREMOTEIO)};
  std::vector<Attack> attacks;
  for (const auto& [name, operation, status, errors] : std::vector<Row>{
           {"LookupDelayForEver", OP_LOOKUP, NFS4ERR_DELAY, late},
           {"ReaddirDelayForEver", OP_READDIR, NFS4ERR_DELAY, late},
           {"OpenDelayForEver", OP_OPEN, NFS4ERR_DELAY, late},
           {"OpenGraceForEver", OP_OPEN, NFS4ERR_GRACE, late},
           {"LookupResourceForEver", OP_LOOKUP, NFS4ERR_RESOURCE, resource},
           {"OpenResourceForEver", OP_OPEN, NFS4ERR_RESOURCE, resource},
           {"OpenExpiredForEver", OP_OPEN, NFS4ERR_EXPIRED, late_or_eio},
           {"OpenStaleClientForEver", OP_OPEN, NFS4ERR_STALE_CLIENTID, late_or_eio},
           {"OpenBadSequenceForEver", OP_OPEN, NFS4ERR_BAD_SEQID, late_or_eio},
           {"ReadExpiredForEver", OP_READ, NFS4ERR_EXPIRED, late_or_eio},
           {"ReadBadStateForEver", OP_READ, NFS4ERR_BAD_STATEID, late_or_eio},
           {"ReadStaleStateForEver", OP_READ, NFS4ERR_STALE_STATEID, late_or_eio},
           {"ClientIdStaleForEver", OP_SETCLIENTID_CONFIRM, NFS4ERR_STALE_CLIENTID, late_or_eio},
           {"ClientIdInUseForEver", OP_SETCLIENTID, NFS4ERR_CLID_INUSE, {}},
           {"CloseDelayForEver", OP_CLOSE, NFS4ERR_DELAY, {}}}) {
    Attack attack = On(operation, name, nullptr);
    attack.status = status;
    if (!errors.empty()) attack.ending = Ending::kFails;
    attack.errors = errors;
    attack.timeout = MountTimeout::kSilence;
    attacks.push_back(attack);
  }
  return attacks;
}

}  // namespace

std::vector<Attack> Nfs4Attacks() {
  std::vector<Attack> all;
  for (const auto& attacks : {CompoundAttacks(), OperationAttacks(), AttributeAttacks(),
                              ListingAttacks(), DataAttacks(), StatusAttacks()}) {
    all.insert(all.end(), attacks.begin(), attacks.end());
  }
  return all;
}

}  // namespace nfswalk::hostile
