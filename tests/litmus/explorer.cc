#include "tests/litmus/explorer.h"

#include <ucontext.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "tests/litmus/memory_model.h"

namespace nfswalk::litmus {
namespace {

constexpr size_t kStackBytes = 256 * 1024;
constexpr uint32_t kScenario = 0;  // the fiber that runs the scenario itself

// Next step of a thread, as far as it matters to others.
struct Step {
  enum Kind { kRead, kWrite, kFence, kBeginSection, kEndSection, kBeginGrace, kEndGrace, kEnd };
  Kind kind = kEnd;
  void* address = nullptr;
  bool newer_only = false;  // kRead: blocked until there is another value
};

bool IsAccess(const Step& step) { return step.kind == Step::kRead || step.kind == Step::kWrite; }

bool Independent(const Step& a, const Step& b) {
  if (IsAccess(a) && IsAccess(b)) {
    return a.address != b.address || (a.kind == Step::kRead && b.kind == Step::kRead);
  }
  const auto are = [&](Step::Kind one, Step::Kind other) {
    return (a.kind == one && b.kind == other) || (a.kind == other && b.kind == one);
  };
  return !are(Step::kFence, Step::kFence) && !are(Step::kBeginSection, Step::kBeginGrace) &&
         !are(Step::kEndSection, Step::kBeginGrace) && !are(Step::kEndSection, Step::kEndGrace);
}

// A thread of the scenario, on a stack of its own.
struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack = std::make_unique_for_overwrite<char[]>(kStackBytes);
  std::function<void()> run;
  Step next = {};
  void* last_loaded = nullptr;
  bool awaits_change = false;
  uint32_t section_depth = 0;
  uint32_t sections_begun = 0;
  std::vector<View> section_ends = {};
  std::array<uint32_t, kThreadsMax> clock{};      // of its last turn
  std::array<uint32_t, kThreadsMax> waits_for{};  // sections of each thread, in a grace period
};

class Explorer {
 public:
  Explorer(const std::function<void()>& scenario, const Options& options)
      : scenario_(scenario), options_(options) {}

  Result Run();

  void RunThreads(std::vector<std::function<void()>> threads);
  uint32_t AddThread(std::function<void()> run, Step first);
  // Ends this execution and the exploration, and never returns.
  [[noreturn]] void Violate(std::string what);
  void CheckModel() {
    if (!model_.violation().empty()) Violate(model_.violation());
  }

  // Waits for the turn to do `step`.
  void Yield(Step step);
  // One of `count` possibilities.
  size_t Choose(size_t count);

  std::memory_order OrderOf(std::memory_order order, const Place& place);
  // Notes a step, if this execution is to be shown.
  void Trace(const char* step, const Place& place, uint64_t value);
  MemoryModel::Location Access(const Cell& cell);
  void BeginGrace();
  void EndGrace();

  Fiber& self() { return *fibers_[running_]; }

  MemoryModel model_;
  uint32_t running_ = kScenario;
  Result result_;
  View before_grace_;  // what precedes the grace periods that have begun
  View in_sections_;   // what was done in the sections that have ended

 private:
  // Point where executions part: at what a load returns or a store follows, or at whose turn it is.
  // Threads are bits of a mask.
  struct Choice {
    size_t taken;  // a possibility, or a thread
    size_t count = 0;
    bool turn = false;
    uint32_t ready = 0;
    uint32_t asleep = 0;  // tried before here, and independent of all that came since
    uint32_t wanted = 0;  // to be tried
    uint32_t tried = 0;
  };
  using Clock = std::array<uint32_t, kThreadsMax>;
  struct Turn {
    uint32_t thread;
    Step step;
    size_t choice;  // in path_
    Clock clock;    // steps of each thread that it depends on, itself included
  };

