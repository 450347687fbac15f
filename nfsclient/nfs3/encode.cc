#include "nfsclient/nfs3/encode.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw-nfs.h>
// clang-format on

#include <cstring>
#include <limits>

namespace nfswalk::protocol {
namespace {

nfstime3 ToWire(const Time& time) { return {static_cast<u_int>(time.seconds), time.nanoseconds}; }

bool Fits(const std::optional<SetTime>& set) {
  if (!set || !set->time) return true;
  const auto& [seconds, nanoseconds] = *set->time;
  return seconds >= 0 && seconds <= std::numeric_limits<uint32_t>::max() &&
         nanoseconds < 1'000'000'000;
}

}  // namespace

WireName::WireName(std::string_view name) : error_(CheckName(name)) {
  if (error_ != kOk) return;
  std::memcpy(bytes_.data(), name.data(), name.size());
  bytes_[name.size()] = '\0';
}

std::errc CheckHandle(const FileHandle& handle) {
  return handle.empty() || handle.size() > kNfs3HandleBytesMax ? kStale : kOk;
}

std::errc CheckWhere(const FileHandle& directory, const WireName& name) {
  return name.error() != kOk ? name.error() : CheckHandle(directory);
}

std::errc CheckTimes(const SetAttributes& attributes) {
  return Fits(attributes.atime) && Fits(attributes.mtime) ? kOk : std::errc::invalid_argument;
}

nfs_fh3 ToWire(const FileHandle& handle) {
  const auto bytes = handle.bytes();
  char* data = const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));
  return {{static_cast<u_int>(bytes.size()), data}};
}

diropargs3 ToWire(const FileHandle& directory, const WireName& name) {
  return {ToWire(directory), name.c_str()};
}

sattr3 ToWire(const SetAttributes& attributes) {
  sattr3 wire{};
  if (attributes.mode) {
    wire.mode.set_it = 1;
    wire.mode.set_mode3_u.mode = *attributes.mode & 07777;
  }
  if (attributes.uid) {
    wire.uid.set_it = 1;
    wire.uid.set_uid3_u.uid = *attributes.uid;
  }
  if (attributes.gid) {
    wire.gid.set_it = 1;
    wire.gid.set_gid3_u.gid = *attributes.gid;
  }
  if (attributes.size_bytes) {
    wire.size.set_it = 1;
    wire.size.set_size3_u.size = *attributes.size_bytes;
  }
  if (attributes.atime) {
    wire.atime.set_it = attributes.atime->time ? SET_TO_CLIENT_TIME : SET_TO_SERVER_TIME;
    if (attributes.atime->time) wire.atime.set_atime_u.atime = ToWire(*attributes.atime->time);
  }
  if (attributes.mtime) {
    wire.mtime.set_it = attributes.mtime->time ? SET_TO_CLIENT_TIME : SET_TO_SERVER_TIME;
    if (attributes.mtime->time) wire.mtime.set_mtime_u.mtime = ToWire(*attributes.mtime->time);
  }
  return wire;
}

}  // namespace nfswalk::protocol
