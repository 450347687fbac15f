// write_expectations: the bytes that a read of a small file may show, and that its server may hold,
// after the calls of one client and the changes of another.
//
// Each byte has a set of values: a write that returned leaves its own alone in it; a change by
// another client, a write that was refused and a truncation whose outcome is not known add to it.
//
// Thread safety: none.
#ifndef NFSWALK_TESTS_UNIT_NFSCLIENT_DATA_WRITE_EXPECTATIONS_H_
#define NFSWALK_TESTS_UNIT_NFSCLIENT_DATA_WRITE_EXPECTATIONS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nfswalk::data {

class WriteExpectations {
 public:
  static constexpr size_t kBytesMax = 6;
  using Bytes = std::vector<std::byte>;

  // `content`: on the server's stable storage. Values are below 64; 0 is a hole's.
  explicit WriteExpectations(const Bytes& content);

  // The first violation; empty: none.
  const std::string& violation() const { return violation_; }
  void Fail(std::string_view text);
  void Require(bool holds, std::string_view text) {
    if (!holds) Fail(text);
  }

  // --- calls of the client under test ---
  // A write is called, and returns with the first `taken_bytes` of `data` written.
  void Writing(size_t offset, std::span<const std::byte> data);
  void Wrote(size_t offset, std::span<const std::byte> data, size_t taken_bytes);
  // A truncation is called, and returns without an error.
  void Cutting(size_t size);
  void Cut(size_t size);
  // A read of the whole file begins, and returns `shown`. The last to begin ends first.
  void BeginRead();
  void EndRead(std::span<const std::byte> shown);
  // An fsync returns without an error.
  void Synced(const Bytes& current, const Bytes& stable);
  // A stat returns, or the caches have a valid size.
  void CheckSize(size_t size);

  // --- the server ---
  void ChangedByOther(size_t at, std::byte value);
  // A WRITE is sent.
  void Sent(size_t offset, std::span<const std::byte> data);
  // A WRITE of [begin, end) is refused.
  void Refused(size_t begin, size_t end, size_t server_size);
  // A reply tells the client the size of a file that has the content `current`.
  void SizeShown(size_t size, const Bytes& current);
  // The server has lost what was not stable, or its file was cut.
  void SizeLost(size_t size);
  // Every call that was sent has been executed.
  void CheckServer(const Bytes& current, const Bytes& stable);

 private:
  using Values = uint64_t;  // a set, one bit for each value
  struct Shown {
    std::array<Values, kBytesMax> values;
    size_t end_min = 0, end_max = 0;
  };

  static Values SetOf(std::byte value) { return Values{1} << static_cast<unsigned>(value); }
  // Adds to what reads in progress and later ones may show, and to what the server may hold.
  void Add(size_t at, Values values);
  void GrowEndMax(size_t end);
  void ShrinkEndMin(size_t end);
  void CheckHeld(std::string_view where, const Bytes& bytes);

  std::string violation_;
  Shown now_;
  std::vector<Shown> reads_;
  std::array<Values, kBytesMax> held_;     // by the server since the last fsync
  size_t held_end_min_ = 0;
  std::array<Values, kBytesMax> written_;  // by anyone, ever
  std::array<bool, kBytesMax> may_be_hole_;       // as the client knows
  std::array<bool, kBytesMax> may_be_filled_{};  // with zeros, by a write behind it
  std::array<bool, kBytesMax> is_lost_{};        // refused, and not written since
};

}  // namespace nfswalk::data

#endif  // NFSWALK_TESTS_UNIT_NFSCLIENT_DATA_WRITE_EXPECTATIONS_H_