  void Execute();
  void StartFiber(uint32_t number, std::function<void()> run);
  static void Entry();
  void SwitchTo(uint32_t number);
  bool Enabled(uint32_t number) const;
  uint32_t PickThread();
  void NoteTurn(uint32_t thread, size_t choice);
  void WantLastBefore(size_t race);
  static bool Precedes(const Turn& turn, const Clock& clock) {
    return turn.clock[turn.thread] <= clock[turn.thread];
  }
  bool NextPath();

  const std::function<void()>& scenario_;
  const Options& options_;
  std::vector<std::unique_ptr<Fiber>> fibers_;  // their stacks serve all executions
  uint32_t live_ = 0;                           // fibers of this execution
  bool starting_ = false;
  bool tracing_ = false;
  bool redundant_ = false;  // equivalent to an execution tried before; only runs to its end
  uint32_t asleep_ = 0;     // as in Choice
  std::vector<Turn> turns_;
  std::vector<Choice> path_;
  size_t depth_ = 0;
  std::map<std::pair<const char*, uint32_t>, bool> known_sites_;  // whether to weaken
  ucontext_t main_{};
};

Explorer* explorer = nullptr;

Result Explorer::Run() {
  explorer = this;
  do {
    Execute();
    if (!result_.violation.empty()) {
      tracing_ = true;  // once more, the same way
      Execute();
      break;
    }
    ++(redundant_ ? result_.redundant : result_.executions);
    result_.complete = !NextPath();
  } while (!result_.complete && result_.executions + result_.redundant < options_.executions_max);
  explorer = nullptr;
  return std::move(result_);
}

void Explorer::Execute() {
  model_ = MemoryModel();
  before_grace_ = {};
  in_sections_ = {};
  depth_ = 0;
  live_ = 0;
  asleep_ = 0;
  turns_.clear();
  redundant_ = false;
  running_ = kScenario;
  StartFiber(kScenario, scenario_);
  swapcontext(&main_, &self().context);
}

// Moves to the next combination of choices. False after the last.
bool Explorer::NextPath() {
  for (; !path_.empty(); path_.pop_back()) {
    Choice& last = path_.back();
    if (!last.turn) {
      if (++last.taken < last.count) return true;
      continue;
    }
    last.tried |= 1u << last.taken;
    const uint32_t left = last.wanted & ~last.tried & ~last.asleep;
    if (left != 0) {
      last.taken = static_cast<size_t>(std::countr_zero(left));
      return true;
    }
  }
  return false;
}

size_t Explorer::Choose(size_t count) {
  if (count == 1 || redundant_) return 0;
  if (depth_ == path_.size()) path_.push_back({.taken = 0, .count = count});
  return path_[depth_++].taken;
}

void Explorer::StartFiber(uint32_t number, std::function<void()> run) {
  if (number == fibers_.size()) fibers_.push_back(std::make_unique<Fiber>());
  live_ = number + 1;
  Fiber& fiber = *fibers_[number];
  std::unique_ptr<char[]> stack = std::move(fiber.stack);
  fiber = Fiber{.context = {}, .stack = std::move(stack), .run = std::move(run)};
  getcontext(&fiber.context);
  fiber.context.uc_stack = {.ss_sp = fiber.stack.get(), .ss_flags = 0, .ss_size = kStackBytes};
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, &Explorer::Entry, 0);
}

void Explorer::Entry() {
  Explorer& self = *explorer;
  self.self().run();
  if (self.running_ == kScenario) {
    setcontext(&self.main_);
  }
  self.Yield({});
  std::abort();  // a thread that has ended gets no turn
}

void Explorer::Violate(std::string what) {
  result_.violation = std::move(what);
  setcontext(&main_);  // objects and stacks of this execution are abandoned
  std::abort();
}

uint32_t Explorer::AddThread(std::function<void()> run, Step first) {
  if (live_ == kThreadsMax) {
    std::fputs("litmus: more threads than kThreadsMax\n", stderr);
    std::abort();
  }
  const uint32_t number = live_;
  StartFiber(number, std::move(run));
  fibers_[number]->next = first;
  fibers_[number]->clock = self().clock;
  model_.Begin(number, running_);
  return number;
}

