#pragma once
// Where the control thread puts what it has seen, and others ask for it. Calls are sampled only
// while somebody asks.

#include "io/time.h"
#include "mgw/gateway_snapshot.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

namespace mgw {

/// Any thread, but for what is said.
class SnapshotBoard {
 public:
  /// The board's answers are not older than that, as long as the control thread keeps up.
  static constexpr std::chrono::milliseconds kAgeMax{1500};
  /// So long after the last question nobody is taken to look any more.
  static constexpr std::chrono::seconds kAttention{4};

  /// `on_asked` gets the control thread to take a sample soon; called on the thread that asks.
  explicit SnapshotBoard(std::function<void()> on_asked) : on_asked_(std::move(on_asked)) {}

  /// The latest snapshot with its calls, or null if there is none that is fresh: one has been asked
  /// for then, and on_published() tells when to ask again.
  [[nodiscard]] std::shared_ptr<const GatewaySnapshot> ask(io::TimePoint now);
  /// The latest, however old and with or without calls; null before the first.
  [[nodiscard]] std::shared_ptr<const GatewaySnapshot> latest() const;
  /// Whether calls are wanted.
  [[nodiscard]] bool is_watched(io::TimePoint now) const noexcept;

  /// Control thread only.
  void publish(std::shared_ptr<const GatewaySnapshot> snapshot);
  /// Called with each publication, on the control thread; null: nobody is. Control thread only.
  void on_published(std::function<void()> handler);

 private:
  std::function<void()> on_asked_;
  std::atomic<io::Duration::rep> asked_at_{0};  // 0: never
  mutable std::mutex mutex_;                    // guards what follows, held for a copy of a pointer
  std::shared_ptr<const GatewaySnapshot> latest_;
  std::function<void()> on_published_;  // control thread
};

}  // namespace mgw
