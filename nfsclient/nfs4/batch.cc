// LookupBatch(): names of one directory share COMPOUNDs, several of which are in flight at once.
//
// A COMPOUND ends at the first name that fails, as one that does not exist: the names behind it are
// asked for again, in smaller ones. Each COMPOUND answers one name at least, so that there are
// never more of them than names.
#include "nfsclient/nfs4/nfs4.h"

// libnfs.h defines what the raw headers need, so it comes first.
// clang-format off
#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs4.h>
// clang-format on

#include <algorithm>
#include <deque>
#include <functional>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "nfsclient/nfs4/path_steps.h"
#include "nfsclient/nfs4/status.h"
#include "nfsclient/protocol/wire_limits.h"
#include "nfsclient/rpc/internal_errors.h"

namespace nfswalk::protocol {
namespace {

constexpr size_t kCompoundsMax = 16;  // in flight
// Larger ones are no faster, and a COMPOUND is one thread's in a server.
constexpr size_t kQuestionsMax = 32;
constexpr size_t kOperationsBefore = 4;  // PUTFH, SAVEFH, GETATTR, ACCESS

// Questions about one file, in one COMPOUND that borrows from them.
class SharedCompound {
 public:
  SharedCompound(rpc::Caller& caller, std::span<const LookupQuestion> questions,
                 std::vector<size_t> indices)
      : caller_(caller), questions_(questions), indices_(std::move(indices)) {}
  // Waits for what is in flight, which borrows from this.
  ~SharedCompound() {
    if (started_) (void)FinishCall([](CompoundReader&, Result&) {});
  }

  size_t operations() const { return compound_.operations(); }
  const std::vector<size_t>& indices() const { return indices_; }

  void Start(const Credential& credential) {
    compound_.PutHandle(questions_[indices_.front()].file).SaveHandle();
    compound_.GetAttributes().Access(kAccessAll);
    for (size_t i = 0; i < indices_.size(); ++i) {
      if (i != 0) compound_.RestoreHandle();
      for (const std::string_view name : questions_[indices_[i]].names) AddStep(compound_, name);
    }
    request_ = compound_.Encode();
    started_.emplace(request_);
    caller_.Start(*started_, credential);
  }

  struct Result {
    std::errc error{};  // of the last one answered, or why none is
    int status = 0;
    size_t answered = 0;
  };
  Result Finish(const OwnerNames& owners, std::span<LookupPathReply> replies) {
    return FinishCall([&](CompoundReader& reader, Result& read) {
      Take(reader, owners, replies, read);
      read.error = reader.error();
      read.status = reader.status();
    });
  }

 private:
  template <typename Decode>
  Result FinishCall(Decode decode) {
    const Result result = caller_.Finish<Result>(*started_, DecodeCompound(decode));
    started_.reset();
    return result;
  }
  void Take(CompoundReader& reader, const OwnerNames& owners, std::span<LookupPathReply> replies,
            Result& result) {
    Attributes attributes;
    OptionalAttributes directory;
    std::optional<uint32_t> granted;
    uint32_t rights = 0;
    if (reader.Next(OP_PUTFH) && reader.Next(OP_SAVEFH) &&
        TakeAttributes(reader, owners, attributes)) {
      directory = attributes;
    }
    if (TakeAccess(reader, rights)) granted = rights;
    for (size_t i = 0; i < indices_.size(); ++i) {
      if (i != 0 && !reader.Next(OP_RESTOREFH)) return;
      const LookupQuestion& question = questions_[indices_[i]];
      LookupPathReply& reply = replies[indices_[i]];
      reply = LookupPathReply{.directory = directory, .granted = granted};
      for (size_t at = 0; at < question.names.size(); ++at) {
        if (!TakeStep(reader, owners, question.names[at], reply)) break;
      }
      reply.error = reader.error();
      ++result.answered;
      if (reply.error != kOk) return;
    }
  }

  rpc::Caller& caller_;
  const std::span<const LookupQuestion> questions_;
  const std::vector<size_t> indices_;
  Compound compound_;
  rpc::Request request_;
  std::optional<rpc::Caller::Started> started_;
};

// The questions that are still to be asked, and how many at once.
class Questions {
 public:
  explicit Questions(std::span<const LookupQuestion> questions) : questions_(questions) {
    left_.reserve(questions.size());
  }

