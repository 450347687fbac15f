#include "tests/differential/odd_paths.h"

#include <random>
#include <set>
#include <string>
#include <string_view>

namespace nfswalk::differential {
namespace {

class Generator {
 public:
  Generator(const Inventory& found, size_t identities, uint64_t seed)
      : found_(found), identities_(identities), random_(seed) {}

  std::vector<Question> Generate(size_t count) {
    ByHand();
    Lengths();
    for (const std::string& link : found_.links) WithEnds(link);
    for (const std::string& name : found_.names) Add("bytes/" + name);
    while (questions_.size() < count) Add(Drawn());
    return std::move(questions_);
  }

 private:
  void Add(const std::string& path) {
    if (!seen_.insert(path).second) return;
    Question question;
    question.path = path;
    question.who = questions_.size() % identities_;
    if (questions_.size() % 3 == 2) {
      const uint64_t bits = random_();
      question.flags.no_symlinks = (bits & 3) == 0;
      question.flags.beneath = (bits & 4) != 0;
      question.flags.in_root = (bits & 24) == 0 || !question.flags.beneath;
    }
    questions_.push_back(question);
  }

  void WithEnds(const std::string& path) {
    for (const char* end : {"", "/", "//", "/.", "/./", "/..", "/../", "/x", "/x/", "/..."}) {
      Add(path + end);
    }
  }

  void ByHand() {
    for (const char* path : {"",           "/",
                             "//",         "////",
                             ".",          "..",
                             "...",        "./",
                             "../",        "/.",
                             "/..",        "/./",
                             "/../",       "././.",
                             "../..",      "/../../..",
                             "/.../",      "missing",
                             "missing/",   "missing/.",
                             "missing/..", "missing/../types"}) {
      Add(path);
    }
    for (const std::string base :
         {"types", "types/data", "types/fifo", "types/block", "closed", "closed/in", "readable",
          "readable/file", "rights/0d", "sticky", "deep/d/d"}) {
      WithEnds(base);
      WithEnds("/" + base);
      WithEnds("../.././" + base);
      WithEnds(base + "/../../" + base);
    }
  }

  void Lengths() {
    for (size_t length = 254; length <= 257; ++length) {
      const std::string name(length, 'n');
      for (const char* before : {"", "types/", "missing/", "types/data/", "closed/", "links/dir/",
                                 "readable/", "links/dangling/", "links/absolute/"}) {
        WithEnds(before + name);
      }
    }
    const std::string deep = found_.directories[DeepestIndex()];
    for (size_t length = 4094; length <= 4097; ++length) {
      for (const std::string& start : {std::string("types"), std::string("links/absolute"), deep,
                                       std::string("types/data"), std::string("missing")}) {
        Add(start + std::string(length - start.size(), '/'));
        Add(Repeated(start, "/.", length));
        Add(Repeated(start, "/../d", length));
        Add(Repeated("", "/", length - start.size()) + start);
        Add(start + "/" + std::string(length - start.size() - 1, 'n'));
      }
      Add(Repeated("links/self", "/self", length));
      Add(Repeated("deep/d", "/d", length));
    }
    for (int links = 38; links <= 42; ++links) {
      Add(Repeated("links", "/self", 5 + 5 * static_cast<size_t>(links)));
      Add(Repeated("links", "/self", 5 + 5 * static_cast<size_t>(links)) + "/target");
      Add(Repeated("links", "/parent/links", 5 + 13 * static_cast<size_t>(links)) + "/target");
      WithEnds("links/chain" + std::to_string(links));
    }
    Add("links/long_text/" + Repeated("", "./", 4000));
    Add("links/long_text/" + Repeated("", "./", 4000) + "file");
    Add("links/long_text2/../long_text/../long_text2/file");
  }

  size_t DeepestIndex() const {
    size_t deepest = 0;
    for (size_t i = 0; i < found_.directories.size(); ++i) {
      if (found_.directories[i].size() > found_.directories[deepest].size()) deepest = i;
    }
    return deepest;
  }

  // Returns `start` and as many of `piece` as needed, cut at `length`.
  static std::string Repeated(std::string start, std::string_view piece, size_t length) {
    while (start.size() < length) start += piece;
    return start.substr(0, length);
  }

  template <class T>
  const T& Pick(const std::vector<T>& from) {
    return from[random_() % from.size()];
  }

  // Begins with an existing path and appends random components.
  std::string Drawn() {
    static const std::vector<std::string> kStarts = {"",   "",    "",     "/",     "//",
                                                     "./", "../", "/../", "../../"};
    static const std::vector<std::string> kSlashes = {"/",   "/",    "/",    "/",     "//",
                                                      "/./", "/.//", "/../", "/x/../"};
    static const std::vector<std::string> kEnds = {"",   "",   "",    "",    "/",
                                                   "//", "/.", "/..", "/./", "/missing"};
    std::string path = Pick(kStarts) + (random_() % 4 == 0 ? Pick(found_.links) : Pick(found_.all));
    for (uint64_t more = random_() % 4; more > 0; --more) {
      path += Pick(kSlashes);
      switch (random_() % 6) {
        case 0:
          path += "..";
          break;
        case 1:
          path += Pick(found_.names);
          break;
        case 2:
          path += "../" + Pick(found_.all);
          break;
        case 3:
          path += "../../" + Pick(found_.links);
          break;
        default:
          path += LastOf(Pick(found_.all));
      }
    }
    return path + Pick(kEnds);
  }

  static std::string LastOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

  const Inventory& found_;
  const size_t identities_;
  std::mt19937_64 random_;
  std::vector<Question> questions_;
  std::set<std::string> seen_;
};

}  // namespace

std::vector<Question> OddPaths(const Inventory& found, size_t count, size_t identities,
                               uint64_t seed) {
  return Generator(found, identities, seed).Generate(count);
}

}  // namespace nfswalk::differential
