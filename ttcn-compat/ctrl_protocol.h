#pragma once
// The CTRL interface of Osmocom programs on one TCP connection: IPA framing (16-bit length of what
// follows the stream identifier, then that identifier), and in it GET and SET requests as text.
// Bytes in, bytes out; control thread only.

#include "io/time.h"

#include <tl/expected.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ttcn_compat {

/// What a GET or SET is answered with: the value, or the text of an ERROR.
using CtrlAnswer = tl::expected<std::string, std::string>;

/// What can be asked for and changed over CTRL.
class CtrlSubject {
 public:
  CtrlSubject() = default;
  CtrlSubject(const CtrlSubject&) = delete;
  CtrlSubject& operator=(const CtrlSubject&) = delete;
  CtrlSubject(CtrlSubject&&) = delete;
  CtrlSubject& operator=(CtrlSubject&&) = delete;
  virtual ~CtrlSubject() = default;

  /// The variable's value. Its name has letters, digits and ".:-_@" only.
  [[nodiscard]] virtual CtrlAnswer get(std::string_view variable, io::TimePoint now) = 0;
  /// Gives the variable a value; the answer is the value that it has then.
  [[nodiscard]] virtual CtrlAnswer set(std::string_view variable, std::string_view value,
                                       io::TimePoint now) = 0;
};

/// The answer to the text of one request; empty if there is none.
[[nodiscard]] std::string answer_ctrl_request(std::string_view request, CtrlSubject& subject,
                                              io::TimePoint now);

/// Appends `text` as a frame of CTRL; a text that is longer than a frame can be is cut.
void append_ctrl_frame(std::string& out, std::string_view text);

/// One connection. CTRL requests are answered, as are the ping and identity acknowledgement of the
/// IPA's own protocol; other streams are ignored.
class CtrlSession {
 public:
  /// Bytes of a request. Variables have some 60, and nothing else is of any use.
  static constexpr std::size_t kRequestBytesMax = 4096;

  /// The subject must outlive it.
  explicit CtrlSession(CtrlSubject& subject) noexcept : subject_(subject) {}

  /// Takes from what was received, cut anywhere, up to the first request, and appends what is to be
  /// sent to `out`; the rest of `bytes` is for the next call, which is to come when the answer has
  /// been sent: a request may cost a walk over all connections, and others wait meanwhile. False:
  /// the peer sends longer frames than it may, and the connection is to be closed.
  [[nodiscard]] bool receive(std::string_view& bytes, io::TimePoint now, std::string& out);

 private:
  void on_frame(std::uint8_t stream, std::string_view payload, io::TimePoint now, std::string& out);

  CtrlSubject& subject_;
  std::string pending_;  // the beginning of a frame: at most a whole one and its head
};

}  // namespace ttcn_compat