void Explorer::RunThreads(std::vector<std::function<void()>> threads) {
  // Each up to its first step; none of them can see what the others do before theirs.
  starting_ = true;
  for (auto& run : threads) SwitchTo(AddThread(std::move(run), {}));
  starting_ = false;
  SwitchTo(PickThread());
  model_.StoreFinalValues();
}

void Explorer::SwitchTo(uint32_t number) {
  if (number == running_) return;
  const uint32_t from = std::exchange(running_, number);
  swapcontext(&fibers_[from]->context, &fibers_[number]->context);
}

void Explorer::Yield(Step step) {
  self().next = step;
  SwitchTo(starting_ ? kScenario : PickThread());
}

bool Explorer::Enabled(uint32_t number) const {
  const Fiber& fiber = *fibers_[number];
  switch (fiber.next.kind) {
    case Step::kEnd:
      return false;
    case Step::kRead:
      return !fiber.next.newer_only || model_.HasNewer(number, fiber.next.address);
    case Step::kEndGrace:
      for (uint32_t other = 0; other < live_; ++other) {
        if (fibers_[other]->section_ends.size() < fiber.waits_for[other]) return false;
      }
      return true;
    default:
      return true;
  }
}

// The scenario itself once all threads have ended.
uint32_t Explorer::PickThread() {
  uint32_t ready = 0;
  bool unfinished = false;
  for (uint32_t number = 1; number < live_; ++number) {
    unfinished |= fibers_[number]->next.kind != Step::kEnd;
    if (Enabled(number)) ready |= 1u << number;
  }
  if (ready == 0) {
    if (unfinished) Violate("deadlock");
    return kScenario;
  }
  const auto lowest = [](uint32_t mask) { return static_cast<uint32_t>(std::countr_zero(mask)); };
  redundant_ |= (ready & ~asleep_) == 0;
  if (redundant_) return lowest(ready);
  if (depth_ == path_.size()) {
    const uint32_t first = lowest(ready & ~asleep_);
    path_.push_back({.taken = first,
                     .turn = true,
                     .ready = ready,
                     .asleep = asleep_,
                     .wanted = options_.all_orders ? ready : 1u << first});
  }
  const Choice& choice = path_[depth_];
  const auto thread = static_cast<uint32_t>(choice.taken);
  asleep_ |= choice.tried;
  NoteTurn(thread, depth_++);
  for (uint32_t number = 1; number < live_; ++number) {
    if (!Independent(fibers_[number]->next, fibers_[thread]->next)) asleep_ &= ~(1u << number);
  }
  return thread;
}

// Source-set dynamic partial-order reduction: has the thread's step tried before each turn that it
// depends on, unless something between orders the two.
void Explorer::NoteTurn(uint32_t thread, size_t choice) {
  const Step& step = fibers_[thread]->next;
  Clock clock = fibers_[thread]->clock;
  std::vector<size_t> races;
  for (size_t i = turns_.size(); i-- > 0;) {
    const Turn& turn = turns_[i];
    if (turn.thread == thread || Independent(turn.step, step)) continue;
    if (!Precedes(turn, clock)) races.push_back(i);
    for (size_t t = 0; t < kThreadsMax; ++t) clock[t] = std::max(clock[t], turn.clock[t]);
  }
  ++clock[thread];
  fibers_[thread]->clock = clock;
  turns_.push_back({.thread = thread, .step = step, .choice = choice, .clock = clock});
  for (const size_t race : races) WantLastBefore(race);
}

// Has a thread tried instead of turns_[race] that can begin what leads to the last turn without it:
// one whose first turn among those is independent of the others.
void Explorer::WantLastBefore(size_t race) {
  std::vector<const Turn*> without;
  uint32_t met = 0;
  uint32_t able = 0;
  for (size_t i = race + 1; i < turns_.size(); ++i) {
    const Turn& turn = turns_[i];
    const bool last = i + 1 == turns_.size();
    if (!last && Precedes(turns_[race], turn.clock)) continue;
    const uint32_t bit = 1u << turn.thread;
    const bool begins = std::none_of(without.begin(), without.end(), [&](const Turn* before) {
      return Precedes(*before, turn.clock);
    });
    if ((met & bit) == 0 && begins) able |= bit;
    met |= bit;
    without.push_back(&turn);
  }
  Choice& choice = path_[turns_[race].choice];
  if ((able & choice.wanted) != 0) return;
  able &= choice.ready;
  choice.wanted |= able != 0 ? able & -able : choice.ready;
}

