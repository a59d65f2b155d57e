#pragma once
// A set of small numbers that finds its lowest member, or the next one from a start, in a few steps
// however large it is. Endpoints and port pairs are handed out from it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace mgw {

/// A subset of 0 … size-1 as a bitmap with summary levels of 64 to 1: every operation touches at
/// most four words for up to 16 million members. One owner thread.
class FreeSet {
 public:
  /// All of 0 … `size`-1 are members at first.
  explicit FreeSet(std::size_t size);

  /// Membership of a number below the size, in constant time.
  void insert(std::size_t member) noexcept;
  void erase(std::size_t member) noexcept;
  [[nodiscard]] bool contains(std::size_t member) const noexcept;
  /// The lowest member that is at least `from`.
  [[nodiscard]] std::optional<std::size_t> next_from(std::size_t from) const noexcept;
  [[nodiscard]] std::optional<std::size_t> lowest() const noexcept { return next_from(0); }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  using Words = std::vector<std::uint64_t>;

  std::vector<Words>
      levels_;  // levels_[0] holds the members; a set bit above means "not all zero below"
  std::size_t size_;
  std::size_t count_;
};

}  // namespace mgw
