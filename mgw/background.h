#pragma once
// Running in the background (option -D).

namespace mgw {

/// The caller's terminal gets its prompt back when the gateway is up, not before: the first process
/// waits for the second one, which becomes the gateway. Main thread, before there are others.
class Background {
 public:
  /// Forks. Only the new process returns; the first one ends with status 0 when the other calls
  /// ready(), or with the other's exit status if it ends before. Throws std::runtime_error if there
  /// can be no further process.
  Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  Background(Background&&) = delete;
  Background& operator=(Background&&) = delete;
  ~Background();

  /// All sockets are open: the caller need not wait any longer. Detaches from the terminal.
  void ready() noexcept;

 private:
  int pipe_ = -1;
};

}  // namespace mgw
