#include "nfsclient/cli/format.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <time.h>

#include <nlohmann/json.hpp>
#include <string>

namespace nfswalk::cli {
namespace {

using protocol::FileType;
using Json = nlohmann::json;

class Format : public testing::Test {
 protected:
  void SetUp() override {
    setenv("TZ", "UTC-1", 1);  // an hour ahead of UTC, POSIX spelling
    tzset();
  }
};

Attributes Sample() {
  Attributes attributes;
  attributes.type = FileType::kRegular;
  attributes.mode = 0644;
  attributes.nlink = 2;
  attributes.uid = 1000;
  attributes.gid = 100;
  attributes.size_bytes = 5;
  attributes.used_bytes = 4096;
  attributes.fsid = 0xabc;
  attributes.fileid = 77;
  attributes.atime = {.seconds = 0, .nanoseconds = 1};
  attributes.mtime = {.seconds = 1'700'000'000, .nanoseconds = 5};
  attributes.ctime = {.seconds = 1'700'000'001, .nanoseconds = 0};
  return attributes;
}

std::string Mode(FileType type, uint32_t mode) {
  Attributes attributes;
  attributes.type = type;
  attributes.mode = mode;
  return ModeString(attributes);
}

TEST_F(Format, ModesReadAsInLs) {
  EXPECT_EQ(Mode(FileType::kRegular, 0644), "-rw-r--r--");
  EXPECT_EQ(Mode(FileType::kRegular, 0), "----------");
  EXPECT_EQ(Mode(FileType::kDirectory, 01777), "drwxrwxrwt");
  EXPECT_EQ(Mode(FileType::kDirectory, 01776), "drwxrwxrwT");
  EXPECT_EQ(Mode(FileType::kRegular, 06755), "-rwsr-sr-x");
  EXPECT_EQ(Mode(FileType::kRegular, 06644), "-rwSr-Sr--");
  EXPECT_EQ(Mode(FileType::kSymlink, 0777), "lrwxrwxrwx");
  EXPECT_EQ(Mode(FileType::kCharacterDevice, 0600)[0], 'c');
  EXPECT_EQ(Mode(FileType::kBlockDevice, 0600)[0], 'b');
  EXPECT_EQ(Mode(FileType::kFifo, 0600)[0], 'p');
  EXPECT_EQ(Mode(FileType::kSocket, 0600)[0], 's');
}

TEST_F(Format, TimesKeepTheirNanoseconds) {
  EXPECT_EQ(UtcTime({.seconds = 0, .nanoseconds = 1}), "1970-01-01T00:00:00.000000001Z");
  EXPECT_EQ(UtcTime({.seconds = 1'700'000'000, .nanoseconds = 999'999'999}),
            "2023-11-14T22:13:20.999999999Z");
  EXPECT_EQ(LocalTime({.seconds = 0, .nanoseconds = 1}), "1970-01-01 01:00:00.000000001 +0100");
}

TEST_F(Format, EmptyFilesHaveATypeOfTheirOwn) {
  Attributes attributes = Sample();
  EXPECT_EQ(TypeNameOf(attributes), "regular file");
  attributes.size_bytes = 0;
  EXPECT_EQ(TypeNameOf(attributes), "regular empty file");
  attributes.type = FileType::kSocket;
  EXPECT_EQ(TypeNameOf(attributes), "socket");
}

TEST_F(Format, JsonHasTheDocumentedKeysInTheirOrder) {
  JsonObject object = PathJson("usr/x");
  AddAttributes(object, Sample());
  EXPECT_EQ(JsonLine(object),
            "{\"path\":\"usr/x\",\"type\":\"regular file\",\"mode\":\"0644\",\"nlink\":2,"
            "\"uid\":1000,\"gid\":100,\"size_bytes\":5,\"used_bytes\":4096,\"rdev_major\":0,"
            "\"rdev_minor\":0,\"fsid\":2748,\"fileid\":77,"
            "\"atime\":\"1970-01-01T00:00:00.000000001Z\","
            "\"mtime\":\"2023-11-14T22:13:20.000000005Z\","
            "\"ctime\":\"2023-11-14T22:13:21.000000000Z\"}\n");
}

TEST_F(Format, JsonKeepsNumbersOf64BitsWhole) {
  Attributes attributes = Sample();
  attributes.fileid = UINT64_MAX;
  JsonObject object = PathJson("x");
  AddAttributes(object, attributes);
  EXPECT_EQ(Json::parse(JsonLine(object))["fileid"].get<uint64_t>(), UINT64_MAX);
}

TEST_F(Format, JsonOfANameThatIsNotUtf8IsValidAndLosesNothing) {
  const Json object = Json::parse(JsonLine(PathJson("d/\xff")));
  EXPECT_EQ(object["path"], "d/\xef\xbf\xbd");
  EXPECT_EQ(object["path_base64"], "ZC//");
  EXPECT_FALSE(Json::parse(JsonLine(PathJson("d/\xc3\xa4"))).contains("path_base64"));
}

TEST_F(Format, AJsonLineIsOneLineWhateverTheName) {
  const std::string line = JsonLine(PathJson("a\nb\x1b"));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_EQ(Json::parse(line)["path"], "a\nb\x1b");
}

TEST_F(Format, JsonErrorsCarryNameNumberAndMessage) {
  JsonObject object = PathJson("x");
  AddError(object, std::errc::no_such_file_or_directory);
  EXPECT_EQ(JsonLine(object),
            "{\"path\":\"x\",\"error\":{\"name\":\"ENOENT\",\"number\":2,"
            "\"message\":\"No such file or directory\"}}\n");
}

}  // namespace
}  // namespace nfswalk::cli