std::memory_order Explorer::OrderOf(std::memory_order order, const Place& place) {
  if (order == std::memory_order_relaxed) return order;
  const auto& weakening = options_.weakening;
  const auto [known, is_new] = known_sites_.try_emplace({place.file, place.line}, false);
  if (is_new) {
    const std::string_view file = place.file;
    const Site site{std::string(file.starts_with("./") ? file.substr(2) : file), place.line,
                    place.function, order};
    if (!site.file.starts_with("tests/")) result_.sites.insert(site);
    known->second =
        weakening && weakening->site.file == site.file && weakening->site.line == site.line;
  }
  return known->second ? weakening->order : order;
}

void Explorer::Trace(const char* step, const Place& place, uint64_t value) {
  if (!tracing_) return;
  result_.trace += "  thread " + std::to_string(running_) + " " + place.file + ":" +
                   std::to_string(place.line) + " " + step + " " + std::to_string(value) + "\n";
}

MemoryModel::Location Explorer::Access(const Cell& cell) {
  const auto location = model_.Access(running_, cell.address, cell.raw, cell.bytes);
  CheckModel();
  return *location;
}

void Explorer::BeginGrace() {
  Trace("begins grace period", {"RCU", 0, ""}, 0);
  model_.Join(before_grace_, model_.Publish(running_));
  model_.Learn(running_, in_sections_);
  for (uint32_t other = 0; other < live_; ++other) {
    self().waits_for[other] =
        fibers_[other]->section_depth > 0 ? fibers_[other]->sections_begun : 0;
  }
}

void Explorer::EndGrace() {
  Trace("ends grace period", {"RCU", 0, ""}, 0);
  for (uint32_t other = 0; other < live_; ++other) {
    const uint32_t section = self().waits_for[other];
    if (section > 0) model_.Learn(running_, fibers_[other]->section_ends[section - 1]);
  }
}

}  // namespace

Result Explore(const std::function<void()>& scenario, const Options& options) {
  return Explorer(scenario, options).Run();
}

void RunThreads(std::vector<std::function<void()>> threads) {
  explorer->RunThreads(std::move(threads));
}

void Require(bool holds, std::string_view what) {
  if (!holds) explorer->Violate(std::string(what));
}

bool Saw(std::string_view what) {
  explorer->result_.seen.emplace(what);
  return true;
}

uint32_t ThreadNumber() { return explorer != nullptr ? explorer->running_ : kScenario; }

bool InThread() { return ThreadNumber() != kScenario; }

void AwaitChange() {
  if (InThread()) explorer->self().awaits_change = true;
}

void BeginSection() {
  if (!InThread() || explorer->self().section_depth++ > 0) return;
  explorer->Yield({.kind = Step::kBeginSection});
  ++explorer->self().sections_begun;
  explorer->model_.Learn(explorer->running_, explorer->before_grace_);
  explorer->Trace("begins section", {"RCU", 0, ""}, explorer->self().sections_begun);
}

void EndSection() {
  if (!InThread() || explorer->self().section_depth > 1) {
    if (InThread()) --explorer->self().section_depth;
    return;
  }
  explorer->Yield({.kind = Step::kEndSection});
  explorer->Trace("ends section", {"RCU", 0, ""}, explorer->self().sections_begun);
  --explorer->self().section_depth;
  explorer->self().section_ends.push_back(explorer->model_.Publish(explorer->running_));
  explorer->model_.Join(explorer->in_sections_, explorer->self().section_ends.back());
}

