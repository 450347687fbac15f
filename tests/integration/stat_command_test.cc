// `nfswalk stat`, compared with coreutils' stat on the backing directory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <string>

#include "tests/integration/command_run.h"

namespace nfswalk {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class StatCommandTest : public CommandRun {
 protected:
  // Makes files of every type and of many modes.
  void MakeTree() const {
    File("f", std::string(12345, 'x'));
    File("empty");
    File("with 'quotes'", "x");
    File("suid", "x");
    ASSERT_EQ(chown(Backing("f").c_str(), 1, 2), 0);
    ASSERT_EQ(chmod(Backing("suid").c_str(), 06755), 0);
    Directory("d", 01777);
    Directory("d/sub");
    Link("l", "no/such file");
    ASSERT_EQ(link(Backing("f").c_str(), Backing("hard").c_str()), 0);
    ASSERT_EQ(mkfifo(Backing("p").c_str(), 0600), 0);
    ASSERT_EQ(mknod(Backing("c").c_str(), S_IFCHR | 0620, makedev(204, 64)), 0);
    Shell("touch -d '2001-02-03 04:05:06.789012345' f");
    // Version 3 has no time before 1970 (RFC 1813 2.5 nfstime3).
    if (GetParam() == 4) Shell("touch -d '1969-12-31 20:00:00.5Z' empty");
  }
};

INSTANTIATE_TEST_SUITE_P(Versions, StatCommandTest, fixtures::AllVersions(),
                         fixtures::VersionTestName);

TEST_P(StatCommandTest, EveryDirectivePrintsAsCoreutils) {
  MakeTree();
  // Not %d and %D, which the server numbers itself, nor %N, which is quoted in other styles.
  for (const char* format :
       {"%n",    "%a",   "%A",     "%b",   "%B",    "%f", "%F",     "%g",    "%G",  "%h",
        "%i",    "%s",   "%t",     "%T",   "%u",    "%U", "%x",     "%X",    "%y",  "%Y",
        "%z",    "%Z",   "%.3X",   "%.Y",  "%.12Z", "%%", "%-10s|", "%010i", "%#a", "%04a",
        "%20A|", "%.4A", "%-30n|", "%30F", "%r",    "%R", "%Hr",    "%Lr"}) {
    Strings arguments{"stat", "--format", format, Url()};
    const Strings names = Split(Shell("ls"), '\n');
    arguments.insert(arguments.end(), names.begin(), names.end());
    const ProgramRun run = Run(arguments);
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_EQ(run.out, Shell("stat --format '" + std::string(format) + "' -- *")) << format;
  }
}

TEST_P(StatCommandTest, PlainNamesAreQuotedAsByCoreutils) {
  MakeTree();
  EXPECT_EQ(Run({"stat", "-c", "%N", Url(), "f", "l"}).out,
            Shell("QUOTING_STYLE=shell-escape-always stat -c %N f l"));
}

TEST_P(StatCommandTest, AnUnknownDirectiveIsAWrongCommandLine) {
  EXPECT_THAT(Refusal({"stat", "--format", "%n %q", Url(), "f"}, 2),
              AllOf(HasSubstr("'%q' is no directive"), HasSubstr("%a %A"),
                    HasSubstr("Try 'nfswalk stat --help'")));
  EXPECT_EQ(Run({"stat", "--json", "--format", "%n", Url(), "f"}).exit_code, 2);
}

TEST_P(StatCommandTest, AFormatThatLooksLikeAListIsAFormat) {
  File("f", "hello");
  EXPECT_EQ(Run({"stat", "-c", "[%s,%n]", Url(), "f"}).out, "[5,f]\n");
}

}  // namespace
}  // namespace nfswalk
