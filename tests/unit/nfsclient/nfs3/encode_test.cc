#include "nfsclient/nfs3/encode.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/fixtures/fake_server.h"
#include "tests/fixtures/libnfs_raw.h"

namespace nfswalk::protocol {
namespace {

std::string BytesOf(std::span<const std::byte> bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

FileHandle HandleOf(const std::string& bytes) {
  return FileHandle(std::span(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
}

const std::string kLongestHandle(kNfs3HandleBytesMax, 'h');
const std::string kLongestName(kNameBytesMax, 'n');

TEST(WireName, RefusesOverlongAndInvalidNames) {
  const WireName name(kLongestName);
  EXPECT_EQ(name.error(), kOk);
  EXPECT_EQ(name.c_str(), kLongestName);
  EXPECT_EQ(WireName(kLongestName + "x").error(), std::errc::filename_too_long);
  for (const std::string_view bad : {std::string_view(""), {"a/b"}, {"a\0b", 3}}) {
    EXPECT_EQ(WireName(bad).error(), std::errc::invalid_argument) << bad;
  }
}

TEST(CheckHandle, RefusesEmptyAndOverlongHandles) {
  EXPECT_EQ(CheckHandle(FileHandle()), kStale);
  EXPECT_EQ(CheckHandle(HandleOf(kLongestHandle + "h")), kStale);
  EXPECT_EQ(CheckHandle(HandleOf(kLongestHandle)), kOk);
}

TEST(Arguments3, HoldTheLongestNamesAndHandles) {
  const FileHandle handle = HandleOf(kLongestHandle);
  const WireName name(kLongestName);
  const Arguments3 arguments(NFS3_RENAME, zdr_RENAME3args,
                             RENAME3args{ToWire(handle, name), ToWire(handle, name)});
  const rpc::Request& request = arguments.request();
  const Xdr where = Xdr().Bytes(kLongestHandle).Bytes(kLongestName);
  EXPECT_EQ(BytesOf(request.arguments), Xdr(where).Raw(where).str());
  EXPECT_EQ(request.procedure, uint32_t{NFS3_RENAME});
  EXPECT_EQ(request.results_bytes_max, 8u * 1024);
  EXPECT_TRUE(request.data.empty() && request.tail.empty());
}

TEST(Arguments3, HoldTheLongestLinkWithAllAttributes) {
  const FileHandle handle = HandleOf(kLongestHandle);
  const WireName name(kLongestName);
  std::string text(kLinkBytesMax, 't');
  const SetTime time{Time{1, 2}};
  const Arguments3 arguments(
      NFS3_SYMLINK, zdr_SYMLINK3args,
      SYMLINK3args{ToWire(handle, name), {ToWire({0777, 1, 2, 3, time, time}), text.data()}},
      Arguments3::kSmallResultsBytes, Arguments3::kBytesMax + kLinkBytesMax);
  const Xdr attributes = Xdr()
                             .U32(1, 0777, 1, 1, 1, 2, 1)
                             .U64(3)
                             .U32(SET_TO_CLIENT_TIME, 1, 2, SET_TO_CLIENT_TIME, 1, 2);
  EXPECT_EQ(BytesOf(arguments.request().arguments),
            Xdr().Bytes(kLongestHandle).Bytes(kLongestName).Raw(attributes).Bytes(text).str());
}

TEST(Arguments3, LeaveTheDataOfAWriteWhereItLies) {
  const std::vector<std::byte> data(kTransferBytesMax);
  const FileHandle file = HandleOf("file");
  WRITE3args args{};
  args.file = ToWire(file);
  args.offset = 5;
  args.count = data.size();
  args.stable = FILE_SYNC;
  Arguments3 arguments(NFS3_WRITE, zdr_WRITE3args, args);
  arguments.AppendData(data);
  EXPECT_EQ(BytesOf(arguments.request().arguments),
            Xdr().Bytes("file").U64(5).U32(data.size(), FILE_SYNC, data.size()).str());
  EXPECT_EQ(arguments.request().data.data(), data.data());
  EXPECT_EQ(arguments.request().data.size(), data.size());
}

}  // namespace
}  // namespace nfswalk::protocol
