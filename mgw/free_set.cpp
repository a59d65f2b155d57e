#include "mgw/free_set.h"

#include "io/assert.h"

#include <bit>

namespace mgw {

namespace {

constexpr std::size_t kBits = 64;

constexpr std::uint64_t bit(std::size_t position) {
  return std::uint64_t{1} << (position % kBits);
}

}  // namespace

FreeSet::FreeSet(std::size_t size) : size_(size), count_(size) {
  std::size_t members = size;
  do {
    Words words((members + kBits - 1) / kBits, ~std::uint64_t{0});
    if (members % kBits != 0) {
      words.back() = bit(members) - 1;
    }
    members = words.size();
    levels_.push_back(std::move(words));
  } while (members > 1);
}

void FreeSet::insert(std::size_t member) noexcept {
  MGW_ASSERT(member < size_);
  if (contains(member)) {
    return;
  }
  ++count_;
  for (Words& words : levels_) {
    words[member / kBits] |= bit(member);
    member /= kBits;
  }
}

void FreeSet::erase(std::size_t member) noexcept {
  MGW_ASSERT(member < size_);
  if (!contains(member)) {
    return;
  }
  --count_;
  for (Words& words : levels_) {
    words[member / kBits] &= ~bit(member);
    if (words[member / kBits] != 0) {
      return;
    }
    member /= kBits;
  }
}

bool FreeSet::contains(std::size_t member) const noexcept {
  return member < size_ && (levels_[0][member / kBits] & bit(member)) != 0;
}

std::optional<std::size_t> FreeSet::next_from(std::size_t from) const noexcept {
  std::size_t level = 0;
  std::size_t position = from;
  for (;; ++level,
          position = position / kBits + 1) {  // up, until a word has a bit at or after position
    if (level == levels_.size() || position / kBits >= levels_[level].size()) {
      return std::nullopt;
    }
    const std::uint64_t rest = levels_[level][position / kBits] & ~(bit(position) - 1);
    if (rest != 0) {
      position = position / kBits * kBits + static_cast<std::size_t>(std::countr_zero(rest));
      break;
    }
  }
  for (; level > 0; --level) {  // down, to that word's lowest member
    position =
        position * kBits + static_cast<std::size_t>(std::countr_zero(levels_[level - 1][position]));
  }
  return position;
}

}  // namespace mgw
