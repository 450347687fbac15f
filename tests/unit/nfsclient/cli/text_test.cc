// Tests what the command makes of paths, names and errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "nfsclient/cli/find_spelling.h"
#include "nfsclient/cli/join_path.h"
#include "nfsclient/cli/mount_source.h"
#include "nfsclient/cli/show/error_text.h"
#include "nfsclient/cli/show/escape.h"
#include "nfsclient/protocol/protocol.h"

namespace nfswalk::cli {
namespace {

using sunrpc_auth::Credential;
using std::string_literals::operator""s;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(JoinPath, PutsExactlyOneSlashBetween) {
  EXPECT_EQ(JoinPath("usr", "bin"), "usr/bin");
  EXPECT_EQ(JoinPath("usr/", "bin"), "usr/bin");
  EXPECT_EQ(JoinPath("/", "bin"), "/bin");
}

TEST(MountSource, OneExportHasManySpellings) {
  const std::string source = "nfs://server/a/b";
  for (const char* same : {"nfs://server/a/b", "NFS://server/a/b", "nfs://SERVER/a/b",
                           "nfs://server//a//b/", "nfs://server:2049/a/b", "server:/a/b",
                           "Server:/a/b/", "nfs://server/%61/b", "nfs://server/a/b?version=4"}) {
    EXPECT_TRUE(NameSameExport(source, same)) << same;
    EXPECT_TRUE(NameSameExport(same, source)) << same;
  }
  for (const char* other :
       {"nfs://server/a", "nfs://server/a/b/c", "nfs://server/A/b", "nfs://other/a/b",
        "nfs://server:2050/a/b", "server:/%61/b", "nfs://127.0.0.1/a/b", "tmpfs", ""}) {
    EXPECT_FALSE(NameSameExport(source, other)) << other;
  }
  EXPECT_TRUE(NameSameExport("my files", "my files")) << "-o fsname=";
}

TEST(BaseName, IsTheLastComponentWithoutTrailingSlashes) {
  for (const auto& [path, name] : {std::pair{"usr/lib", "lib"},
                                   {"usr/lib//", "lib"},
                                   {"lib", "lib"},
                                   {"/lib", "lib"},
                                   {"/", "/"},
                                   {"//", "/"},
                                   {"", ""}}) {
    EXPECT_EQ(BaseName(path), name);
  }
}

TEST(Escape, DisarmsControlsAndWhatIsNotUtf8) {
  for (const auto& [text, escaped] : {
           std::pair{"usr/include [a] {b}'\""s, "usr/include [a] {b}'\""s},
           {"gr\u00f6\u00dfe \u20ac \U0001f427", "gr\u00f6\u00dfe \u20ac \U0001f427"},
           {"", ""},
           {"\x1b[31mred\x07", "\\x1b[31mred\\x07"},
           {"a\nb\tc\rd\x7f", "a\\nb\\tc\\rd\\x7f"},
           {"\0"s, "\\x00"},
           {"\\n", "\\\\n"},
           // U+009B is CSI to a terminal that speaks 8-bit controls.
           {"\u009bm", "\\xc2\\x9bm"},
           {"\x9bm", "\\x9bm"},
           {"a\xffz", "a\\xffz"},
           {"\xc3", "\\xc3"},
           {"\xe2\x82", "\\xe2\\x82"},
           // A terminal would show "aexe.txt".
           {"a\u202etxt.exe", "a\\xe2\\x80\\xaetxt.exe"},
           {"\u061c\u200e\u200f", "\\xd8\\x9c\\xe2\\x80\\x8e\\xe2\\x80\\x8f"},
           {"\u202a\u2066\u2069", "\\xe2\\x80\\xaa\\xe2\\x81\\xa6\\xe2\\x81\\xa9"},
           {"\u061b\u200d\u2010\u2029\u202f\u2065\u206a",
            "\u061b\u200d\u2010\u2029\u202f\u2065\u206a"},
       }) {
    EXPECT_EQ(Escape(text), escaped);
  }
}

TEST(IsUtf8, RefusesOverlongFormsSurrogatesAndWhatLiesBeyondUnicode) {
  EXPECT_TRUE(IsUtf8("plain \xc3\xa4 \xed\x9f\xbf \xf4\x8f\xbf\xbf"));
  for (const char* text : {"\xc0\xaf", "\xe0\x80\xaf", "\xf0\x80\x80\xaf", "\xed\xa0\x80",
                           "\xf4\x90\x80\x80", "\x80"}) {
    EXPECT_FALSE(IsUtf8(text)) << Escape(text);
  }
}

// The vectors of RFC 4648 10.
TEST(Base64, AgreesWithTheRfc) {
  for (const auto& [bytes, text] : {std::pair{"", ""},
                                    {"f", "Zg=="},
                                    {"fo", "Zm8="},
                                    {"foo", "Zm9v"},
                                    {"foob", "Zm9vYg=="},
                                    {"fooba", "Zm9vYmE="},
                                    {"foobar", "Zm9vYmFy"},
                                    {"\xff\xfe\xfd", "//79"}}) {
    EXPECT_EQ(Base64(bytes), text);
  }
}

TEST(FailureText, SaysWhatWhereAndWhatToDo) {
  const auto text = [](const char* call, const char* path, std::errc error) {
    return FailureText(call, path, error, Credential(1000, 100));
  };
  EXPECT_EQ(text("stat", "usr/x", std::errc::no_such_file_or_directory),
            "stat 'usr/x': No such file or directory (check the spelling; paths start at the root "
            "of the export)");
  EXPECT_THAT(text("cat", "shadow", std::errc::permission_denied), HasSubstr("uid 1000 gid 100"));
  EXPECT_THAT(text("stat", "\x1b[2J", std::errc::io_error),
              testing::StartsWith("stat '\\x1b[2J': Input/output error"));
  EXPECT_EQ(text("stat", "x", std::errc::no_lock_available), "stat 'x': No locks available");
  EXPECT_THAT(text("readlink", "x", std::errc::invalid_argument), HasSubstr("not a symbolic link"));
  EXPECT_THAT(text("cat", "x", std::errc::invalid_argument), Not(HasSubstr("symbolic link")));
  EXPECT_THAT(text("stat", "x", protocol::kStale),
              HasSubstr("Stale file handle (it was removed or replaced"));
}

TEST(ErrorName, IsTheSymbolOfTheHeader) {
  EXPECT_EQ(ErrorName(std::errc::too_many_symbolic_link_levels), "ELOOP");
  EXPECT_EQ(ErrorName(protocol::kStale), "ESTALE");
  EXPECT_EQ(ErrorName(static_cast<std::errc>(9999)), "EUNKNOWN");
}

TEST(IsServerFailure, OnlyWhenTheServerIsAtFault) {
  EXPECT_TRUE(IsServerFailure(std::errc::timed_out));
  EXPECT_TRUE(IsServerFailure(std::errc::operation_canceled));
  EXPECT_FALSE(IsServerFailure(std::errc::no_such_file_or_directory));
  EXPECT_FALSE(IsServerFailure(std::errc::io_error));
}

std::vector<std::string> Spelled(std::vector<std::string> arguments) {
  std::ranges::reverse(arguments);
  AcceptFindSpelling(arguments);
  std::ranges::reverse(arguments);
  return arguments;
}

TEST(FindSpelling, OnlyOptionsOfFindGetTheirSecondDash) {
  EXPECT_THAT(Spelled({"find", "URL", "d", "-name", "*.h", "-size", "-10k", "-print0"}),
              ElementsAre("find", "URL", "d", "--name", "*.h", "--size", "-10k", "--print0"));
  EXPECT_THAT(Spelled({"find", "--name", "x", "-maxdepth", "1"}),
              ElementsAre("find", "--name", "x", "--maxdepth", "1"));
  EXPECT_THAT(Spelled({"find", "-name", "-name", "-type", "f"}),
              ElementsAre("find", "--name", "-name", "--type", "f"));
  for (const std::vector<std::string>& unchanged :
       std::vector<std::vector<std::string>>{{"find", "--newer", "-type"},
                                             {"find", "URL", "--", "-name"},
                                             {"ls", "-name"},
                                             {"find", "-h", "-named"},
                                             {}}) {
    EXPECT_EQ(Spelled(unchanged), unchanged);
  }
}

}  // namespace
}  // namespace nfswalk::cli
