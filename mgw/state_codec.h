#pragma once
// The state of calls as bytes and back, for the journal and for the successor of a take-over. Types
// name their members to an archive once, and the archive saves or restores them: those of rtp/ in a
// static function visit_state(self, archive), others in a function of that name that is found here.
// Numbers are of variable length (7 bits an octet, the lowest first). Pure, any thread.

#include "io/socket_address.h"
#include "io/time.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace mgw {

/// Something of a type that names its members by itself.
template <typename Value, typename Archive>
concept NamesMembers = requires(Value& value, Archive& archive) {
  std::remove_const_t<Value>::visit_state(value, archive);
};

/// Appends state to a string.
class StateWriter {
 public:
  /// `out` must outlive it.
  explicit StateWriter(std::string& out) noexcept : out_(out) {}

  /// Saves the values, in this order.
  template <typename... Values>
  void operator()(const Values&... values) {
    (put(values), ...);
  }
  /// Saves a value of an enumeration whose last enumerator is `last`.
  template <typename Enum>
  void enumerator(const Enum& value, Enum /*last*/) {
    number(static_cast<std::uint64_t>(value));
  }
  /// Saves a value behind its length, so that readers that know fewer of its members, or more, can
  /// read it all the same: new members are named last.
  template <typename Value>
  void block(const Value& value) {
    const std::size_t start = out_.size();
    out_.append(kBlockLengthBytes, '\0');
    put(value);
    const std::size_t bytes = out_.size() - start - kBlockLengthBytes;
    for (std::size_t i = 0; i < kBlockLengthBytes; ++i) {
      out_[start + i] = static_cast<char>(bytes >> (8 * i) & 0xffU);
    }
  }
  /// Saves bytes behind their length.
  void bytes(std::string_view text) {
    number(text.size());
    out_ += text;
  }
  /// Saves a number.
  void number(std::uint64_t value);

 private:
  friend class StateReader;
  static constexpr std::size_t kBlockLengthBytes = 4;

  template <typename Value>
  void put(const Value& value) {
    if constexpr (NamesMembers<const Value, StateWriter>) {
      Value::visit_state(value, *this);
    } else if constexpr (std::is_unsigned_v<Value>) {
      number(value);
    } else if constexpr (std::is_integral_v<Value>) {
      signed_number(value);
    } else {
      visit_state(value, *this);
    }
  }
  void put(const std::string& text) { bytes(text); }
  void put(const io::SocketAddress& address);
  template <typename Rep, typename Period>
  void put(const std::chrono::duration<Rep, Period>& duration) {
    signed_number(duration.count());
  }
  void put(const io::TimePoint& instant) { signed_number(instant.time_since_epoch().count()); }
  template <typename Value>
  void put(const std::optional<Value>& value) {
    number(value.has_value() ? 1 : 0);
    if (value) {
      put(*value);
    }
  }
  template <typename Value, std::size_t Size>
  void put(const std::array<Value, Size>& values) {
    for (const Value& value : values) {
      put(value);
    }
  }
  template <typename Value>
  void put(const std::vector<Value>& values) {
    number(values.size());
    for (const Value& value : values) {
      put(value);
    }
  }
  template <std::size_t Size>
  void put(const std::bitset<Size>& bits) {
    number(bits.to_ullong());
  }
  void put(char character) { out_ += character; }
  void signed_number(std::int64_t value) {
    number(static_cast<std::uint64_t>(value) << 1U ^ static_cast<std::uint64_t>(value >> 63U));
  }

  std::string& out_;
};

/// Restores state. What can't be read leaves its value as it is; ok() tells.
class StateReader {
 public:
  /// Elements that a list may have; longer ones can't be read.
  static constexpr std::size_t kListMax = 1024;

  /// `bytes` must outlive it.
  explicit StateReader(std::string_view bytes) noexcept : left_(bytes) {}

