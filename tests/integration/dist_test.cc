// The distributed archive and package, used without Bazel: unpacked, compiled against with plain
// gcc, run against nfs-ganesha.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "tests/fixtures/mounted_export.h"
#include "tests/integration/program_run.h"

namespace nfswalk {
namespace {

constexpr const char* kTarball = "nfswalk-0.1.0.tar.gz";
constexpr const char* kPackage = "nfswalk_0.1.0_amd64.deb";

// Returns all that the command prints.
std::string Output(const std::string& command) {
  const ProgramRun run = RunProgram({"sh", "-c", command});
  EXPECT_EQ(run.exit_code, 0) << command << "\n" << run.out << run.err;
  return run.out + run.err;
}

std::set<std::string> Lines(const std::string& text) {
  const Strings lines = Split(text, '\n');
  return {lines.begin(), lines.end()};
}

class Installed : public fixtures::VersionedExport {
 protected:
  static void SetUpTestSuite() {
    VersionedExport::SetUpTestSuite();
    const std::string place = std::string(getenv("TEST_TMPDIR")) + "/unpacked";
    std::filesystem::create_directories(place);
    Output("tar -C " + place + " -xf " + kTarball);
    *prefix_ = place + "/nfswalk-0.1.0";
  }

  static std::string Prefix() { return *prefix_; }
  static std::string Lib(const std::string& name) { return Prefix() + "/lib/" + name; }
  static std::string PkgConfig(const std::string& question) {
    const std::string answer =
        Output("PKG_CONFIG_PATH=" + Lib("pkgconfig") + " pkg-config " + question + " nfswalk");
    return answer.substr(0, answer.find('\n'));
  }
  // Compiles with gcc; `program`: the output file; `how`: further arguments.
  static void Compile(const std::string& program, const std::string& how) {
    Output("gcc -std=c99 -Wall -Wextra -pedantic -Werror -DNFSWALK_INSTALLED -o " + program +
           " tests/integration/c99_client.c " + PkgConfig("--cflags") + " " + how);
  }
  void ExpectEveryCallToWork(const std::string& command) {
    MakeDirectory("own");
    std::filesystem::permissions(Backing("own"), std::filesystem::perms::all);
    fixtures::NfsServer::NetworkScope scope(server());
    EXPECT_EQ(Output(command + " '" + server().Url("actimeo=600", version()) + "' " + Path("own")),
              "every call of nfswalk.h did what it says\n");
  }

