#include "mgw/virtual_e1.h"

#include <utility>

namespace mgw {

namespace {

constexpr std::uint32_t kMillion = 1'000'000;

/// The next of a linear congruential sequence (Knuth's MMIX); its upper half is good enough to
/// scatter errors.
std::uint32_t next_random(std::uint64_t& state) noexcept {
  state = state * 6364136223846793005U + 1442695040888963407U;
  return static_cast<std::uint32_t>(state >> 32U);
}

}  // namespace

class VirtualE1::Driver final : public E1Driver {
 public:
  Driver(std::shared_ptr<VirtualE1> lines, std::size_t line) noexcept
      : lines_(std::move(lines)), line_(line) {}

  [[nodiscard]] io::Duration interval() const noexcept override { return kE1BlockTime; }
  void open(std::uint8_t timeslot) noexcept override {
    lines_->at(line_, timeslot) = {};
    lines_->at(line_, timeslot).open = true;
  }
  void close(std::uint8_t timeslot) noexcept override { lines_->at(line_, timeslot) = {}; }

  [[nodiscard]] bool receive(std::uint8_t timeslot, E1Block& block) noexcept override {
    Timeslot& own = lines_->at(line_, timeslot);
    if (std::exchange(own.taken, !own.taken)) {
      return false;
    }
    if (std::exchange(own.has_waiting, false)) {
      block = own.waiting;
    } else {
      block.fill(rtp::kIdleOctet);
    }
    return true;
  }

  void transmit(std::uint8_t timeslot, const E1Block& block) noexcept override {
    Timeslot& far = lines_->far_end(line_, timeslot);
    if (!far.open) {
      return;
    }
    far.waiting = block;
    lines_->damage(far.waiting);
    far.has_waiting = true;
  }

 private:
  std::shared_ptr<VirtualE1> lines_;
  std::size_t line_;
};

VirtualE1::VirtualE1(std::size_t lines, conf::E1Wiring wiring, std::uint32_t bit_errors_ppm)
    : lines_(lines), wiring_(wiring), bit_errors_ppm_(bit_errors_ppm) {}

std::unique_ptr<E1Driver> VirtualE1::make_driver(std::shared_ptr<VirtualE1> lines,
                                                 std::size_t line) {
  return std::make_unique<Driver>(std::move(lines), line);
}

VirtualE1::Timeslot& VirtualE1::far_end(std::size_t line, std::uint8_t timeslot) noexcept {
  if (wiring_ == conf::E1Wiring::timeslot_pairs && timeslot < kE1Timeslots - 1) {
    return at(line, static_cast<std::uint8_t>(((timeslot - 1U) ^ 1U) + 1U));  // 31 has no partner
  }
  const std::size_t partner = line ^ 1U;
  if (wiring_ == conf::E1Wiring::line_pairs && partner < lines_.size()) {
    return at(partner, timeslot);
  }
  return at(line, timeslot);
}

void VirtualE1::damage(E1Block& block) noexcept {
  if (bit_errors_ppm_ == 0) {
    return;
  }
  for (std::byte& octet : block) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      if (next_random(random_) % kMillion < bit_errors_ppm_) {
        octet ^= std::byte{1} << bit;
      }
    }
  }
}

}  // namespace mgw
