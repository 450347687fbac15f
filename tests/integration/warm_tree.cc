#include "tests/integration/warm_tree.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

namespace nfswalk {
namespace {

constexpr int kNames = 50;
constexpr uid_t kOwner = 1000;
constexpr gid_t kGroup = 3000;
constexpr std::errc kDenied = std::errc::permission_denied;
constexpr std::errc kNotDirectory = std::errc::not_a_directory;
constexpr std::errc kAbsent = std::errc::no_such_file_or_directory;

enum Kind { kReadable, kGroupOnly, kExecutable, kLink };  // a name's number modulo 4

std::string NameOf(int number) {
  const std::string name = "n" + std::to_string(number);
  return number % 10 == 0 ? name + std::string(100, 'x') : name;
}

void Own(const std::string& path, mode_t mode) {
  const bool is_link = std::filesystem::is_symlink(path);
  if (lchown(path.c_str(), kOwner, kGroup) != 0) std::abort();
  if (!is_link && chmod(path.c_str(), mode) != 0) std::abort();
}

void MakeName(const std::string& directory, int number) {
  const std::string path = directory + "/" + NameOf(number);
  if (number % 4 == kLink) {
    std::filesystem::create_symlink(NameOf(number - 1), path);
  } else {
    std::ofstream(path) << number;
  }
  constexpr mode_t kModes[] = {0644, 0640, 0755, 0777};
  Own(path, kModes[number % 4]);
}

}  // namespace

WarmTree::WarmTree(const std::string& backing, const std::string& mounted, int directories)
    : identities_{{{Credential(kOwner, 1000), true, true},
                   {Credential(2000, 2000, {10, kGroup, 20}), true, true},
                   {Credential(0, 0), true, true},
                   {Credential(4000, 4000, {40, 41}), false, false}}} {
  MakeBacking(backing, directories);
  for (const std::string_view place : {"open", "closed"}) {
    for (int directory = 0; directory < directories; ++directory) {
      for (int number = 0; number < kNames; ++number) AddPaths(mounted, place, directory, number);
    }
  }
}

void WarmTree::MakeBacking(const std::string& backing, int directories) {
  for (const std::string place : {"open", "closed"}) {
    const std::string top = backing + "/" + place;
    std::filesystem::create_directory(top);
    for (int directory = 0; directory < directories; ++directory) {
      const std::string path = top + "/d" + std::to_string(directory);
      std::filesystem::create_directory(path);
      for (int number = 0; number < kNames; ++number) MakeName(path, number);
      Own(path, 0755);
    }
    Own(top, place == "open" ? 0755 : 0750);
    std::filesystem::create_symlink(place, backing + "/to_" + place);
  }
}

void WarmTree::AddPaths(const std::string& mounted, std::string_view place, int directory,
                        int number) {
  const std::string d = "d" + std::to_string(directory), n = NameOf(number);
  const std::string top = mounted + "/" + std::string(place);
  const std::string linked = mounted + "/to_" + std::string(place);
  WarmPath target;
  target.through_closed = place == "closed";

  target.ends_at_0640 = number % 4 == kGroupOnly;
  if (number % 4 == kExecutable) target.access_mode = kMayRead | kMayExecute;
  if (number % 4 != kLink) target.answers.readlink = std::errc::invalid_argument;
  for (const std::string& path : {top + "/" + d + "/" + n, "/" + top + "/" + d + "/" + n,
                                  linked + "/" + d + "/" + n, top + "/" + d + "/../" + d + "/" + n,
                                  linked + "/../" + std::string(place) + "/" + d + "/./" + n}) {
    target.path = path;
    paths_.push_back(target);
  }

  target.ends_at_0640 = false;
  target.access_mode = kMayRead;
  target.answers = {kNotDirectory, kNotDirectory, kNotDirectory, kNotDirectory};
  for (const std::string& path :
       {top + "/" + d + "/" + n + "/below", linked + "//" + d + "/" + n + "/",
        top + "/" + d + "/" + n + "/.."}) {
    target.path = path;
    paths_.push_back(target);
  }

  target.answers = {kAbsent, kAbsent, kAbsent, kAbsent};
  for (const std::string& path :
       {top + "/" + d + "/no_" + n, linked + "/" + d + "/../no_" + n + "/below"}) {
    target.path = path;
    paths_.push_back(target);
  }
}

void WarmTree::Tell(const WarmIdentity& who, const WarmPath& target, const WarmAnswers& answers) {
  std::cerr << target.path << " as user " << who.credential.uid() << ": ";
  for (const std::errc answer : {answers.stat, answers.lstat, answers.access, answers.readlink})
    std::cerr << std::make_error_code(answer).message() << ", ";
  std::cerr << "of stat, lstat, access and readlink\n";
}

int WarmTree::Look(Client& client, const WarmIdentity& who, const WarmPath& target, size_t turn,
                   bool cold) const {
  WarmAnswers expected = target.answers;
  if (target.ends_at_0640 && !who.may_read_0640) expected.access = kDenied;
  if (target.through_closed && !who.may_enter_closed)
    expected = {kDenied, kDenied, kDenied, kDenied};
  const auto flags = [&](size_t call, bool no_follow) {
    const size_t which = turn + call;
    return ResolveFlags{
        .no_follow = no_follow, .cached = !cold && which % 2 == 1, .strict = which / 2 % 2 == 1};
  };
  std::array<char, 256> text;
  const auto stat = client.Stat(target.path, who.credential, flags(0, false));
  const auto lstat = client.Stat(target.path, who.credential, flags(1, true));
  const auto access =
      client.Access(target.path, target.access_mode, who.credential, flags(2, false));
  const auto link = client.ReadLink(target.path, text, who.credential, flags(3, true));
  const auto error = [](const auto& result) { return result ? std::errc{} : result.error(); };
  const WarmAnswers answers{error(stat), error(lstat), access, error(link)};
  const int wrong = (answers.stat != expected.stat) + (answers.lstat != expected.lstat) +
                    (answers.access != expected.access) + (answers.readlink != expected.readlink);
  // Nothing may be allocated for a warm walk that is watched.
  if (cold && wrong != 0) Tell(who, target, answers);
  return wrong;
}

int WarmTree::Warm(Client& client, const WarmIdentity& who) const {
  int wrong = 0;
  for (int pass = 0; pass < 2; ++pass) {
    for (const WarmPath& target : paths_) wrong += Look(client, who, target, 0, true);
  }
  return wrong;
}

}  // namespace nfswalk