  void Add(size_t index) { left_.push_back(index); }
  bool empty() const { return left_.empty(); }
  // Puts the questions about one file next to each other, in the order of the caller.
  void Sort() {
    std::ranges::stable_sort(left_, std::ranges::less(), [this](size_t index) {
      const auto bytes = questions_[index].file.bytes();
      return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    });
    at_ = 0;
  }
  bool at_end() const { return at_ == left_.size(); }
  void Forget() {
    left_.clear();
    at_ = 0;
  }
  // The next ones about one file, as many as fit.
  std::vector<size_t> Take(size_t operations_max, size_t questions_max) {
    std::vector<size_t> taken;
    const FileHandle& file = questions_[left_[at_]].file;
    size_t operations = kOperationsBefore;
    size_t bytes = 0;
    for (; at_ < left_.size() && taken.size() < questions_max; ++at_) {
      const LookupQuestion& question = questions_[left_[at_]];
      operations += 1 + question.names.size() * kOperationsOfStep;
      for (const std::string_view name : question.names)
        bytes += Compound::EncodedBytesOfStep(name);
      const bool fits = operations <= operations_max && bytes <= Compound::kEncodedBytesMax;
      if (!taken.empty() && (!fits || question.file != file)) break;
      taken.push_back(left_[at_]);
    }
    return taken;
  }

 private:
  std::span<const LookupQuestion> questions_;
  std::vector<size_t> left_;
  size_t at_ = 0;
};

std::errc Check(const LookupQuestion& question) {
  for (const std::string_view name : question.names) {
    if (const std::errc error = CheckName(name); error != kOk) return error;
  }
  return kOk;
}

}  // namespace

void Nfs4::LookupBatch(std::span<const LookupQuestion> questions, const Credential& credential,
                          std::span<LookupPathReply> replies) try {
  Questions left(questions), again(questions);
  for (size_t i = 0; i < questions.size(); ++i) {
    replies[i].error = Check(questions[i]);
    if (replies[i].error == kOk) left.Add(i);
  }
  size_t questions_max = kQuestionsMax;
  while (!left.empty()) {
    left.Sort();
    std::deque<SharedCompound> in_flight;
    while (!left.at_end() || !in_flight.empty()) {
      while (!left.at_end() && in_flight.size() < kCompoundsMax) {
        const size_t operations_max = std::min(operations_limit_.MaxToSend(), kPathOperationsMax);
        in_flight.emplace_back(*caller_, questions, left.Take(operations_max, questions_max))
            .Start(credential);
      }
      SharedCompound& oldest = in_flight.front();
      const auto result = oldest.Finish(owner_names_, replies);
      const std::vector<size_t>& asked = oldest.indices();
      size_t answered = result.answered;
      const bool refused = IsTooLarge(result.status);
      if (refused || result.error == kOk) operations_limit_.Record(oldest.operations(), refused);
      const bool is_late =
          result.error == std::errc::timed_out || result.error == std::errc::operation_canceled;
      if (is_late) {
        for (; answered < asked.size(); ++answered) replies[asked[answered]].error = result.error;
      } else if (refused || result.error == kJukebox || answered == 0) {
        // By itself, with all that such a call does. The name that ended the COMPOUND, or the
        // first.
        const size_t one = asked[answered == 0 ? 0 : answered - 1];
        replies[one] = LookupAlone(questions[one], credential);
        answered = std::max<size_t>(answered, 1);
      }
      if (answered < asked.size())
        questions_max = std::max<size_t>(1, answered);
      else
        questions_max = std::min(kQuestionsMax, questions_max * 2);
      for (; answered < asked.size(); ++answered) again.Add(asked[answered]);
      in_flight.pop_front();
    }
    left.Forget();
    std::swap(left, again);
  }
} catch (const std::bad_alloc&) {
  for (LookupPathReply& reply : replies) {
    if (reply.error == kOk && reply.steps.empty() && !reply.directory) {
      reply.error = std::errc::not_enough_memory;
    }
  }
}

}  // namespace nfswalk::protocol
