#include "bench/trace/left_out.h"

namespace nfswalk::bench {

std::string_view LeftOutText(LeftOut reason) {
  switch (reason) {
    case LeftOut::kNoPathBehindDescriptor:
      return "descriptor without a path (pipe, socket, deleted file)";
    case LeftOut::kTextCutShort:
      return "path cut short by strace";
    case LeftOut::kDirectoryUnknown:
      return "directory of a relative path unknown";
    case LeftOut::kAnswerNotRecorded:
      return "answer not recorded";
    case LeftOut::kNotAboutPath:
      return "empty path, or an error that says nothing about a path";
    case LeftOut::kPerProcess:
      return "another file for each process (/proc/self ...)";
    case LeftOut::kChangedByTrace:
      return "path changed by the trace itself";
    case LeftOut::kConflictingAnswers:
      return "conflicting recorded answers";
    case LeftOut::kSpecialFile:
      return "device, FIFO or socket, not made through NFS";
    case LeftOut::kOpenDecidedByType:
      return "open refused for O_NOFOLLOW or O_DIRECTORY";
  }
  return "?";
}

}  // namespace nfswalk::bench
