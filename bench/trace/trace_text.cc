#include "bench/trace/trace_text.h"

#include <lzma.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "fmt/format.h"

namespace nfswalk::bench {
namespace {

constexpr std::string_view kXzMagic(
    "\xfd"
    "7zXZ\0",
    6);
constexpr size_t kChunkBytes = size_t{1} << 20;

std::expected<std::string, std::string> ReadFile(const std::string& file) {
  std::unique_ptr<FILE, int (*)(FILE*)> stream(std::fopen(file.c_str(), "rb"), &std::fclose);
  if (stream == nullptr) {
    return std::unexpected(fmt::format("{}: cannot open: {}", file, std::strerror(errno)));
  }
  std::string text;
  std::vector<char> chunk(kChunkBytes);
  while (size_t count = std::fread(chunk.data(), 1, chunk.size(), stream.get())) {
    if (text.size() + count > kTraceBytesMax) {
      return std::unexpected(fmt::format("{}: larger than {} bytes", file, kTraceBytesMax));
    }
    text.append(chunk.data(), count);
  }
  if (std::ferror(stream.get()) != 0) {
    return std::unexpected(fmt::format("{}: cannot read: {}", file, std::strerror(errno)));
  }
  return text;
}

std::string_view XzErrorText(lzma_ret status) {
  switch (status) {
    case LZMA_BUF_ERROR:
      return "ends in the middle of the compressed data (truncated .xz)";
    case LZMA_DATA_ERROR:
      return "damaged .xz data";
    case LZMA_FORMAT_ERROR:
      return "not an .xz file";
    case LZMA_MEM_ERROR:
      return "not enough memory to unpack";
    default:
      return "cannot be unpacked";
  }
}

std::expected<std::string, std::string> Unpack(const std::string& file, std::string_view packed) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, UINT64_MAX, LZMA_CONCATENATED) != LZMA_OK) {
    return std::unexpected(fmt::format("{}: liblzma does not start", file));
  }
  std::unique_ptr<lzma_stream, void (*)(lzma_stream*)> closer(&stream, &lzma_end);
  stream.next_in = reinterpret_cast<const uint8_t*>(packed.data());
  stream.avail_in = packed.size();
  std::string text;
  std::vector<char> chunk(kChunkBytes);
  lzma_ret status = LZMA_OK;
  while (status == LZMA_OK) {
    stream.next_out = reinterpret_cast<uint8_t*>(chunk.data());
    stream.avail_out = chunk.size();
    status = lzma_code(&stream, LZMA_FINISH);
    text.append(chunk.data(), chunk.size() - stream.avail_out);
    if (text.size() > kTraceBytesMax) {
      return std::unexpected(fmt::format("{}: unpacks to over {} bytes", file, kTraceBytesMax));
    }
  }
  if (status != LZMA_STREAM_END) {
    return std::unexpected(fmt::format("{}: {}", file, XzErrorText(status)));
  }
  return text;
}

}  // namespace

std::expected<std::string, std::string> ReadTraceText(const std::string& file) {
  std::expected<std::string, std::string> raw = ReadFile(file);
  if (!raw || !std::string_view(*raw).starts_with(kXzMagic)) return raw;
  return Unpack(file, *raw);
}

}  // namespace nfswalk::bench
