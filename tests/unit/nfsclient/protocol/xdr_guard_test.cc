#include "nfsclient/protocol/xdr_guard.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "nfsclient/protocol/nfs3.h"
#include "tests/fixtures/fake_server.h"

namespace nfswalk::protocol {
namespace {

using fixtures::FakeAnswer;
using fixtures::FakeCall;
using fixtures::FakeServer;
using fixtures::Xdr;

constexpr uint32_t kMountProgram = 100005;
const Credential kUser(1000, 100);

// A server that answers every NFS call with `make()`, mounted.
class Hostile {
 public:
  explicit Hostile(std::function<FakeAnswer()> make)
      : server_([make = std::move(make)](const FakeCall& call) {
          if (call.procedure == 0) return FakeAnswer{};
          if (call.program != kMountProgram) return make();
          const std::string mounted = Xdr().U32(0).Bytes("root").U32(1).U32(1).str();
          return FakeAnswer{FakeAnswer::Kind::kReply, mounted, 0};
        }),
        nfs_(std::move(
            Nfs3::ConnectNfs3({"127.0.0.1", "/export", server_.port(), server_.port(), 3}, {})
                .value())) {}

  Protocol& nfs() { return *nfs_; }
  FileHandle handle() const {
    const std::vector<uint8_t> bytes(4, 1);
    return FileHandle(bytes);
  }

 private:
  FakeServer server_;
  std::unique_ptr<Protocol> nfs_;
};

Hostile Answering(const Xdr& xdr) {
  return Hostile([bytes = xdr.str()] { return FakeAnswer{FakeAnswer::Kind::kReply, bytes, 0}; });
}

TEST(XdrGuard, IsInPlace) { EXPECT_TRUE(XdrGuardIsInPlace()); }

class XdrGuardLength : public testing::TestWithParam<uint32_t> {};

TEST_P(XdrGuardLength, BeyondTheReplyOfAHandleIsAnError) {
  auto server = Answering(Xdr().U32(0).U32(GetParam()).U32(1).U32(1));
  EXPECT_EQ(server.nfs().Lookup(server.handle(), "a", kUser).error, std::errc::io_error);
}

TEST_P(XdrGuardLength, BeyondTheReplyOfALinkTextIsAnError) {
  auto server = Answering(Xdr().U32(0).U32(0).U32(GetParam()));
  EXPECT_EQ(server.nfs().ReadLink(server.handle(), kUser).error, std::errc::io_error);
}

INSTANTIATE_TEST_SUITE_P(Absurd, XdrGuardLength,
                         testing::Values(100u, 0x7fffffffu, 0x80000000u, 0xc0000000u, 0xfffffff0u,
                                         0xffffffffu));

TEST(XdrGuard, AnOverlongListIsAnErrorNotAStackOverflow) {
  Xdr xdr;
  xdr.U32(0).U32(0).U64(0);
  for (uint64_t i = 1; i <= 36'000; ++i) xdr.U32(1).U64(i).Bytes("a").U64(i);
  auto server = Answering(xdr.U32(0).U32(1));
  EXPECT_EQ(server.nfs().ReadDir(server.handle(), {}, false, kUser).error, std::errc::io_error);
}

TEST(XdrGuard, TheLongestRequestedListPasses) {
  constexpr uint64_t kEntries = 8'000;
  Xdr xdr;
  xdr.U32(0).U32(0).U64(0);
  for (uint64_t i = 1; i <= kEntries; ++i) xdr.U32(1).U64(i).Bytes("a").U64(i);
  auto server = Answering(xdr.U32(0).U32(1));
  EXPECT_EQ(server.nfs().ReadDir(server.handle(), {}, false, kUser).entries.size(), kEntries);
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
    return FakeAnswer{FakeAnswer::Kind::kReply, xdr.str(), 0};
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