bool InSection() { return InThread() && explorer->self().section_depth > 0; }

void WaitForGracePeriod() {
  if (!InThread()) return;
  explorer->Yield({.kind = Step::kBeginGrace});
  explorer->BeginGrace();
  explorer->Yield({.kind = Step::kEndGrace});
  explorer->EndGrace();
}

void AfterGracePeriod(std::function<void()> callback) {
  if (!InThread()) return callback();
  // Its first turn is that of kBeginGrace.
  explorer->AddThread(
      [callback = std::move(callback)] {
        explorer->BeginGrace();
        explorer->Yield({.kind = Step::kEndGrace});
        explorer->EndGrace();
        callback();
      },
      {.kind = Step::kBeginGrace});
}

uint64_t LoadAtomic(Cell cell, std::memory_order order, Place place) {
  Explorer& e = *explorer;
  Fiber& self = e.self();
  const bool newer_only =
      std::exchange(self.awaits_change, false) && self.last_loaded == cell.address;
  e.Yield({.kind = Step::kRead, .address = cell.address, .newer_only = newer_only});
  self.last_loaded = cell.address;
  const auto location = e.Access(cell);
  const auto readable = e.model_.Readable(e.running_, location, newer_only);
  const auto message = readable[e.Choose(readable.size())];
  e.model_.Load(e.running_, location, message, e.OrderOf(order, place));
  e.Trace("loads", place, e.model_.ValueOf(location, message));
  return e.model_.ValueOf(location, message);
}

void StoreAtomic(Cell cell, uint64_t value, std::memory_order order, Place place) {
  Explorer& e = *explorer;
  e.Yield({.kind = Step::kWrite, .address = cell.address});
  const auto location = e.Access(cell);
  const auto after = e.model_.Predecessors(e.running_, location);
  e.model_.Store(e.running_, location, after[e.Choose(after.size())], value,
                 e.OrderOf(order, place));
  e.Trace("stores", place, value);
}

uint64_t UpdateAtomic(Cell cell, const std::function<std::optional<uint64_t>(uint64_t)>& update,
                      std::memory_order order, std::memory_order failure, Place place) {
  Explorer& e = *explorer;
  e.Yield({.kind = Step::kWrite, .address = cell.address});
  const auto location = e.Access(cell);
  auto readable = e.model_.Readable(e.running_, location, false);
  std::erase_if(readable, [&](auto message) {
    return e.model_.Taken(location, message) && update(e.model_.ValueOf(location, message));
  });
  const auto message = readable[e.Choose(readable.size())];
  const uint64_t old = e.model_.ValueOf(location, message);
  const std::optional<uint64_t> value = update(old);
  e.Trace(value ? "exchanges" : "does not exchange", place, old);
  if (value) {
    e.model_.Exchange(e.running_, location, message, *value, e.OrderOf(order, place));
  } else {
    e.self().last_loaded = nullptr;  // what it found is what it may try again with
    e.model_.Load(e.running_, location, message, failure);
  }
  return old;
}

void FenceThread(std::memory_order order, Place place) {
  Explorer& e = *explorer;
  // Other threads see a fence only if it is seq_cst.
  if (order == std::memory_order_seq_cst) e.Yield({.kind = Step::kFence});
  e.model_.Fence(e.running_, e.OrderOf(order, place));
}

void ConstructAtomic(void* address) {
  if (!InThread()) return;
  explorer->model_.Construct(explorer->running_, address);
  explorer->CheckModel();
}

void DestroyAtomic(void* address) {
  if (!InThread()) return;
  explorer->model_.Destroy(explorer->running_, address);
  explorer->CheckModel();
}

void ReadPlain(const void* address) {
  if (!InThread()) return;
  explorer->model_.ReadPlain(explorer->running_, address);
  explorer->CheckModel();
}

void WritePlain(const void* address) {
  if (!InThread()) return;
  explorer->model_.WritePlain(explorer->running_, address);
  explorer->CheckModel();
}

}  // namespace nfswalk::litmus
