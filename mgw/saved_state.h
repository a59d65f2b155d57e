#pragma once
// What makes the calls go on in another process: the signalling state, the answers that were given,
// and where the media of each connection stand. As a value, and as the records of which the journal
// and the state of a take-over consist. Pure, any thread.
//
// A file is a header and records. Each record is applied whole or not at all; a state is what all
// records up to some point make of an empty one.

#include "io/socket_address.h"
#include "io/time.h"
#include "mgcp/transaction_cache.h"
#include "mgw/endpoint.h"
#include "mgw/media_connection.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mgw {

/// The newest format that is known here. Records whose members were added to at their ends keep it.
inline constexpr std::uint32_t kStateFormat = 1;

/// Which boot of the machine a state is of: with another one its times mean nothing, and its calls
/// are over.
using BootId = std::array<char, 16>;

/// A connection and its media.
struct SavedConnection {
  Connection connection;  ///< without what only its process knows: slot, ports, taps
  std::string media;      ///< of save_media(); empty: nothing is known
};

/// An endpoint in use.
struct SavedEndpoint {
  std::string call_id;
  bool ignore_call_id = false;
  std::vector<SavedConnection> connections;
};

/// An answer that was given.
struct SavedAnswer {
  mgcp::TransactionKey key;
  io::TimePoint at{};
  std::string text;
};

/// See above.
struct SavedState {
  io::TimePoint at{};  ///< of the last record
  std::map<EndpointKey, SavedEndpoint> endpoints;
  std::vector<SavedAnswer> answers;  ///< from the oldest to the newest
  bool is_exact = false;             ///< no packets came and went since the media were saved

  /// How many connections there are.
  [[nodiscard]] std::size_t connections() const noexcept;
};

/// Where a connection's media stand, leg included; an answer to load_media().
[[nodiscard]] std::string save_media(const MediaConnection& media);
/// Appends the same.
void append_media(std::string& out, const MediaConnection& media);
/// Takes over what was saved of a connection that `media` continues, before it is installed. False,
/// and nothing is changed, if it can't be read. `is_exact` false: packets came and went since that
/// nobody knows of.
[[nodiscard]] bool load_media(std::string_view saved, bool is_exact, MediaConnection& media);

/// Makes a record, member by member.
class StateRecordWriter {
 public:
  /// Records longer than this are taken for damaged.
  static constexpr std::size_t kRecordBytesMax = std::size_t{64} * 1024 * 1024;

  /// Begins a record. `out` gets it, and must outlive the writer.
  StateRecordWriter(std::string& out, io::TimePoint at);

  /// The endpoint is in use and has these of its connections; media that were saved of them stay.
  void add_endpoint(const EndpointKey& key, const Endpoint& endpoint);
  /// The endpoint is free.
  void add_free(const EndpointKey& key);
  /// An answer was given.
  void add_answer(const mgcp::TransactionKey& key, io::TimePoint at, std::string_view text);
  /// Where the media of a connection stand, of append_media().
  void add_media(const EndpointKey& key, std::uint32_t connection_id, std::string_view media);
  /// The media are as the process left them: nothing came and went since.
  void mark_exact();
  /// Bytes of the record so far.
  [[nodiscard]] std::size_t size() const noexcept;
  /// Whether nothing was added.
  [[nodiscard]] bool empty() const noexcept;
  /// Ends the record: its length and checksum are known now.
  void finish();

 private:
  std::string& out_;
  std::size_t start_;
  std::size_t content_;
};

/// The bytes with which a file begins.
[[nodiscard]] std::string state_header(const BootId& boot, std::uint32_t format = kStateFormat);
/// Their number.
inline constexpr std::size_t kStateHeaderBytes = 32;

/// What reading a file came to.
enum class ReplayOutcome : std::uint8_t {
  whole,       ///< every byte belongs to a good record
  cut,         ///< the last record is not whole: its writer came no further
  damaged,     ///< a record in it is not what was written; those before it count
  newer,       ///< of a newer format
  other_boot,  ///< of another boot
  foreign,     ///< no state at all
};
/// In words, for logs.
[[nodiscard]] std::string_view to_string(ReplayOutcome outcome) noexcept;

/// See above.
struct Replay {
  ReplayOutcome outcome = ReplayOutcome::whole;
  std::size_t records = 0;     ///< that were applied
  std::size_t good_bytes = 0;  ///< header and those
  SavedState state;
};

/// Reads a file. An empty one has an empty state.
[[nodiscard]] Replay replay_state(std::string_view file, const BootId& boot);
/// Applies records without a header to a state; the same for `good_bytes`.
[[nodiscard]] ReplayOutcome apply_records(std::string_view records, Replay& replay);

/// CRC-32C (Castagnoli, RFC 3720 appendix B.4) of `bytes`.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes) noexcept;

}  // namespace mgw
