#include <dlfcn.h>

#include "bench/measure/subjects.h"
#include "fmt/format.h"
#include "nfsclient/c_api/nfswalk.h"

namespace nfswalk::bench {
namespace {

using StatFunction = decltype(nfswalk_stat)*;

class LibraryThread final : public SubjectThread {
 public:
  LibraryThread(StatFunction stat, nfswalk_client* client) : stat_(stat), client_(client) {}

  Answer Ask(const Call& call, std::span<char>) override {
    nfswalk_attributes found;
    const int failed = stat_(client_, call.path.data(), nullptr, 0, &found);
    if (failed != 0) return {.error = -failed};
    return {.mode = found.mode, .size_bytes = found.size_bytes};
  }

 private:
  const StatFunction stat_;
  nfswalk_client* const client_;
};

class LibrarySubject final : public Subject {
 public:
  explicit LibrarySubject(const std::string& file)
      : file_(file), library_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {}
  // The library stays loaded: threads that used it may still run its destructors.
  ~LibrarySubject() override {
    if (client_ != nullptr) Function<decltype(nfswalk_unmount)>("nfswalk_unmount")(client_);
  }

  Outcome Mount(const std::string& url) {
    const auto mount = Function<decltype(nfswalk_mount)>("nfswalk_mount");
    stat_ = Function<decltype(nfswalk_stat)>("nfswalk_stat");
    if (mount == nullptr || stat_ == nullptr) return std::unexpected(dlerror());
    char text[256];
    if (mount(url.c_str(), &client_, text, sizeof text) == 0) return {};
    return std::unexpected(fmt::format("{}: {}", file_, text));
  }

  std::string_view subject() const override { return "library"; }
  std::string_view mode() const override { return file_; }
  std::expected<std::unique_ptr<SubjectThread>, std::string> StartThread() override {
    return std::make_unique<LibraryThread>(stat_, client_);
  }

 private:
  template <class Signature>
  Signature* Function(const char* name) const {
    return library_ == nullptr ? nullptr : reinterpret_cast<Signature*>(dlsym(library_, name));
  }

  const std::string file_;
  void* const library_;
  StatFunction stat_ = nullptr;
  nfswalk_client* client_ = nullptr;
};

}  // namespace

std::expected<std::unique_ptr<Subject>, std::string> MakeLibrarySubject(const std::string& file,
                                                                        const std::string& name,
                                                                        ServerExport& server) {
  auto subject = std::make_unique<LibrarySubject>(file);
  const std::string url = server.UrlOf(name) + "&actimeo=86400";
  Outcome mounted;
  server.InItsNetwork([&] { mounted = subject->Mount(url); });
  if (!mounted) return std::unexpected(std::move(mounted.error()));
  return subject;
}

}  // namespace nfswalk::bench
