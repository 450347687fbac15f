// Attacks in the results of MOUNT, the portmapper and NFSv3 (RFC 1813, RFC 1833).
#include <utility>

#include "tests/fixtures/libnfs_raw.h"
#include "tests/hostile/attack.h"
#include "tests/hostile/hostile_names.h"

namespace nfswalk::hostile {
namespace {

using Errors = std::vector<std::errc>;

constexpr uint32_t kFile = NF3REG, kDirectory = NF3DIR, kLink = NF3LNK;
const Errors kEio = {std::errc::io_error};

// Makes up the attributes (post_op_attr) of a file that no good server's tree has.
Xdr PostOp(uint32_t type, uint64_t fileid, uint64_t size = 0) {
  Xdr xdr;
  xdr.U32(1, type, 0777, 1, 0, 0).U64(size, size, 0, 1, fileid);
  return xdr.U32(1, 0, 1, 0, 1, 0);
}

Attack On(int operation, std::string name, Tamper tamper) {
  return {.name = std::move(name), .operations = {operation}, .tamper = std::move(tamper)};
}
Attack Failing(int operation, std::string name, Tamper tamper, Errors errors = kEio) {
  Attack attack = On(operation, std::move(name), std::move(tamper));
  attack.ending = Ending::kFails;
  attack.errors = std::move(errors);
  return attack;
}
Attack Served(int operation, std::string name, Tamper tamper) {
  Attack attack = On(operation, std::move(name), std::move(tamper));
  attack.ending = Ending::kServed;
  return attack;
}

Xdr Handle(uint32_t bytes) {
  return bytes == kHugeBytes ? Xdr().U32(bytes).Raw(std::string(64, 'h'))
                             : Xdr().Bytes(std::string(bytes, 'h'));
}

// One entry of a READDIRPLUS: a name of "file" of the tree, or of what it does not have.
Xdr Entry(std::string_view name, uint64_t cookie, uint32_t type = kFile) {
  const uint64_t fileid = type == kFile ? 2 : 1000 + cookie;
  Xdr entry;
  entry.U32(1).U64(fileid).Bytes(name).U64(cookie).Raw(PostOp(type, fileid));
  return entry.U32(1).Bytes("handle " + std::to_string(fileid));
}
// The reply around entries of READDIRPLUS.
Xdr Listing(std::string_view entries, bool eof = true) {
  return Xdr().U32(0).Raw(PostOp(kDirectory, 1)).U64(0).Raw(entries).U32(0, eof ? 1 : 0);
}

uint64_t CookieOf(const FakeCall& call) {
  protocol::XdrReader arguments(call.arguments);
  arguments.Bytes();  // the directory
  return arguments.U64();
}

// A listing without end, in which the cookie after `cookie` is next(cookie).
Tamper Cookies(size_t entries, std::function<uint64_t(uint64_t cookie)> next) {
  return [entries, next = std::move(next)](const Exchange& exchange) {
    Xdr listed;
    uint64_t cookie = CookieOf(exchange.call);
    for (size_t i = 0; i < entries; ++i) {
      cookie = next(cookie);
      listed.Raw(Entry("entry" + std::to_string(exchange.index * entries + i), cookie));
    }
    return FakeAnswer{.bytes = Listing(listed, false).str()};
  };
}

// A listing without end, in which each reply has a "." as its last entry, behind `shown` others.
Tamper Dots(size_t shown) {
  return [shown](const Exchange& exchange) {
    Xdr listed;
    uint64_t cookie = CookieOf(exchange.call);
    for (size_t i = 0; i < shown; ++i) {
      ++cookie;
      listed.Raw(Entry("entry" + std::to_string(cookie), cookie));
    }
    listed.Raw(Entry(".", cookie + 1, kDirectory));
    return FakeAnswer{.bytes = Listing(listed, false).str()};
  };
}

std::vector<Attack> ListingAttacks() {
  const int list = NFS3_READDIRPLUS;
  const Errors loop = {std::errc::too_many_symbolic_link_levels};
  std::vector<Attack> attacks;
  for (const HostileName& name : HostileNames()) {
    Attack attack = On(list, "Listed" + name.title, Always(Listing(Entry(name.bytes, 1))));
    attack.ending = name.errors.empty() ? Ending::kAny : Ending::kFails;
    attack.errors = name.errors;
    attacks.push_back(attack);
  }
  for (const uint32_t bytes : {0u, 65u, 129u, kHugeBytes}) {
    Xdr entry;
    entry.U32(1).U64(9).Bytes("name").U64(1).U32(0, 1).Raw(Handle(bytes));
    attacks.push_back(
        On(list, "ListedHandleOf" + std::to_string(bytes) + "Bytes", Always(Listing(entry))));
  }
  const auto same = [](uint64_t) { return uint64_t{7}; };
  const auto cycle = [](uint64_t cookie) { return cookie % 4 + 1; };
  // 300 cookies over 30,000 entries and for ever.
  const auto repeat = [](uint64_t cookie) { return cookie % 300 + 1; };
  attacks.push_back(Failing(list, "CookiesAllTheSame", Cookies(2, same), {loop[0], kEio[0]}));
  attacks.push_back(Failing(list, "CookiesCycle", Cookies(1, cycle), loop));
  attacks.push_back(Failing(list, "CookiesRepeat", Cookies(100, repeat), loop));
  // Cookies by which the mount tells the kernel that it has listed "." alone (FUSE).
  const auto dot = [](uint64_t) { return uint64_t{INT64_MAX - 2}; };
  attacks.push_back(Failing(list, "CookiesOfTheMount", Cookies(1, dot), {loop[0], kEio[0]}));
  attacks.push_back(On(list, "NothingButDot", Dots(0)));
  attacks.push_back(Failing(list, "EachReplyEndsInDot", Dots(2), loop));
  attacks.push_back(Failing(list, "NoEntriesAndNoEnd", Always(Listing("", false))));
  Attack endless = On(list, "ListingWithoutEnd", Cookies(100, [](uint64_t c) { return c + 1; }));
  endless.ending = Ending::kInterrupted;
  attacks.push_back(endless);
  attacks.push_back(Loop(3, list));
  // A link that leads out of the target of a copy, and then a directory of the same name.
  attacks.push_back(On(
      list, "LinkThenDirectoryOfOneName",
      Always(Listing(Xdr().Raw(Entry("link", 1, kLink)).Raw(Entry("link", 2, kDirectory)).str()))));
  attacks.push_back(Failing(list, "EntriesCutShort",
                            Always(Xdr().U32(0).Raw(PostOp(kDirectory, 1)).U64(0).U32(1))));
  attacks.push_back(Failing(list, "ListingStatusHuge", Always(Xdr().U32(0x7fffffff, 0))));
  return attacks;
}

std::vector<Attack> LookupAttacks() {
  std::vector<Attack> attacks;
  for (const uint32_t bytes : {0u, 65u, 129u, kHugeBytes}) {
    const Xdr found = Xdr().U32(0).Raw(Handle(bytes)).Raw(PostOp(kFile, 9)).U32(0);
    attacks.push_back(
        Failing(NFS3_LOOKUP, "HandleOf" + std::to_string(bytes) + "Bytes", Always(found)));
  }
  attacks.push_back(Failing(NFS3_LOOKUP, "LookupStatusHuge", Always(Xdr().U32(0x7fffffff, 0))));
  attacks.push_back(Failing(NFS3_LOOKUP, "LookupWithNothing", Always(Xdr())));
  attacks.push_back(On(NFS3_LOOKUP, "LookupWithMoreBehindIt",
                       Results([](const std::string& good) { return good + good; })));
  attacks.push_back(Failing(NFS3_LOOKUP, "LookupOfTypeZero",
                            Always(Xdr().U32(0).Bytes("h").Raw(PostOp(0, 9)).U32(0))));
  attacks.push_back(On(NFS3_LOOKUP, "FollowsTwo", Always(Xdr().U32(0).Bytes("h").U32(2).U32(2))));
  attacks.push_back(On(NFS3_LOOKUP, "TypesFlip", [](const Exchange& e) {
    const uint32_t type = e.index % 3 == 0 ? kFile : e.index % 3 == 1 ? kDirectory : kLink;
    return Reply(Xdr().U32(0).Bytes("handle 2").Raw(PostOp(type, 2)).U32(0));
  }));
  // The parent itself: a directory that is its own child.
  attacks.push_back(On(NFS3_LOOKUP, "LookupLeadsToTheRoot", [](const Exchange&) {
    return Reply(Xdr().U32(0).Bytes("handle 1").Raw(PostOp(kDirectory, 1)).U32(0));
  }));
  attacks.push_back(Failing(NFS3_ACCESS, "AccessCutShort", Always(Xdr().U32(0, 0))));
  attacks.push_back(On(NFS3_ACCESS, "AccessGrantsAllBits", Always(Xdr().U32(0, 0, 0xffffffff))));
  Attack jukebox{.name = "JukeboxForEver",
                 .operations = ReadingOperations(3),
                 .tamper = Always(Xdr().U32(NFS3ERR_JUKEBOX, 0)),
                 .ending = Ending::kFails,
                 .errors = {std::errc::timed_out},
                 .timeout = MountTimeout::kSilence};
  attacks.push_back(jukebox);
  return attacks;
}

Xdr Data(uint32_t count, bool eof, std::string_view bytes) {
  return Xdr().U32(0).Raw(PostOp(kFile, 3, 150'000)).U32(count, eof ? 1 : 0).Raw(bytes);
}

std::vector<Attack> DataAttacks() {
  const std::string four_mib(4 * kMiB, 'd');
  const auto opaque = [](std::string_view bytes) { return Xdr().Bytes(bytes).str(); };
  std::vector<Attack> attacks = {
      Failing(NFS3_READ, "MoreDataThanAsked",
              Always(Data(four_mib.size(), true, opaque(four_mib)))),
      Failing(NFS3_READ, "CountAboveTheData", Always(Data(1000, true, opaque("few")))),
      On(NFS3_READ, "CountBelowTheData", Always(Data(1, true, opaque("enough")))),
      Failing(NFS3_READ, "DataOfTwoGiB", Always(Data(4, true, Xdr().U32(kHugeBytes).Raw("data")))),
      // Linux ends at the size that the attributes have.
      On(NFS3_READ, "DataWithoutEnd", Always(Data(kPiece.size(), false, opaque(kPiece)))),
      On(NFS3_READ, "DataAtEachOffset", Always(Data(kPiece.size(), true, opaque(kPiece)))),
      On(NFS3_READ, "NoDataAndNoEnd", Always(Data(0, false, opaque("")))),
  };
  for (const HostileName& text : HostileLinkTexts()) {
    const Tamper tamper = Always(Xdr().U32(0, 0).Bytes(text.bytes));
    attacks.push_back(text.errors.empty()
                          ? On(NFS3_READLINK, "LinkText" + text.title, tamper)
                          : Failing(NFS3_READLINK, "LinkText" + text.title, tamper, text.errors));
  }
  attacks.push_back(
      Failing(NFS3_READLINK, "LinkTextOfTwoGiB", Always(Xdr().U32(0, 0, kHugeBytes).Raw("text"))));
  return attacks;
}

std::vector<Attack> RootAttacks() {
  const auto fsinfo = [](uint32_t bytes) {
    Xdr info;
    info.U32(0, 0, bytes, bytes, bytes, bytes, bytes, bytes, bytes);
    return Always(info.U64(~uint64_t{0}).U32(0, 1, 0));
  };
  const auto root_of = [](uint32_t type) {
    const std::string post_op = PostOp(type, 1).str();
    return Always(Xdr().U32(0).Raw(std::string_view(post_op).substr(4)));
  };
  return {
      Served(NFS3_FSINFO, "SizesOfZero", fsinfo(0)),
      Served(NFS3_FSINFO, "SizesOf4GiB", fsinfo(0xffffffff)),
      On(NFS3_FSINFO, "FsinfoCutShort", Always(Xdr().U32(0, 0, 1024))),
      On(NFS3_GETATTR, "RootIsAFile", root_of(kFile)),
      On(NFS3_GETATTR, "RootIsALink", root_of(kLink)),
      On(NFS3_GETATTR, "RootIsOfTypeEight", root_of(8)),
      On(NFS3_GETATTR, "AttributesCutShort", Always(Xdr().U32(0, 2, 0777))),
      On(NFS3_PATHCONF, "NamesOfNoBytes", Always(Xdr().U32(0, 0, 0, 0, 0, 0, 0, 0))),
  };
}

Attack OnService(Service service, int procedure, std::string name, Tamper tamper,
                 MountTimeout timeout = MountTimeout::kReplies) {
  return {.name = std::move(name),
          .service = service,
          .operations = {procedure},
          .tamper = std::move(tamper),
          .timeout = timeout};
}

}  // namespace

std::vector<Attack> MountAttacks() {
  std::vector<Attack> attacks;
  const auto mnt = [&](const std::string& name, const Xdr& results) {
    attacks.push_back(OnService(Service::kMount, MOUNT3_MNT, name, Always(results)));
  };
  for (const uint32_t bytes : {0u, 65u, 129u, kHugeBytes}) {
    mnt("MntHandleOf" + std::to_string(bytes) + "Bytes", Xdr().U32(0).Raw(Handle(bytes)).U32(1, 1));
  }
  mnt("MntFlavorsHuge", Xdr().U32(0).Bytes("root").U32(0xffffffff, 1));
  mnt("MntFlavorsCutShort", Xdr().U32(0).Bytes("root").U32(2, 1));
  mnt("MntOtherFlavors", Xdr().U32(0).Bytes("root").U32(1, 390003));
  mnt("MntStatusHuge", Xdr().U32(0x7fffffff));
  mnt("MntWithNothing", Xdr());
  const auto getport = [&](const std::string& name, Tamper tamper, MountTimeout timeout) {
    attacks.push_back(
        OnService(Service::kPortmapper, PMAP2_GETPORT, name, std::move(tamper), timeout));
  };
  getport("PortZero", Always(Xdr().U32(0)), MountTimeout::kReplies);
  getport("PortHuge", Always(Xdr().U32(0xffffffff)), MountTimeout::kReplies);
  getport("PortCutShort", Always(Xdr().Raw("\0\1")), MountTimeout::kReplies);
  getport(
      "PortHttp", [](const Exchange&) { return protocol::kHttpAnswer; }, MountTimeout::kMount);
  getport(
      "PortNever", [](const Exchange&) { return protocol::kSilence; }, MountTimeout::kMount);
  return attacks;
}

std::vector<Attack> Nfs3Attacks() {
  std::vector<Attack> all;
  for (const auto& attacks : {ListingAttacks(), LookupAttacks(), DataAttacks(), RootAttacks()}) {
    all.insert(all.end(), attacks.begin(), attacks.end());
  }
  return all;
}

}  // namespace nfswalk::hostile
