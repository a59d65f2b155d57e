#pragma once
// Something in the simulated world that acts when its time has come: an agent, a peer, a worker.

#include "io/time.h"

namespace sim {

/// Stepped by SimWorld, on its one thread.
class Actor {
 public:
  Actor() = default;
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;
  Actor(Actor&&) = delete;
  Actor& operator=(Actor&&) = delete;
  virtual ~Actor() = default;

  /// Does what is due now; true if there was anything.
  virtual bool act() = 0;
  /// When it has something to do by itself; io::kNever if it only waits for datagrams.
  [[nodiscard]] virtual io::TimePoint next() const = 0;
};

}  // namespace sim
