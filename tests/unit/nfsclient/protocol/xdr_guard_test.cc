#include "nfsclient/protocol/xdr_guard.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/nfsclient/protocol/fake_nfs3_mount.h"

namespace nfswalk::protocol {
namespace {

// A server that answers every NFS call with `make()`, mounted.
class Hostile {
 public:
  explicit Hostile(std::function<FakeAnswer()> make)
      : server_(OnNfsCall([make = std::move(make)](const FakeCall&) { return make(); })),
        nfs_(Mount3(server_.port())) {}
  explicit Hostile(const Xdr& answer) : Hostile([answer] { return Reply(answer); }) {}

  Protocol& nfs() { return *nfs_; }
  const FileHandle& handle() const { return handle_; }

 private:
  FakeServer server_;
  std::unique_ptr<Protocol> nfs_;
  const FileHandle handle_ = HandleFrom("file");
};

TEST(XdrGuard, IsInPlace) { EXPECT_TRUE(XdrGuardIsInPlace()); }

TEST(XdrGuard, ALengthBeyondTheReplyIsAnError) {
  for (const uint32_t length :
       {100u, 0x7fffffffu, 0x80000000u, 0xc0000000u, 0xfffffff0u, 0xffffffffu}) {
    Hostile handle(Xdr().U32(0, length, 1, 1));
    EXPECT_EQ(handle.nfs().Lookup(handle.handle(), "a", kUser).error, std::errc::io_error)
        << length;
    Hostile link(Xdr().U32(0, 0, length));
    EXPECT_EQ(link.nfs().ReadLink(link.handle(), kUser).error, std::errc::io_error) << length;
  }
}

ReadDirReply ListingOf(uint64_t entries) {
  Xdr xdr = Xdr().U32(0, 0).U64(0);
  for (uint64_t i = 1; i <= entries; ++i) xdr.U32(1).U64(i).Bytes("a").U64(i);
  Hostile server(xdr.U32(0, 1));
  return server.nfs().ReadDir(server.handle(), {}, false, kUser);
}

TEST(XdrGuard, AnOverlongListIsAnErrorNotAStackOverflow) {
  EXPECT_EQ(ListingOf(36'000).error, std::errc::io_error);
  EXPECT_EQ(ListingOf(8'000).entries.size(), 8'000u) << "the longest requested";
}

// WIRE-8.
TEST(XdrGuard, RepliesOfRandomWordsAreMemorySafe) {
  constexpr int kRounds = 300;
  constexpr unsigned kSeed = 20261121;
  constexpr uint32_t kOdd[] = {0,  1,          2,          3,          4,          7,
                               8,  64,         0xffffffff, 0xfffffff0, 0xffffff00, 0x7fffffff,
                               16, 0x80000000, 0xfffe0000, 0x10000000};
  std::mt19937 random(kSeed);
  int made = 0;
  Hostile server([&] {
    ++made;
    Xdr xdr;
    xdr.U32(0);
    for (uint32_t words = random() % 60; words > 0; --words) {
      xdr.U32(random() % 3 != 0 ? kOdd[random() % std::size(kOdd)] : random() % 2);
    }
    return Reply(xdr);
  });
  std::vector<std::byte> into(100);
  Protocol& nfs = server.nfs();
  for (int i = 0; i < kRounds; ++i) {
    (void)nfs.Lookup(server.handle(), "a", kUser);
    (void)nfs.ReadLink(server.handle(), kUser);
    (void)nfs.ReadDir(server.handle(), {}, true, kUser);
    (void)nfs.ReadDir(server.handle(), {}, false, kUser);
    (void)nfs.Read(server.handle(), 0, into, nullptr, kUser);
    (void)nfs.Access(server.handle(), kUser);
    (void)nfs.GetAttributes(server.handle(), kUser);
    (void)nfs.MakeDirectory(server.handle(), "d", {}, kUser);
  }
  EXPECT_GE(made, kRounds * 8);
}

}  // namespace
}  // namespace nfswalk::protocol
