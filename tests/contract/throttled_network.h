#pragma once
// A loopback interface so slow that sockets with small send buffers really block.

#include <string>

namespace contract {

/// Puts the calling thread into a network namespace of its own, whose loopback interface passes
/// 250,000 bytes per second, until it is destroyed. Needs the right to make namespaces and tc(8);
/// problem() says what was missing.
class ThrottledNetwork {
 public:
  ThrottledNetwork();
  ThrottledNetwork(const ThrottledNetwork&) = delete;
  ThrottledNetwork& operator=(const ThrottledNetwork&) = delete;
  ThrottledNetwork(ThrottledNetwork&&) = delete;
  ThrottledNetwork& operator=(ThrottledNetwork&&) = delete;
  ~ThrottledNetwork();

  /// Empty if the network is there.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

 private:
  int previous_ = -1;
  std::string problem_;
};

}  // namespace contract
