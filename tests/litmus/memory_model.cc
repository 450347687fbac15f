#include "tests/litmus/memory_model.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace nfswalk::litmus {

bool MemoryModel::Acquires(std::memory_order order) {
  return order == std::memory_order_acquire || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}

bool MemoryModel::Releases(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}

void MemoryModel::Report(std::string violation) {
  if (violation_.empty()) violation_ = std::move(violation);
}

void MemoryModel::Join(View& into, const View& from) const {
  for (size_t i = 0; i < locations_.size(); ++i) {
    const auto location = static_cast<Location>(i);
    if (PlaceOf(location, from.seen[i]) > PlaceOf(location, into.seen[i])) {
      into.seen[i] = from.seen[i];
    }
  }
  for (size_t i = 0; i < kThreadsMax; ++i) into.clock[i] = std::max(into.clock[i], from.clock[i]);
}

void MemoryModel::Learn(Thread thread, const View& view) {
  Join(threads_[thread].current, view);
  Join(threads_[thread].acquired, view);
}

void MemoryModel::Begin(Thread thread, Thread creator) {
  const View known = Publish(creator);
  threads_[thread] = {.current = known, .acquired = known, .released = {}};
  ClockOf(thread) = 1;
}

auto MemoryModel::Add(Object object, uint64_t value) -> Location {
  if (locations_.size() == kLocationsMax) {
    std::fputs("litmus: more atomic objects than kLocationsMax\n", stderr);
    std::abort();
  }
  const auto location = static_cast<Location>(locations_.size());
  by_address_[object.address] = location;
  object.messages.push_back({.value = value, .view = {}});
  object.order.push_back(0);
  locations_.push_back(std::move(object));
  return location;
}

auto MemoryModel::Find(const void* address) const -> std::optional<Location> {
  const auto known = by_address_.find(address);
  return known != by_address_.end() ? std::optional(known->second) : std::nullopt;
}

auto MemoryModel::Access(Thread thread, void* address, uint64_t raw, uint8_t bytes)
    -> std::optional<Location> {
  std::optional<Location> location = Find(address);
  if (!location) {
    const auto birth = births_.find(address);
    location = Add({.address = address,
                    .bytes = bytes,
                    .birth = birth != births_.end() ? birth->second : Birth()},
                   raw);
  }
  Object& object = locations_[*location];
  if (!object.alive) {
    Report("an atomic object is used after its end");
    return std::nullopt;
  }
  if (object.birth.at > threads_[thread].current.clock[object.birth.creator]) {
    Report("an atomic object is used by a thread that does not see it initialised");
    return std::nullopt;
  }
  object.accessed[thread] = ClockOf(thread);
  return location;
}

void MemoryModel::CheckUnused(Thread thread, const Object& object, const char* end) {
  for (Thread other = 0; other < kThreadsMax; ++other) {
    if (object.accessed[other] > threads_[thread].current.clock[other]) {
      Report(std::string("an atomic object is ") + end + " while another thread uses it");
    }
  }
}

void MemoryModel::Construct(Thread thread, void* address) {
  if (const auto before = Find(address)) CheckUnused(thread, locations_[*before], "made anew");
  by_address_.erase(address);
  births_[address] = {.creator = thread, .at = ClockOf(thread)};
}

void MemoryModel::Destroy(Thread thread, void* address) {
  const auto location = Find(address);
  if (!location) return;
  CheckUnused(thread, locations_[*location], "destroyed");
  locations_[*location].alive = false;
}

auto MemoryModel::Readable(Thread thread, Location location, bool newer_only) const
    -> std::vector<Message> {
  const Object& object = locations_[location];
  const uint16_t oldest = PlaceOf(location, threads_[thread].current.seen[location]) + newer_only;
  return {object.order.rbegin(), object.order.rend() - oldest};
}

auto MemoryModel::Predecessors(Thread thread, Location location) const -> std::vector<Message> {
  std::vector<Message> all = Readable(thread, location, false);
  std::erase_if(all, [&](Message message) { return Taken(location, message); });
  return all;
}

// Coherence: the thread reads nothing older from now on.
void MemoryModel::Advance(Thread thread, Location location, Message message) {
  for (View* view : {&threads_[thread].current, &threads_[thread].acquired}) {
    if (PlaceOf(location, message) > PlaceOf(location, view->seen[location])) {
      view->seen[location] = message;
    }
  }
}

void MemoryModel::Load(Thread thread, Location location, Message message, std::memory_order order) {
  Advance(thread, location, message);
  const View& attached = locations_[location].messages[message].view;
  Join(threads_[thread].acquired, attached);
  if (Acquires(order)) Join(threads_[thread].current, attached);
  ++ClockOf(thread);
}

void MemoryModel::Insert(Thread thread, Location location, Message after, uint64_t value,
                         View view) {
  Object& object = locations_[location];
  const auto message = static_cast<Message>(object.messages.size());
  object.order.insert(object.order.begin() + PlaceOf(location, after) + 1, message);
  object.messages.push_back({.value = value, .view = {}});
  for (uint16_t place = 0; place < object.order.size(); ++place) {
    object.messages[object.order[place]].place = place;
  }
  view.seen[location] = message;
  object.messages[message].view = view;
  Advance(thread, location, message);
  ++ClockOf(thread);
}

void MemoryModel::Store(Thread thread, Location location, Message after, uint64_t value,
                        std::memory_order order) {
  const ThreadViews& views = threads_[thread];
  Insert(thread, location, after, value, Releases(order) ? views.current : views.released);
}

void MemoryModel::Exchange(Thread thread, Location location, Message message, uint64_t value,
                           std::memory_order order) {
  Load(thread, location, message, order);
  const ThreadViews& views = threads_[thread];
  View view = Releases(order) ? views.current : views.released;
  Join(view, locations_[location].messages[message].view);  // a release sequence goes on
  locations_[location].messages[message].taken = true;
  Insert(thread, location, message, value, view);
}

void MemoryModel::Fence(Thread thread, std::memory_order order) {
  ThreadViews& views = threads_[thread];
  if (Acquires(order)) views.current = views.acquired;
  if (order == std::memory_order_seq_cst) {
    Join(seq_cst_, views.current);
    views.current = views.acquired = seq_cst_;
  }
  if (Releases(order)) views.released = views.current;
  ++ClockOf(thread);
}

void MemoryModel::ReadPlain(Thread thread, const void* address) {
  PlainState& state = plain_[address];
  if (state.written_at > threads_[thread].current.clock[state.writer]) {
    Report("data race: a read does not see the write before it");
  }
  state.read[thread] = ClockOf(thread);
}

void MemoryModel::WritePlain(Thread thread, const void* address) {
  PlainState& state = plain_[address];
  const auto& clock = threads_[thread].current.clock;
  bool race = state.written_at > clock[state.writer];
  for (Thread other = 0; other < kThreadsMax; ++other) race |= state.read[other] > clock[other];
  if (race) Report("data race: a write is not after all accesses before it");
  state.writer = thread;
  state.written_at = ClockOf(thread);
}

void MemoryModel::StoreFinalValues() const {
  for (const Object& object : locations_) {
    if (!object.alive) continue;
    std::memcpy(object.address, &object.messages[object.order.back()].value, object.bytes);
  }
}

}  // namespace nfswalk::litmus
