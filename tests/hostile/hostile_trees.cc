#include "tests/hostile/hostile_trees.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "tests/hostile/hostile_names.h"

namespace nfswalk::hostile {
namespace {

using protocol::FakeNode;
using protocol::FakeTreeServer;
using protocol::ToldAttributes;
using Lie = std::function<void(ToldAttributes&)>;

constexpr uint32_t kRegular = 1, kDirectory = 2, kSymlink = 5;  // ftype3, nfs_ftype4
constexpr size_t kNameBytesMax = 255;
constexpr size_t kLinkBytesMax = 4095;

HostileTree Entry(std::string title, std::string name, FakeNode node, bool is_refused = false) {
  const auto plant = [name, node](FakeTreeServer& server) {
    server.PutName(kTreeDirectory, name, node);
  };
  return {std::move(title), std::move(name), plant, is_refused};
}

HostileTree Link(std::string title, std::string text) {
  FakeNode link{.type = FakeNode::Type::kSymlink, .mode = 0777};
  link.data = std::move(text);
  return Entry("LinkTo" + std::move(title), "link", link);
}

// A file, or a directory of one, of which the server says what `lie` makes of the truth.
HostileTree Lying(std::string title, Lie lie, FakeNode::Type type = FakeNode::Type::kRegular) {
  FakeNode node{.type = type, .mode = 0755, .data = "data"};
  if (type == FakeNode::Type::kDirectory) node.data.clear();
  node.lie = std::move(lie);
  return Entry(std::move(title), "liar", node);
}

HostileTree OfType(std::string title, uint32_t type, bool is_refused = false) {
  HostileTree tree = Lying(std::move(title), [type](ToldAttributes& told) { told.type = type; });
  tree.is_refused = is_refused;
  return tree;
}

HostileTree OfSize(std::string title, uint64_t bytes) {
  return Lying("Size" + std::move(title), [bytes](ToldAttributes& told) {
    told.size_bytes = bytes;
    told.used_bytes = bytes;
  });
}

HostileTree AtTime(std::string title, uint64_t seconds, uint32_t nanoseconds = 0) {
  return Lying("Time" + std::move(title), [=](ToldAttributes& told) {
    told.seconds = seconds;
    told.nanoseconds = nanoseconds;
  });
}

HostileTree OfOwner(std::string title, std::string owner) {
  return Lying("Owner" + std::move(title), [owner = std::move(owner)](ToldAttributes& told) {
    told.owner = owner;
  });
}

// As many bytes of `unit` as a name can have.
std::string Filled(const std::string& unit) {
  std::string name;
  while (name.size() + unit.size() <= kNameBytesMax) name += unit;
  return name;
}

void AddNames(std::vector<HostileTree>& trees) {
  const FakeNode file{.data = "data"};
  for (const HostileName& name : HostileNames()) {
    trees.push_back(Entry(name.title, name.bytes, file, !name.errors.empty()));
  }
  trees.push_back(Entry("Newlines", Filled("\n"), file));
  trees.push_back(Entry("Escapes", Filled("\033"), file));
  trees.push_back(Entry("EscapeSequences", Filled("\033[31m"), file));
  trees.push_back(Entry("C1Controls", Filled("\u009b"), file));
  trees.push_back(Entry("InvalidUtf8", Filled("\xff"), file));
  trees.push_back(Entry("CombiningMarks", Filled("\u0301"), file));
  trees.push_back(Entry("RightToLeftMarks", Filled("\u202e\u200f"), file));
  trees.push_back(Entry("Backslashes", Filled("\\"), file));
  trees.push_back({"NamesThatDifferInCase", "name", [file](FakeTreeServer& server) {
                     for (const char* name : {"name", "Name", "NAME"}) {
                       server.PutName(kTreeDirectory, name, file);
                     }
                   }});
}

void AddLinks(std::vector<HostileTree>& trees) {
  std::string up;
  while (up.size() + 3 <= kLinkBytesMax) up += "../";
  trees.push_back(Link("Root", "/"));
  trees.push_back(Link("AbsolutePath", "/tmp/" + std::string(kEscapedName)));
  trees.push_back(Link("Above", "../../" + std::string(kEscapedName)));
  trees.push_back(Link("FarAbove", up));
  trees.push_back(Link("LongName", std::string(kLinkBytesMax, 'l')));
  trees.push_back(Link("Itself", "link"));
  trees.push_back(Link("Directory", "."));
  trees.push_back(Link("Escapes", std::string(kLinkBytesMax, '\033')));
  trees.push_back(Link("Device", "/dev/zero"));
}

void AddTypes(std::vector<HostileTree>& trees) {
  trees.push_back(OfType("BlockDevice", 3));
  trees.push_back(OfType("CharacterDevice", 4));
  trees.push_back(OfType("Socket", 6));
  trees.push_back(OfType("Fifo", 7));
  trees.push_back(OfType("TypeZero", 0, true));
  trees.push_back(OfType("TypeHuge", std::numeric_limits<uint32_t>::max(), true));
  // Listed as one, looked up as another, read as a third.
  for (const auto type :
       {FakeNode::Type::kRegular, FakeNode::Type::kDirectory, FakeNode::Type::kSymlink}) {
    const auto turn = std::make_shared<uint32_t>(0);
    HostileTree tree = Lying("TypesThatChangeOf" + std::to_string(static_cast<int>(type)),
                             [turn](ToldAttributes& told) {
                               constexpr uint32_t kTypes[] = {kRegular, kDirectory, kSymlink};
                               told.type = kTypes[(*turn)++ % 3];
                             },
                             type);
    trees.push_back(tree);
  }
  for (const uint32_t bits : {04000u, 02000u, 06000u, ~0u}) {
    const Lie lie = [bits](ToldAttributes& told) { told.mode |= bits; };
    trees.push_back(Lying("ModeWith" + std::to_string(bits), lie));
    trees.push_back(
        Lying("DirectoryModeWith" + std::to_string(bits), lie, FakeNode::Type::kDirectory));
  }
}

void AddNumbers(std::vector<HostileTree>& trees) {
  constexpr uint64_t kSigned = uint64_t{1} << 63;
  trees.push_back(OfSize("2To63Less1", kSigned - 1));
  trees.push_back(OfSize("2To63", kSigned));
  trees.push_back(OfSize("2To64Less1", ~uint64_t{0}));
  FakeNode bomb{.data = "data"};
  bomb.hole_bytes = kSigned - 1 - bomb.data.size();
  trees.push_back(Entry("SparseBomb", "bomb", bomb));
  trees.back().is_endless = true;
  trees.push_back(AtTime("Zero", 0));
  trees.push_back(AtTime("MinusOne", ~uint64_t{0}));
  trees.push_back(AtTime("2To31", uint64_t{1} << 31));
  trees.push_back(AtTime("2To32Less1", (uint64_t{1} << 32) - 1));
  trees.push_back(AtTime("2To63Less1", kSigned - 1));
  trees.push_back(AtTime("2To63", kSigned));
  trees.push_back(AtTime("OfABillionNanoseconds", 1, 1'000'000'000));
  trees.push_back(AtTime("OfTheMostNanoseconds", 1, ~0u));
  for (const auto type : {FakeNode::Type::kRegular, FakeNode::Type::kDirectory}) {
    const std::string of = std::to_string(static_cast<int>(type));
    trees.push_back(Lying("NoLinksOf" + of, [](ToldAttributes& told) { told.nlink = 0; }, type));
    trees.push_back(Lying("FileidZeroOf" + of, [](ToldAttributes& told) { told.fileid = 0; }, type));
    // The root's.
    trees.push_back(Lying("FileidOneOf" + of, [](ToldAttributes& told) { told.fileid = 1; }, type));
  }
  trees.push_back({"FileidsThatAreTheSame", "one", [](FakeTreeServer& server) {
                     FakeNode file{.data = "data"};
                     file.lie = [](ToldAttributes& told) { told.fileid = 77; };
                     for (const char* name : {"one", "two"}) {
                       server.PutName(kTreeDirectory, name, file);
                     }
                   }});
}

void AddOwners(std::vector<HostileTree>& trees) {
  trees.push_back(OfOwner("WithEscapeSequence", "\033[31m@\033]0;title\007"));
  trees.push_back(OfOwner("WithNewline", "root\nroot@example.org"));
  trees.push_back(OfOwner("NotUtf8", "\xff\xfe@\x9b"));
  trees.push_back(OfOwner("OfNoBytes", ""));
  trees.push_back(OfOwner("Negative", "-1"));
  trees.push_back(OfOwner("OfAMegabyte", std::string(1 << 20, 'o')));
}

// The version 4 attacks need a file to take the attributes from.
void AddListings(std::vector<HostileTree>& trees) {
  for (const char* attack : {"CookiesAllTheSame", "CookiesCycle", "CookiesRepeat", "CookiesOfTheMount",
                             "NothingButDot", "EachReplyEndsInDot", "NoEntriesAndNoEnd", "ListingWithoutEnd"}) {
    trees.push_back(Entry(attack, "file", {.data = "data"}));
    trees.back().listings = attack;
  }
}

}  // namespace

std::vector<HostileTree> HostileTrees() {
  std::vector<HostileTree> trees;
  trees.push_back(Entry("Good", "file", {.data = "data"}));
  AddNames(trees);
  AddLinks(trees);
  AddTypes(trees);
  AddNumbers(trees);
  AddOwners(trees);
  AddListings(trees);
  trees.push_back({"DirectoryThatContainsItself", "self", [](FakeTreeServer& server) {
                     server.Link(kTreeDirectory, std::string(kTreeDirectory) + "/self");
                   }});
  trees.push_back({"DirectoryThatContainsTheRoot", "root", [](FakeTreeServer& server) {
                     server.Link("", std::string(kTreeDirectory) + "/root");
                   }});
  return trees;
}

}  // namespace nfswalk::hostile