 private:
  static inline std::string* const prefix_ = new std::string;
};

INSTANTIATE_TEST_SUITE_P(Versions, Installed, fixtures::AllVersions(), fixtures::VersionTestName);

TEST_P(Installed, AProgramBuiltWithPkgConfigRunsWithTheSharedLibrary) {
  const std::string program = Prefix() + "/shared";
  Compile(program, PkgConfig("--libs"));
  EXPECT_NE(Output("readelf -d " + program).find("[libnfswalk.so.0]"), std::string::npos);
  ExpectEveryCallToWork("LD_LIBRARY_PATH=" + Lib("") + " " + program);
}

TEST_P(Installed, AProgramWithTheStaticLibraryDoesNotNeedTheSharedOne) {
  const std::string program = Prefix() + "/static";
  const std::string system_libraries =
      Output("sed -n 's/^Libs.private: //p' " + Lib("pkgconfig") + "/nfswalk.pc");
  Compile(program, PkgConfig("--variable=libdir") + "/libnfswalk.a " +
                       system_libraries.substr(0, system_libraries.find('\n')));
  EXPECT_EQ(Output("readelf -d " + program).find("libnfswalk"), std::string::npos);
  ExpectEveryCallToWork(program);
}

// The archive and the program both instantiate std::string and std::vector.
TEST_P(Installed, AProgramInCxxIsLinkedWithTheStaticLibrary) {
  const std::string source = Prefix() + "/program.cc";
  Output(
      "printf '#include <nfswalk.h>\\n#include <string>\\n#include <vector>\\n"
      "int main(int count, char**) {\\n"
      "  std::vector<std::string> texts(count, nfswalk_version());\\n"
      "  texts.push_back(texts[0] + \".\");\\n"
      "  return nfswalk_shutdown(nullptr) == 0 || texts[0] != \"0.1.0\";\\n}\\n' > " +
      source);
  Output("g++ -O0 -o " + Prefix() + "/program " + source + " " + PkgConfig("--cflags") + " " +
         Lib("libnfswalk.a") + " $(sed -n 's/^Libs.private: //p' " + Lib("pkgconfig/nfswalk.pc") +
         ")");
  Output(Prefix() + "/program");
}

TEST_P(Installed, TheLibrariesExportTheFunctionsOfTheHeaderAndNothingElse) {
  const auto declared =
      Lines(Output("grep -oE '\\bnfswalk_[a-z0-9_]+\\(' " + Prefix() +
                   "/include/nfswalk.h | tr -d '(' | grep -vE '_(callback|visit)$' | sort -u"));
  EXPECT_GT(declared.size(), 40u);
  EXPECT_EQ(Lines(Output("nm -D -g --defined-only --without-symbol-versions " +
                         Lib("libnfswalk.so") + " | awk '$2 != \"A\" { print $3 }'")),
            declared);
  EXPECT_EQ(Lines(Output("nm -g --defined-only " + Lib("libnfswalk.a") +
                         " | awk 'NF == 3 { print $3 }'")),
            declared);
  EXPECT_NE(Output("readelf -d " + Lib("libnfswalk.so")).find("soname: [libnfswalk.so.0]"),
            std::string::npos);
}

// A thread that has used the library runs its code when it ends.
TEST_P(Installed, AThreadMayEndAfterTheLibraryWasClosed) {
  EXPECT_NE(Output("readelf -d " + Lib("libnfswalk.so")).find("NODELETE"), std::string::npos);
  MakeFile("file");
  const std::string source = Prefix() + "/plugin.c";
  std::ofstream(source) << R"(
#include <dlfcn.h>
#include <nfswalk.h>
#include <pthread.h>
#include <stdio.h>
static char** arguments;
static void* use(void* unused) {
  void* library = dlopen(arguments[1], RTLD_NOW);
  int (*mount)(const char*, nfswalk_client**, char*, size_t);
  int (*stat)(nfswalk_client*, const char*, const nfswalk_credential*, unsigned,
              struct nfswalk_attributes*);
  void (*unmount)(nfswalk_client*);
  nfswalk_client* client;
  struct nfswalk_attributes found;
  if (library == NULL) return unused;
  *(void**)&mount = dlsym(library, "nfswalk_mount");
  *(void**)&stat = dlsym(library, "nfswalk_stat");
  *(void**)&unmount = dlsym(library, "nfswalk_unmount");
  if (mount(arguments[2], &client, NULL, 0) != 0) return unused;
  if (stat(client, arguments[3], NULL, 0, &found) != 0) return unused;
  unmount(client);
  return dlclose(library) == 0 ? arguments : unused;
}
int main(int count, char** given) {
  pthread_t thread;
  void* done = NULL;
  arguments = given;
  if (count != 4 || pthread_create(&thread, NULL, use, NULL) != 0) return 1;
  pthread_join(thread, &done);
  return done == NULL;
}
)";
  Output("gcc -std=c99 -o " + Prefix() + "/plugin " + source + " " + PkgConfig("--cflags"));
  fixtures::NfsServer::NetworkScope scope(server());
  Output(Prefix() + "/plugin " + Lib("libnfswalk.so.0") + " '" + server().Url("", version()) +
         "' " + Path("file"));
}

TEST_P(Installed, TheArchiveIsCompleteAndHasItsVersion) {
  for (const char* name : {"bin/nfswalk", "include/nfswalk.h", "lib/libnfswalk.so.0",
                           "share/man/man3/nfswalk.3.gz", "share/doc/nfswalk/LICENSE"}) {
    EXPECT_TRUE(std::filesystem::exists(Prefix() + "/" + name)) << name;
  }
  EXPECT_EQ(PkgConfig("--modversion"), "0.1.0");
  Output("gzip -t " + Prefix() + "/share/man/man3/nfswalk.3.gz");
  MakeFile("file");
  fixtures::NfsServer::NetworkScope scope(server());
  Output(Prefix() + "/bin/nfswalk stat '" + server().Url("", version()) + "' " + Path("file"));
}

TEST_P(Installed, ThePackageHasTheSameFilesAndDependsOnEveryLibraryItNeeds) {
  const std::string root = std::string(getenv("TEST_TMPDIR")) + "/package";
  Output("rm -rf " + root + " && dpkg-deb -x " + kPackage + " " + root);
  const std::string lib = root + "/usr/lib/x86_64-linux-gnu";
  EXPECT_EQ(Lines(Output("cd " + root + "/usr/bin && find . -type f")),
            Lines(Output("cd " + Prefix() + "/bin && find . -type f")));
  EXPECT_EQ(Output("cmp " + lib + "/libnfswalk.so.0 " + Lib("libnfswalk.so.0")), "");
  EXPECT_EQ(Output("PKG_CONFIG_PATH=" + lib + "/pkgconfig pkg-config --variable=libdir nfswalk"),
            "/usr/lib/x86_64-linux-gnu\n");
  const std::string depends = Output(std::string("dpkg-deb -f ") + kPackage + " Depends");
  const auto needed =
      Lines(Output("readelf -d " + root + "/usr/bin/nfswalk " + lib +
                   "/libnfswalk.so.0 | sed -n 's/.*(NEEDED).*\\[\\(.*\\)\\]/\\1/p'"));
  EXPECT_GT(needed.size(), 5u);
  for (const std::string& library : needed) {
    const std::string owner =
        Output("dpkg -S '*/x86_64-linux-gnu/" + library + "' | sed -n '1s/:.*//p'");
    const std::string package = owner.substr(0, owner.find('\n'));
    EXPECT_NE((", " + depends).find(", " + package + " "), std::string::npos)
        << library << " of " << package << " in " << depends;
  }
}

}  // namespace
}  // namespace nfswalk