  /// Restores the values, in this order.
  template <typename... Values>
  void operator()(Values&... values) {
    (get(values), ...);
  }
  /// Restores a value of an enumeration whose last enumerator is `last`.
  template <typename Enum>
  void enumerator(Enum& value, Enum last) {
    if (!wants()) {
      return;
    }
    const std::uint64_t read = number();
    if (read > static_cast<std::uint64_t>(last)) {
      fail();
    } else if (ok_) {
      value = static_cast<Enum>(read);
    }
  }
  /// Restores what StateWriter::block() saved. Members that are not there stay as they are, members
  /// that are not known are skipped.
  template <typename Value>
  void block(Value& value) {
    StateReader inner(take(take_block_length()));
    inner.in_block_ = true;
    if (ok_) {
      inner.get(value);
      ok_ = inner.ok_;
    }
  }
  /// Restores bytes; a view into what is read.
  [[nodiscard]] std::string_view bytes() { return take(number()); }
  /// Restores a number; 0 if there is none.
  [[nodiscard]] std::uint64_t number();

  /// Whether all could be read so far.
  [[nodiscard]] bool ok() const noexcept { return ok_; }
  /// Whether everything has been read.
  [[nodiscard]] bool at_end() const noexcept { return left_.empty(); }
  /// Makes ok() false: what was read means nothing.
  void fail() noexcept {
    ok_ = false;
    left_ = {};
  }

 private:
  template <typename Value>
  void get(Value& value) {
    if (!wants()) {
      return;
    }
    if constexpr (NamesMembers<Value, StateReader>) {
      Value::visit_state(value, *this);
    } else if constexpr (std::is_same_v<Value, bool>) {
      value = number() != 0;
    } else if constexpr (std::is_unsigned_v<Value>) {
      value = static_cast<Value>(number());
    } else if constexpr (std::is_integral_v<Value>) {
      value = static_cast<Value>(signed_number());
    } else {
      visit_state(value, *this);
    }
  }
  void get(std::string& text) {
    if (wants()) {
      text = bytes();
    }
  }
  void get(io::SocketAddress& address);
  template <typename Rep, typename Period>
  void get(std::chrono::duration<Rep, Period>& duration) {
    if (wants()) {
      duration = std::chrono::duration<Rep, Period>(static_cast<Rep>(time_number()));
    }
  }
  void get(io::TimePoint& instant) {
    if (wants()) {
      instant = io::TimePoint(io::Duration(time_number()));
    }
  }
  template <typename Value>
  void get(std::optional<Value>& value) {
    if (!wants()) {
      return;
    }
    if (number() == 0) {
      value.reset();
    } else {
      get(value.emplace());
    }
  }
  template <typename Value, std::size_t Size>
  void get(std::array<Value, Size>& values) {
    for (Value& value : values) {
      get(value);
    }
  }
  template <typename Value>
  void get(std::vector<Value>& values) {
    if (!wants()) {
      return;
    }
    values.clear();
    const std::uint64_t count = number();
    if (count > kListMax) {
      fail();
    }
    for (std::uint64_t i = 0; i < count && ok_; ++i) {
      get(values.emplace_back());
    }
  }
  template <std::size_t Size>
  void get(std::bitset<Size>& bits) {
    if (wants()) {
      bits = std::bitset<Size>(number());
    }
  }
  void get(char& character) {
    if (const std::string_view byte = wants() ? take(1) : std::string_view(); !byte.empty()) {
      character = byte.front();
    }
  }
  /// Whether there is something to be read: at the end of a block the rest stays as it is.
  [[nodiscard]] bool wants() noexcept {
    if (left_.empty() && !in_block_) {
      fail();
    }
    return ok_ && !left_.empty();
  }
  [[nodiscard]] std::string_view take(std::uint64_t size) noexcept;
  [[nodiscard]] std::uint64_t take_block_length() noexcept;
  [[nodiscard]] std::int64_t signed_number() {
    const std::uint64_t value = number();
    return static_cast<std::int64_t>(value >> 1U) ^ -static_cast<std::int64_t>(value & 1U);
  }

  /// Differences of two of them can't overflow.
  [[nodiscard]] std::int64_t time_number() {
    constexpr std::int64_t kTimeMax = std::int64_t{1} << 61U;
    return std::clamp(signed_number(), -kTimeMax, kTimeMax);
  }

  std::string_view left_;
  bool ok_ = true;
  bool in_block_ = false;
};

}  // namespace mgw
