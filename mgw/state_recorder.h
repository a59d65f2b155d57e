#pragma once
// Keeps the journal: what call control tells is on record before the answers leave, one write for a
// burst of commands. Now and then it has the workers save where the media stand. Control thread
// only.

#include "io/socket_address.h"
#include "io/time.h"
#include "mgw/call_control.h"
#include "mgw/change_listener.h"
#include "mgw/control_counters.h"
#include "mgw/journal.h"
#include "mgw/saved_state.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mgw {

/// Where sockets are kept while no process has them; does nothing by itself.
class SocketStore {
 public:
  SocketStore() = default;
  SocketStore(const SocketStore&) = delete;
  SocketStore& operator=(const SocketStore&) = delete;
  SocketStore(SocketStore&&) = delete;
  SocketStore& operator=(SocketStore&&) = delete;
  virtual ~SocketStore() = default;
  /// The socket that is bound to the address is to be kept.
  virtual void keep(const io::SocketAddress& local) = 0;
  /// Not any more.
  virtual void let_go(const io::SocketAddress& local) = 0;
};

/// Appends records with all that call control has: endpoints, answers that may be wanted again.
void append_state(std::string& out, const CallControl& control, io::TimePoint now);
/// Appends records with the media that were taken away (CallControl::take_media_away()).
void append_taken_media(std::string& out, const CallControl& control, io::TimePoint now);

/// What can be read of the journal's work. Any thread.
struct JournalCounters {
  io::Counter records;      ///< written
  io::Counter octets;       ///< of them
  io::Counter rewrites;     ///< new files
  io::Counter failures;     ///< writes and rewrites that failed
  io::Counter file_octets;  ///< gauge
};

/// See above. As an AgentSender it holds answers back until they are on record.
class StateRecorder final : public ChangeListener, public AgentSender {
 public:
  /// Media are saved so often, of connections that had any since.
  static constexpr io::Duration kSaveInterval = std::chrono::seconds(1);
  /// Connections whose media a worker saves in one pass: some 100 microseconds.
  static constexpr std::size_t kSavedPerPass = 64;

  /// All must outlive it. `store` may be null.
  StateRecorder(Journal& journal, const io::Clock& clock, AgentSender& agents, SocketStore* store)
      : journal_(journal), clock_(clock), agents_(agents), store_(store) {}

  /// Begins: what `control` has goes into a new file, with the media of `before` for those of its
  /// connections that came from there. Until then answers pass unheld.
  void start(CallControl& control, const SavedState& before);
  /// Whether start() was called and no end().
  [[nodiscard]] bool is_on() const noexcept { return control_ != nullptr; }
  /// Everything is on record; the last record has the media that were taken away, as they were.
  void end();
  /// The calls end with the process: nothing is to be on record, no socket to be kept.
  void discard();
  /// Lets go of the journal, in whose place the successor begins one of its own.
  void abandon() noexcept;
  /// Has media saved, and a new file written where that is due. About once a second.
  void on_tick();

  void endpoint_settled(std::uint32_t number) override;
  void answered(const mgcp::TransactionKey& key, std::string_view text, io::TimePoint at) override;
  void media_saved(std::uint32_t number, std::uint32_t connection_id, std::string&& media) override;
  void saved(std::uint32_t worker) override;
  void commit() override;
  void send(const io::SocketAddress& agent, std::string_view datagram) noexcept override;

  [[nodiscard]] const JournalCounters& counters() const noexcept { return counters_; }

 private:
  /// What is known of a connection that is on record.
  struct Noted {
    std::uint32_t id = 0;
    io::SocketAddress local;    ///< family none: it has no sockets of its own
    std::uint64_t packets = 0;  ///< when its media were saved last
    std::string media;
  };
  /// Connections of a worker whose media are to be saved.
  struct Saving {
    std::vector<std::uint32_t> slots;
    bool is_saving = false;  ///< it has some of them under way
  };
  struct HeldAnswer {
    io::SocketAddress agent;
    std::string datagram;
  };

  void note_endpoint(std::uint32_t number);
  void rewrite();
  void save_media();
  void save_next(std::uint32_t worker);
  void write_failed();
  [[nodiscard]] StateRecordWriter& record();

  Journal& journal_;
  const io::Clock& clock_;
  AgentSender& agents_;
  SocketStore* store_;
  CallControl* control_ = nullptr;
  std::vector<std::uint32_t> settled_;
  std::string bytes_;  // of the record under way
  std::optional<StateRecordWriter> record_;
  std::vector<HeldAnswer> held_;
  std::size_t held_count_ = 0;  // those of held_ that are meant; the others keep their memory
  std::unordered_map<std::uint32_t, std::vector<Noted>> noted_;  // by endpoint
  std::vector<Saving> to_save_;                                  // by worker
  std::uint64_t size_after_rewrite_ = 0;
  bool failing_ = false;
  JournalCounters counters_;
};

}  // namespace mgw
