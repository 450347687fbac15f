#include "nfsclient/cli/error_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nfsclient/protocol/protocol.h"

namespace nfswalk::cli {
namespace {

using sunrpc_auth::Credential;
using testing::HasSubstr;
using testing::StartsWith;

TEST(FailureText, SaysWhatWhereAndWhatToDo) {
  EXPECT_EQ(FailureText("stat", "usr/x", std::errc::no_such_file_or_directory, Credential(0, 0)),
            "stat 'usr/x': No such file or directory (check the spelling; paths start at the root "
            "of the export)");
}

TEST(FailureText, OfDeniedPermissionSaysWhoAsked) {
  EXPECT_THAT(FailureText("cat", "shadow", std::errc::permission_denied, Credential(1000, 100)),
              HasSubstr("uid 1000 gid 100"));
}

TEST(FailureText, EscapesThePath) {
  EXPECT_THAT(FailureText("stat", "\x1b[2J", std::errc::io_error, Credential(0, 0)),
              StartsWith("stat '\\x1b[2J': Input/output error"));
}

TEST(FailureText, OfAnErrnoWithoutAdviceEndsAfterTheMessage) {
  EXPECT_EQ(FailureText("stat", "x", std::errc::no_lock_available, Credential(0, 0)),
            "stat 'x': No locks available");
}

TEST(FailureText, OfInvalidArgumentDependsOnTheCommand) {
  const Credential credential(0, 0);
  EXPECT_THAT(FailureText("readlink", "x", std::errc::invalid_argument, credential),
              HasSubstr("not a symbolic link"));
  EXPECT_THAT(FailureText("cat", "x", std::errc::invalid_argument, credential),
              testing::Not(HasSubstr("symbolic link")));
}

TEST(FailureText, OfAStaleHandleIsKnown) {
  EXPECT_THAT(FailureText("stat", "x", protocol::kStale, Credential(0, 0)),
              HasSubstr("Stale file handle (the file was removed"));
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

}  // namespace
}  // namespace nfswalk::cli
