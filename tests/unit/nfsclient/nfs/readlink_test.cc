// Link texts: when RCU-walk uses the cached one, and the calls that ref-walk makes otherwise.
#include "nfsclient/nfs/readlink.h"

#include <gtest/gtest.h>

#include <system_error>

#include "tests/exits/exits.h"

namespace nfswalk::exits {
namespace {

using LinkTextCache = Exits;

TEST_F(LinkTextCache, ATextThatWasNeverReadIsRead) {
  Mount();
  const Question itself = StatOfLink("d/l");
  Warm(itself);
  Warm(StatOf("d/f"));
  Answered(itself);
  Left(StatOf("d/l"), NeedRef::kReadlinkRpc, kOk, {"READLINK 4"});
  EXPECT_EQ(Answered(TextOf("d/l")).text, "f");
  Answered(StatOf("d/l"));
}

TEST_F(LinkTextCache, OldAttributesAreAskedForAndTheTextIsKept) {
  Mount();
  Warm(StatOf("d/l"));
  InvalidateAttributes("d/l");
  Left(TextOf("d/l"), NeedRef::kGetattrRpc, kOk, {"GETATTR 4"});
  InvalidateAttributes("d/l");
  Left(StatOf("d/l"), NeedRef::kGetattrRpc, kOk, {"GETATTR 4"});
  Answered(StatOf("d/l"));
}

// ATTR-15.
TEST_F(LinkTextCache, AChangedLinkIsReadAgain) {
  Mount();
  Warm(TextOf("d/l"));
  server_->SetTarget(kDL, "s");
  InvalidateAttributes("d/l");
  EXPECT_EQ(Left(TextOf("d/l"), NeedRef::kGetattrRpc, kOk, {"GETATTR 4", "READLINK 4"}).text, "s");
  EXPECT_EQ(Answered(TextOf("d/l")).text, "s");
}

TEST_F(LinkTextCache, FreshAttributesOfAChangedLinkDoNotValidateItsText) {
  Mount();
  Warm(TextOf("d/l"));
  server_->SetTarget(kDL, "s");
  const Question itself = StatOfLink("d/l");
  InvalidateAttributes("d/l");
  Warm(itself);
  EXPECT_EQ(Left(TextOf("d/l"), NeedRef::kReadlinkRpc, kOk, {"READLINK 4"}).text, "s");
}

// As by a listing ahead, which a lookup of the link made due.
TEST_F(LinkTextCache, ATextIsKeptIfLaterAttributesAreThoseOfItsReply) {
  Mount();
  const Question itself = StatOfLink("d/l");
  Warm(itself);
  WhileReplyIsInFlight("READLINK", [&] {
    InvalidateAttributes("d/l");
    Warm(itself);
  });
  Warm(TextOf("d/l"));
  EXPECT_TRUE(reply_came_);
  EXPECT_EQ(Answered(TextOf("d/l")).text, "f");
}

// ATTR-15.
TEST_F(LinkTextCache, ATextIsNotKeptIfLaterAttributesAreOthers) {
  Mount();
  const Question itself = StatOfLink("d/l");
  Warm(itself);
  WhileReplyIsInFlight("READLINK", [&] {
    server_->SetTarget(kDL, "s");
    InvalidateAttributes("d/l");
    Warm(itself);
  });
  Warm(TextOf("d/l"));
  EXPECT_TRUE(reply_came_);
  EXPECT_EQ(Left(TextOf("d/l"), NeedRef::kGetattrRpc, kOk, {"GETATTR 4", "READLINK 4"}).text, "s");
}

TEST_F(LinkTextCache, AnErrorIsNotCached) {
  Mount();
  const Question itself = StatOfLink("d/l");
  Warm(itself);
  protocol_->Fail("READLINK", kEio);
  Left(TextOf("d/l"), NeedRef::kReadlinkRpc, kEio, {"READLINK 4"});
  protocol_->Fail("READLINK", kOk);
  Left(TextOf("d/l"), NeedRef::kReadlinkRpc, kOk, {"READLINK 4"});
}

}  // namespace
}  // namespace nfswalk::exits
