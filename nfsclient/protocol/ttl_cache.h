// ttl_cache: what a slow authority answered, for a while.
//
// Holds at most kAnswersMax answers; the one that would be too many empties it first, so that who
// invents questions gains no memory.
//
// Thread safety: all functions.
#ifndef NFSWALK_NFSCLIENT_PROTOCOL_TTL_CACHE_H_
#define NFSWALK_NFSCLIENT_PROTOCOL_TTL_CACHE_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>

namespace nfswalk::protocol {

template <typename Question, typename Answer>
class TtlCache {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kAnswersMax = 4096;
  static constexpr Clock::duration kAgeMax = std::chrono::minutes(10);

  // `asked`: anything that compares with a Question.
  template <typename Asked>
  std::optional<Answer> Find(const Asked& asked, Clock::time_point now) const {
    const std::shared_lock lock(mutex_);
    const auto found = answers_.find(asked);
    if (found == answers_.end() || now >= found->second.until) return std::nullopt;
    return found->second.answer;
  }

  void Store(Question question, Answer answer, Clock::time_point now) {
    const std::unique_lock lock(mutex_);
    if (answers_.size() >= kAnswersMax) answers_.clear();
    answers_.insert_or_assign(std::move(question), Remembered{std::move(answer), now + kAgeMax});
  }

 private:
  struct Remembered {
    Answer answer;
    Clock::time_point until;
  };

  mutable std::shared_mutex mutex_;
  std::map<Question, Remembered, std::less<>> answers_;
};

}  // namespace nfswalk::protocol

#endif  // NFSWALK_NFSCLIENT_PROTOCOL_TTL_CACHE_H_
