#include "io/coalescing.h"

#include <algorithm>

namespace io {

CoalescingPolicy::CoalescingPolicy(const CoalescingOptions& options) noexcept
    : limit_(std::chrono::microseconds(options.limit_us)), adaptive_(options.adaptive) {}

void CoalescingPolicy::on_pass(std::size_t received, TimePoint now) noexcept {
  last_pass_ = now;
  if (!adaptive_) {
    window_ = received > 1 ? limit_ : Duration::zero();
    return;
  }
  measured_ += received;
  const Duration elapsed = now - measured_from_;
  if (elapsed < kMeasuredOver) {
    return;
  }
  const double seconds = std::chrono::duration<double>(elapsed).count();
  const double rate = static_cast<double>(measured_) / seconds;
  measured_from_ = now;
  measured_ = 0;
  packets_per_second_ = (packets_per_second_ + rate) / 2;
  const double limit_seconds = std::chrono::duration<double>(limit_).count();
  if (packets_per_second_ * limit_seconds < kWorthwhile) {
    window_ = Duration::zero();
    return;
  }
  const std::chrono::duration<double> enough(kEnough / packets_per_second_);
  window_ = std::min(limit_, std::chrono::duration_cast<Duration>(enough));
}

}  // namespace io
