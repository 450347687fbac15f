#include <cerrno>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "bench/measure/subjects.h"

namespace nfswalk::bench {
namespace {

using PathMap = absl::flat_hash_map<std::string, Attributes>;

class MapThread final : public SubjectThread {
 public:
  explicit MapThread(const PathMap& files) : files_(files) {}

  Answer Ask(const Call& call, std::span<char>) override {
    const auto found = files_.find(absl::string_view(call.path.data(), call.path.size()));
    if (found == files_.end()) return {.error = ENOENT};
    const Attributes attributes = found->second;
    return {.mode = (static_cast<uint32_t>(attributes.type) << 12) | attributes.mode,
            .size_bytes = attributes.size_bytes};
  }

 private:
  const PathMap& files_;
};

class MapSubject final : public Subject {
 public:
  explicit MapSubject(std::span<const Call> calls) {
    files_.reserve(calls.size());
    for (const Call& call : calls) {
      if (call.error != 0) continue;
      Attributes attributes;
      attributes.type = static_cast<protocol::FileType>(call.mode >> 12);
      attributes.mode = call.mode & 07777;
      files_.emplace(call.path, attributes);
    }
  }

  std::string_view subject() const override { return "map"; }
  std::string_view mode() const override { return "-"; }
  std::expected<std::unique_ptr<SubjectThread>, std::string> StartThread() override {
    return std::make_unique<MapThread>(files_);
  }

 private:
  PathMap files_;
};

}  // namespace

std::unique_ptr<Subject> MakeMapSubject(std::span<const Call> calls) {
  return std::make_unique<MapSubject>(calls);
}

}  // namespace nfswalk::bench
