// view_history: decides from the changes of an export and from what its clients saw whether caches
// that are coherent as nfs(5) has it could have answered so.
//
// The export is a set of facts: which file a name leads to, the size, mode, link count and contents
// of a file. Each has a sequence of versions; changes of the export exclude each other, but overlap
// with the calls that see them. A call may show a version if that was the server's at some moment
// of the call, or ended less than a lifetime before, unless
//
//   the same client made a later version, by a call that had returned before (WALK-15), or
//   a call of the same client that had returned before has shown a later version.
//
// Times are nanoseconds of one monotonic clock, taken before and after each call: a machine under
// load makes the intervals longer, and the verdict milder.
//
// Thread safety: none.
#ifndef NFSWALK_TESTS_STRESS_VIEW_HISTORY_H_
#define NFSWALK_TESTS_STRESS_VIEW_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace nfswalk::stress {

struct Interval {
  uint64_t begin = 0;
  uint64_t end = 0;
};

inline constexpr int kNoClient = -1;

// Value of one fact that one call of a client showed.
struct View {
  std::string fact;
  uint64_t value = 0;
  Interval call = {};
  int client = kNoClient;
  uint64_t lifetime_ns = 0;  // 0: the call asks the server
  std::string what = {};     // for messages
  // Set for a listing, which may leave out a name that is replaced meanwhile (readdir(3)), and then
  // shows 0.
  bool is_listed = false;
  // Later calls of the client show no version before.
  bool is_final = true;
};

class ViewHistory {
 public:
  // Adds the newest version of a fact, unless it is the same. `client`: who made it, if it must see
  // that; calls of it that begin later show no version before. Preconditions: changes of one fact
  // are added in order.
  void Set(const std::string& fact, uint64_t value, Interval change, int client);
  // Adds a version that the change has made and undone, which its own client may not show.
  void SetTransient(const std::string& fact, uint64_t value, Interval change, int client);
  // Returns the newest value, 0 of a fact that was never set.
  uint64_t Now(const std::string& fact) const;
  // The values of a fact, but for 0, that `view` may be of.
  std::set<uint64_t> Showable(const View& view) const;
  // How many versions of a fact were made during a call, or may have been.
  size_t VersionsDuring(const std::string& fact, Interval call) const;
  // Returns a message for each view that is not allowed.
  std::vector<std::string> Check(std::vector<View> views) const;

 private:
  struct Version {
    uint64_t value;
    Interval change;
    int client;
    bool is_transient = false;
  };
  using Versions = std::vector<Version>;

  // Returns the oldest version from `floor` on that a call may show; versions.size() of no fact.
  static size_t Oldest(const Versions& versions, const View& view, size_t floor);
  // Returns the first version from `floor` on that the view may be of, or versions.size().
  static size_t FirstAllowed(const Versions& versions, const View& view, size_t floor);
  // `shown`: the call of the client that has shown the version `floor`; null: none.
  static std::string Describe(const Versions& versions, const View& view, size_t floor,
                              const View* shown);

  std::map<std::string, Versions, std::less<>> facts_;
};

}  // namespace nfswalk::stress

#endif  // NFSWALK_TESTS_STRESS_VIEW_HISTORY_H_
