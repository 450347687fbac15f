#include "sunrpc_auth/auth_body.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nfswalk::sunrpc_auth {
namespace {

// Decodes XDR (RFC 4506) independently of the library that encoded it.
class Decoded {
 public:
  explicit Decoded(const AuthBody& body) : body_(body) {
    EXPECT_EQ(at_, body.size) << "bytes behind the groups";
  }

 private:
  const AuthBody& body_;
  size_t at_ = 0;

 public:  // decoded in this order
  const uint32_t stamp = Word();
  const std::string machine_name = Opaque();
  const uint32_t uid = Word(), gid = Word();
  const std::vector<uint32_t> groups = Words();

 private:
  uint8_t Byte() { return at_ < body_.size ? static_cast<uint8_t>(body_.bytes[at_++]) : 0xff; }
  uint32_t Word() {
    uint32_t word = 0;
    for (int i = 0; i < 4; ++i) word = word << 8 | Byte();
    return word;
  }
  std::string Opaque() {
    std::string bytes;
    for (uint32_t left = Word(); left > 0; --left) bytes.push_back(static_cast<char>(Byte()));
    while (at_ % 4 != 0) EXPECT_EQ(Byte(), 0) << "padding";
    return bytes;
  }
  std::vector<uint32_t> Words() {
    std::vector<uint32_t> words(Word());
    for (uint32_t& word : words) word = Word();
    return words;
  }
};

TEST(AuthBodyTest, AuthSysDecodesToWhatWasAsked) {
  const auto body = MarshalAuthBody(Credential(1000, 4000000000, {7, 5, 6}), "client", 0xdeadbeef);
  ASSERT_TRUE(body.has_value());
  EXPECT_EQ(body->flavor, Flavor::kSys);
  const Decoded decoded(*body);
  EXPECT_EQ(decoded.stamp, 0xdeadbeef);
  EXPECT_EQ(decoded.machine_name, "client");
  EXPECT_EQ(decoded.uid, 1000u);
  EXPECT_EQ(decoded.gid, 4000000000u);
  EXPECT_EQ(decoded.groups, (std::vector<uint32_t>{7, 5, 6}));
}

// CRED-7.
TEST(AuthBodyTest, TheFirstSixteenGroupsTravel) {
  std::vector<uint32_t> groups;
  for (uint32_t i = 0; i < 40; ++i) groups.push_back(100 + i);
  const auto body = MarshalAuthBody(Credential(1, 2, groups), "c", 0);
  ASSERT_TRUE(body.has_value());
  EXPECT_EQ(Decoded(*body).groups, std::vector<uint32_t>(groups.begin(), groups.begin() + 16));
}

TEST(AuthBodyTest, AMachineNameOfAnyLengthIsCutAt255Bytes) {
  std::vector<uint32_t> groups(16, 9);
  for (size_t bytes : {0, 1, 254, 255, 256, 5000}) {
    const std::string name(bytes, 'm');
    const auto body = MarshalAuthBody(Credential(1, 2, groups), name, 0);
    ASSERT_TRUE(body.has_value()) << bytes;
    EXPECT_EQ(Decoded(*body).machine_name, name.substr(0, 255));
    EXPECT_LE(body->size, kAuthBodyBytesMax);
  }
}

TEST(AuthBodyTest, AuthNoneHasAnEmptyBody) {
  const auto body = MarshalAuthBody(Credential(), "client", 1);
  ASSERT_TRUE(body.has_value());
  EXPECT_EQ(body->flavor, Flavor::kNone);
  EXPECT_EQ(body->size, 0u);
}

TEST(AuthBodyTest, TheCachedBodyIsThatOfTheCallsCredentialAndMachine) {
  std::vector<uint32_t> many(kAuthSysGroupsMax, 9);
  struct Row {
    Credential credential;
    std::string machine;
  };
  const Row first{Credential(1, 2, {3, 4}), "client"};
  const Row rows[] = {{Credential(), "client"},
                      {Credential(5, 2, {3, 4}), "client"},
                      {Credential(1, 5, {3, 4}), "client"},
                      {Credential(1, 2, {3}), "client"},
                      {Credential(1, 2, {3, 5}), "client"},
                      {Credential(1, 2, many), "client"},
                      {Credential(1, 2, {3, 4}), "other"},
                      {Credential(1, 2, {3, 4}), ""},
                      {Credential(1, 2, {3, 4}), std::string(300, 'm')}};
  for (const Row& row : rows) {
    for (const auto& [credential, machine] : {first, row, row, first}) {
      const auto cached = CachedAuthBody(credential, machine);
      const auto fresh = MarshalAuthBody(credential, machine, 0);
      ASSERT_TRUE(cached && fresh);
      EXPECT_EQ((*cached)->flavor, fresh->flavor) << &row - rows;
      EXPECT_EQ(std::string_view((*cached)->bytes.data(), (*cached)->size),
                std::string_view(fresh->bytes.data(), fresh->size))
          << &row - rows;
    }
  }
}

}  // namespace
}  // namespace nfswalk::sunrpc_auth
