#pragma once
// Which taps are permitted, and how many there are.

#include "conf/config.h"
#include "io/time.h"
#include "mgcp/response_code.h"
#include "mgcp/tap_parameter.h"
#include "mgw/capture_writer.h"
#include "mgw/tap.h"

#include <tl/expected.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace mgw {

/// The taps of a gateway. Control thread only. Must outlive call control and the workers.
class TapRegistry {
 public:
  /// What lies between a TimePoint and the time since 1970, now.
  using UnixOffset = std::function<io::Duration()>;

  /// `config` must outlive it.
  TapRegistry(const conf::Config& config, std::uint32_t workers, UnixOffset unix_offset);

  /// Starts the thread that writes files, if files may be written.
  void start();

  /// A connection's taps as `current`, whose RTP socket is `local`, after this parameter. Refused
  /// with 539 if the configuration does not permit it, 400 if there are too many or the file can't
  /// be made; then nothing has changed.
  [[nodiscard]] tl::expected<TapSet, mgcp::ProtocolError> apply(const mgcp::TapParameter& parameter,
                                                                const TapSet& current,
                                                                const io::SocketAddress& local);
  /// What the connection's worker gets; null without taps.
  [[nodiscard]] std::unique_ptr<Tap> make_tap(const TapSet& taps, std::uint32_t worker,
                                              const io::SocketAddress& local);
  /// Without those that a socket at `local` can't send to, as it is of the other address family.
  [[nodiscard]] static TapSet within_family(const TapSet& taps, const io::SocketAddress& local);

  /// Targets in use.
  [[nodiscard]] std::uint32_t active() const noexcept;
  /// The writer of files; null if no files may be written.
  [[nodiscard]] CaptureWriter* writer() noexcept { return writer_.get(); }

 private:
  using Error = std::optional<mgcp::ProtocolError>;

  [[nodiscard]] Error check_address(const io::SocketAddress& target,
                                    const io::SocketAddress& local) const;
  [[nodiscard]] bool is_own_port(const io::SocketAddress& target,
                                 const io::SocketAddress& local) const;
  [[nodiscard]] Error open_capture(std::string_view name, TapTarget& target);

  const conf::Config& config_;
  UnixOffset unix_offset_;
  std::unique_ptr<CaptureWriter> writer_;
  std::shared_ptr<void> places_;  // one reference besides ours for each target
};

}  // namespace mgw
