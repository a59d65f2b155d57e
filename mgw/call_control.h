#pragma once
// The call agent's side of the gateway: MGCP datagrams in, answers out, and between them the
// signalling state and commands to the workers. Owned by the control thread. It neither reads
// sockets nor waits: everything comes in as a call with the time, so a whole gateway runs in a
// simulation.

#include "conf/config.h"
#include "io/log.h"
#include "io/socket_factory.h"
#include "io/time.h"
#include "mgcp/parser.h"
#include "mgcp/transaction_cache.h"
#include "mgw/admission.h"
#include "mgw/agent_limiter.h"
#include "mgw/call_recorder.h"
#include "mgw/change_listener.h"
#include "mgw/command_outcome.h"
#include "mgw/control_counters.h"
#include "mgw/e1_channel.h"
#include "mgw/e1_line_status.h"
#include "mgw/endpoint.h"
#include "mgw/local_media.h"
#include "mgw/media_command.h"
#include "mgw/media_registry.h"
#include "mgw/osmux_control.h"
#include "mgw/random_source.h"
#include "mgw/saved_state.h"
#include "mgw/tap_registry.h"
#include "mgw/trunks.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mgw {

class VirtualE1;

/// Where answers go.
class AgentSender {
 public:
  AgentSender() = default;
  AgentSender(const AgentSender&) = delete;
  AgentSender& operator=(const AgentSender&) = delete;
  AgentSender(AgentSender&&) = delete;
  AgentSender& operator=(AgentSender&&) = delete;
  virtual ~AgentSender() = default;
  /// Sends one datagram to an agent; what can't be sent is lost, the agent will repeat its command.
  virtual void send(const io::SocketAddress& agent, std::string_view datagram) noexcept = 0;
};

/// What call control works with. All must outlive it.
struct CallControlParts {
  const conf::Config& config;
  const io::Clock& clock;
  io::SocketFactory& sockets;
  MediaPlane& media;
  AgentSender& agents;
  RandomSource& random;
  TapRegistry& taps;
  CallRecorder* recorder = nullptr;  ///< null: calls are not recorded
};

/// The options of the virtual trunk, then those of each E1 trunk in the order of its configuration.
[[nodiscard]] std::vector<conf::TrunkOptions> options_by_trunk(const conf::Config& config);

/// The MGCP endpoint manager of the gateway (RFC 3435). Control thread only, but for counters().
class CallControl {
 public:
  explicit CallControl(const CallControlParts& parts);
  CallControl(const CallControl&) = delete;
  CallControl& operator=(const CallControl&) = delete;
  CallControl(CallControl&&) = delete;
  CallControl& operator=(CallControl&&) = delete;
  ~CallControl();

  /// One datagram from `agent`, as it came. Commands are executed at most once; answers go to the
  /// AgentSender now or when the workers have done their part. Call flush() after a burst.
  void on_datagram(const io::SocketAddress& agent, std::string_view datagram);
  /// What worker number `worker` told.
  void on_media_event(std::uint32_t worker, MediaEvent&& event);
  /// Wakes the workers that were given something.
  void flush();
  /// Drops what has been remembered long enough, and brings the gauges up to date. To be called
  /// about once a second.
  void on_tick();

  /// Who is told of responses that agents send (to RSIP of the gateway).
  using ResponseHandler = std::function<void(
      const io::SocketAddress& agent, mgcp::TransactionId transaction_id, mgcp::ResponseCode code)>;
  /// Who hears of agents' responses to our own commands.
  void on_response(ResponseHandler handler) { response_handler_ = std::move(handler); }
  /// Who is told what a connection has counted in all when its worker has handed it back.
  using LegEndHandler = std::function<void(std::uint32_t worker, std::uint32_t slot,
                                           const ConnectionCounters& counters)>;
  /// Who hears of connections that have ended; null: nobody.
  void on_leg_ended(LegEndHandler handler) { leg_end_handler_ = std::move(handler); }

  // --- what an operator may do: call_control_operator.cpp

  /// The configuration has become another: what it says of connections holds for those that are up
  /// as well, addresses and ports for new ones.
  void reconfigured();
  /// Deletes all connections of an endpoint, 1..; nothing happens if there are none.
  void free_endpoint(std::uint32_t number);
  /// Returns the media of all connections of an endpoint to their senders until it is ended or a
  /// command gives the connection a mode; false if the endpoint has no connection.
  [[nodiscard]] bool loop_endpoint(std::uint32_t number, bool on);
  /// Gives a connection a tap, or takes it away; refused with a reason.
  [[nodiscard]] std::optional<mgcp::ProtocolError> tap_connection(std::uint32_t number,
                                                                  std::string_view connection_id,
                                                                  const mgcp::TapParameter& tap);
  /// Deletes all connections of all endpoints.
  void free_all_endpoints();
  /// While draining, endpoints that are free stay so.
  void set_draining(bool on) noexcept { counters_.draining.set(on ? 1 : 0); }
  [[nodiscard]] bool draining() const noexcept { return counters_.draining.value() != 0; }
  /// Told of what the gateway sees of its own load.
  [[nodiscard]] Admission& admission() noexcept { return admission_; }
  /// Endpoints in use.
  [[nodiscard]] std::uint32_t calls() const noexcept;
  /// The name of an endpoint with its domain.
  [[nodiscard]] std::string endpoint_name(std::uint32_t number) const;
  /// Whether the endpoint's trunk has something that carries it.
  [[nodiscard]] bool in_service(std::uint32_t number) const noexcept;
  /// The options of an endpoint's trunk.
  [[nodiscard]] const conf::TrunkOptions& trunk_options(std::uint32_t number) const noexcept;

  // --- calls that outlive the process: call_control_restore.cpp

  /// Who hears of what happens from now on; null: nobody. It must outlive this.
  void listen_with(ChangeListener* listener) noexcept { listener_ = listener; }
  /// Calls `visitor(key, answer, at)` for each answer that may be wanted again.
  template <typename Visitor>
  void visit_answers(Visitor visitor) const {
    cache_.visit_answers(visitor);
  }
  [[nodiscard]] std::uint32_t media_workers() const noexcept {
    return static_cast<std::uint32_t>(workers_.size());
  }
  /// Asks the worker to save where the media of these slots stand; the listener hears of it. False
  /// if it has too much to do. Takes effect with flush().
  [[nodiscard]] bool save_media(std::uint32_t worker, std::vector<std::uint32_t> slots);
  /// Takes over what another process had, before the first command: endpoints, sockets, answers.
  /// Its connections begin to work with start_restored(). What can't be had again is left out,
  /// counted and logged.
  void restore(const SavedState& state);
  /// Gives the restored connections to their workers, which go on where the media of `state` stand.
  /// They work once nothing is pending(). `is_exact` as for load_media().
  void start_restored(const SavedState& state, bool is_exact);
  /// Takes all connections from the workers, without a word to their peers; nothing else is
  /// changed. Done once nothing is pending().
  void take_media_away();
  /// Where the media stand that were taken away, for a record.
  void visit_taken(const std::function<void(std::uint32_t number, std::uint32_t connection_id,
                                            const MediaConnection& media)>& visitor) const;
  /// Gives the workers back what was taken away; the sockets are bound again.
  void give_media_back();

  [[nodiscard]] const ControlCounters& counters() const noexcept { return counters_; }
  /// Commands whose answer waits for a worker.
  [[nodiscard]] std::size_t pending() const noexcept { return pending_.size(); }
  [[nodiscard]] const Trunks& trunks() const noexcept { return trunks_; }
  /// How the lines of the E1 trunks are, in their order; null: a trunk has none.
  [[nodiscard]] const std::vector<std::shared_ptr<const E1LineStatus>>& e1_lines() const noexcept {
    return counters_.e1_lines;
  }
  [[nodiscard]] const OsmuxControl& osmux() const noexcept { return osmux_; }
  /// The connections that the workers have, with their counters.
  [[nodiscard]] const MediaRegistry& media() const noexcept { return registry_; }

 private:
  /// The messages of one datagram, whose answers leave together.
  struct ReplyGroup {
    io::SocketAddress agent;
    std::uint32_t open = 0;  ///< commands not yet answered
    std::string datagram;
  };
  /// Which command an answer belongs to.
  struct Reply {
    mgcp::TransactionKey key;
    mgcp::Verb verb = mgcp::Verb::unknown;
    io::TimePoint started{};
    std::shared_ptr<ReplyGroup> group;           ///< null when the command came alone
    bool remembered = true;                      ///< the transaction cache waits for the answer
    std::optional<std::size_t> trunk = {};       ///< position of the one that the name is on
    std::optional<CommandOutcome> outcome = {};  ///< as far as the code does not say it
  };
  /// What a worker still uses of a removed leg.
  struct LegRemains {
    std::uint32_t worker = 0;
    std::optional<std::uint32_t> slot;  ///< empty when only the sockets were exchanged
    PortPool* ports = nullptr;
    std::uint16_t port = 0;
    std::optional<std::uint8_t> circuit = {};  ///< of Osmux
  };
  /// A command that waits for its workers.
  struct Pending {
    enum class Kind : std::uint8_t { text, deletion, audit };
    std::optional<Reply> reply;  ///< empty for deletions that nobody asked for
    Kind kind = Kind::text;
    std::string text;                                             ///< Kind::text: the whole answer
    std::vector<std::pair<std::string, std::string>> parameters;  ///< Kind::audit
    std::string description;             ///< Kind::audit: the answer's SDP part
    bool wants_statistics = false;       ///< Kind::audit
    bool wants_streams = false;          ///< Kind::audit
    std::uint32_t outstanding = 0;       ///< workers that have not yet answered
    std::vector<std::uint32_t> touched;  ///< endpoints that it has changed
    bool restores = false;               ///< puts all connections of `endpoint` in
    bool takes_away = false;             ///< the removed ones are to come back, perhaps
    std::vector<LegRemains> remains;
    std::vector<LegRemains> on_failure;  ///< given back if the worker could not do it
    std::uint32_t endpoint = 0;          ///< of `created` or `changed`
    std::uint32_t created = 0;           ///< connection id to delete again on failure; 0 = none
    std::unique_ptr<Connection> changed_from;  ///< connection to restore on failure
    std::uint32_t partner = 0;                 ///< connection whose selected codec to restore
    std::size_t partner_codec = 0;
    std::uint64_t partner_command = 0;  ///< its last_command then
    LegKind partner_kind = LegKind::rtp;
    bool opens_osmux = false;  ///< the command has the Osmux device
    int error = 0;
    std::optional<ConnectionCounters> counters;
    std::optional<rtp::StreamList> streams;  ///< Kind::audit
  };
  /// What the command under way is about, as the call agent wrote it; for log lines. Views into its
  /// datagram, set while it is executed.
  struct Subject {
    std::string_view endpoint;
    std::string_view call;
    std::string_view connection;
    mgcp::TransactionId transaction = mgcp::kNoTransactionId;
  };
  /// The same for a command that has waited for its worker.
  struct PendingSubject {
    std::string endpoint;
    std::string call;
    std::string connection;
  };
  /// A field of a log line that is made into text only if the line is wanted.
  struct AddressField {
    const char* key;
    io::SocketAddress address;  ///< family none: left out
  };
  using Error = std::optional<mgcp::ProtocolError>;

  void on_message(const io::SocketAddress& agent, std::string_view message,
                  const std::shared_ptr<ReplyGroup>& group);
  /// A datagram from an agent whose commands are refused.
  void on_refused(const io::SocketAddress& agent, std::string_view datagram);
  void on_response_line(const io::SocketAddress& agent, const mgcp::ResponseLine& response);
  void on_command(const io::SocketAddress& agent, const mgcp::CommandLine& line,
                  const std::shared_ptr<ReplyGroup>& group, AgentVerdict verdict);
  void execute(const mgcp::CommandLine& line, Reply reply);
  /// Reads a command's parameters and does what its `K:` says.
  [[nodiscard]] tl::expected<mgcp::Request, mgcp::ProtocolError> read_parameters(
      const mgcp::CommandLine& line, const Reply& reply);
  [[nodiscard]] bool allowed(const io::SocketAddress& agent) const noexcept;
  /// Whether a message of the agent is to be served.
  [[nodiscard]] AgentVerdict judge(const io::SocketAddress& agent);
  /// Reads the name; that of one endpoint has its number among the Trunks then.
  [[nodiscard]] Error check_name(const mgcp::CommandLine& line, mgcp::EndpointName& name) const;

  void crcx(const mgcp::CommandLine& line, const mgcp::EndpointName& name, Reply reply);
  void mdcx(const mgcp::CommandLine& line, const mgcp::EndpointName& name, Reply reply);
  void dlcx(const mgcp::CommandLine& line, const mgcp::EndpointName& name, Reply reply);
  void dlcx_wildcard(const mgcp::CommandLine& line, const mgcp::EndpointName& name, Reply reply);
  void auep(const mgcp::CommandLine& line, const mgcp::EndpointName& name, Reply reply);
  void aucx(const mgcp::CommandLine& line, const mgcp::EndpointName& name, Reply reply);
  void rsip(const mgcp::CommandLine& line, const mgcp::EndpointName& name, Reply reply);

  /// `reply` learns what the code alone does not say.
  [[nodiscard]] Error admit_crcx(const mgcp::Request& request, std::uint32_t number, Reply& reply);
  /// Refuses a connection for which there is no room by the limits.
  [[nodiscard]] Error check_room(const mgcp::Request& request, std::uint32_t number,
                                 const Connection& connection);
  /// The options of the trunk that the endpoint is on.
  [[nodiscard]] const conf::TrunkOptions& options_of(const Endpoint& endpoint) const noexcept {
    return trunk_options_[endpoint.trunk];
  }
  void apply_request(const mgcp::Request& request, const conf::TrunkOptions& options,
                     Connection& connection) const;
  /// Selects the codecs of `connection` and of its partner; `pending` keeps the partner's old one.
  static void negotiate(Endpoint& endpoint, Connection& connection, Pending& pending);
  [[nodiscard]] std::size_t connections_max(std::uint32_t number) const noexcept;
  /// The connections that a CRCX takes away before it adds its own (force-realloc).
  [[nodiscard]] std::span<const std::unique_ptr<Connection>> in_the_way(
      std::uint32_t number, const mgcp::Request& request);
  void make_way(std::uint32_t number, const mgcp::Request& request);
  void add_connection(std::uint32_t number, const mgcp::Request& request, bool wildcard,
                      std::unique_ptr<Connection> connection, BoundPair bound, Reply reply);
  /// True while a worker exchanges the connection's sockets, which may fail and be undone.
  [[nodiscard]] bool is_rebinding(const Connection& connection) const;
  void modify_connection(std::uint32_t number, const mgcp::Request& request, Connection& current,
                         Reply reply);
  /// Binds the connection's sockets, or sets up its circuit, which has none.
  [[nodiscard]] tl::expected<BoundPair, mgcp::ProtocolError> bind_connection(
      std::uint32_t number, const mgcp::Request& request, Connection& connection,
      const io::SocketAddress& agent);
  /// Where the sockets of `current` are to be when it becomes `next`.
  [[nodiscard]] tl::expected<LocalHost, mgcp::ProtocolError> local_host(
      const Connection& current, const Connection& next, const io::SocketAddress& agent);
  /// Marks the update of `connection` in `command` as what the call agent asked for.
  static void mark_commanded(MediaCommand& command, const mgcp::Request& request,
                             const Connection& connection, const conf::TrunkOptions& options);
  /// Gives `connection` the taps that the request asks for; refused, it is as before.
  [[nodiscard]] Error apply_tap(const mgcp::Request& request, Connection& connection);
  /// Tells the worker if `now` has other taps than `before`, or its socket is elsewhere.
  void append_tap(std::uint32_t worker, const Connection& before, const Connection& now,
                  MediaCommand& command);
  /// Who asked for a tap is told what there is now; nobody else, as not every agent knows of it.
  /// `taps` must outlive the response.
  static void append_tap_texts(const mgcp::Request& request, const std::vector<std::string>& taps,
                               mgcp::Response& response);
  void remove_calls(Trunks::Range endpoints, std::optional<std::string_view> call_id,
                    Pending pending);
  /// The position of the trunk that a name is on.
  [[nodiscard]] std::optional<std::size_t> trunk_of(const mgcp::EndpointName& name) const noexcept;
  [[nodiscard]] std::size_t trunk_of(std::uint32_t number) const noexcept;
  /// Counts a command by whether it is one and whom it is for; null: for nobody that exists.
  void count_command(mgcp::Verb verb, const mgcp::EndpointName* name) noexcept;
  /// Notes which connections the workers have: those that the command of an endpoint's newest
  /// connection installs, then what became of a command.
  void register_installs(std::uint32_t worker, std::uint32_t number, const MediaCommand& command);
  void register_done(std::uint32_t worker, const MediaCommand& command);
  /// Tells the recorder of a connection that is being removed.
  void record_removal(std::uint32_t number, const Connection& connection);
  static void write_ok(std::string& out, mgcp::TransactionId transaction_id);
  [[nodiscard]] std::string describe(const Endpoint& endpoint, const Connection& connection) const;
  [[nodiscard]] std::uint32_t new_connection_id(Endpoint& endpoint);
  [[nodiscard]] std::unique_ptr<RtcpReporting> make_rtcp_reporting();
  [[nodiscard]] static bool keeps_alive(const Connection& connection,
                                        const conf::TrunkOptions& options) noexcept;

  /// `connection` becomes the one that is meant; it stays null if all of the endpoint are.
  [[nodiscard]] static Error check_deletion(const mgcp::Request& request, Endpoint& endpoint,
                                            Connection*& connection, Reply& reply);
  /// Takes one connection out of its endpoint; the endpoint is left to the caller.
  void detach_connection(std::uint32_t number, std::uint32_t id, MediaCommand& command,
                         Pending& pending);
  void remove_connection(std::uint32_t number, std::uint32_t id, MediaCommand& command,
                         Pending& pending);
  void remove_all(std::uint32_t number, MediaCommand& command, Pending& pending);
  /// Removes a connection that has had neither media nor commands for too long.
  void give_up(std::uint32_t number, std::uint32_t id);
  /// Tells the worker of all connections of `endpoint`: their entries, and their legs where the
  /// kind has become another.
  void append_updates(Endpoint& endpoint, MediaCommand& command);
  /// Frees an endpoint without connections, and its sub-slot if it is one of an E1 trunk.
  void release_endpoint(std::uint32_t number, MediaCommand* command, Pending& pending);

  // --- own ports wired to each other: call_control_circles.cpp
  /// A connection with its endpoint.
  struct Wired {
    Endpoint* endpoint = nullptr;
    Connection* connection = nullptr;
  };
  /// The connection whose RTP socket is at `address`, if it is one of ours.
  [[nodiscard]] std::optional<Wired> owner_of(const io::SocketAddress& address);
  /// Whether what the connection sends would come back to it, over sockets of our own only.
  [[nodiscard]] bool comes_back(const Wired& start);
  /// Marks the endpoint's connections that are part of a circle; true if that has changed.
  bool mark_circles(Endpoint& endpoint);
  /// Looks whether circles were opened elsewhere.
  void recheck_circles();

  // --- E1 trunks: call_control_e1.cpp
  /// The line of an E1 trunk.
  struct E1TrunkLine {
    E1Line* line = nullptr;  ///< null: there is none
    std::shared_ptr<E1LineStatus> status;
    E1Forms forms = E1Forms::standard;
    std::uint32_t worker = 0;
    // What operators were told last.
    E1LineState noted = E1LineState::connecting;
    std::uint64_t noted_losses = 0;
  };
  /// Gives each line that there is to its worker.
  void install_e1_lines();
  /// Makes the trunk's line, if it has one, for its worker's command.
  void install_e1_line(const conf::E1Trunk& trunk, const std::shared_ptr<VirtualE1>& virtual_lines,
                       std::vector<std::unique_ptr<MediaCommand>>& commands);
  /// The lowest free endpoint of the trunk that a wildcard names.
  [[nodiscard]] std::optional<std::uint32_t> lowest_free(const mgcp::EndpointName& name) const;
  /// Refuses an endpoint whose sub-slot shares bits with one in use (501).
  [[nodiscard]] Error check_overlap(std::uint32_t number) const;
  /// Refuses what does not go over the sub-slot, and a line that is not there (502).
  [[nodiscard]] Error check_line(const mgcp::Request& request, std::uint32_t number) const;
  /// Tells operators of lines that went or came.
  void note_lines();
  /// Gives an E1 endpoint that has just been claimed its line side, not yet installed.
  void add_line_side(std::uint32_t number, Pending& pending);
  /// Puts the line side of an endpoint's first connection into its command.
  static void install_line_side(const Endpoint& endpoint, MediaCommand& command);
  /// The line follows the codec of the connection.
  static void follow_codec(Endpoint& endpoint);
  /// Where the endpoint's connections are to live.
  [[nodiscard]] std::uint32_t worker_for(std::uint32_t number) const noexcept;

  /// Returns the command's ticket.
  std::uint64_t submit(std::uint32_t worker, std::unique_ptr<MediaCommand> command,
                       Pending pending);
  void submit_removals(std::vector<std::unique_ptr<MediaCommand>> commands, Pending pending);
  void finish(Pending& pending);
  /// Tells the listener of what a command that is done has changed.
  void settle(const Pending& pending);
  /// A command with saved media, or with connections that were taken away, is done.
  void take_saved(std::uint32_t worker, MediaCommand& command, const Pending& pending);
  /// Connections of one endpoint that wait for start_restored().
  struct Restored {
    std::uint32_t number = 0;
    EndpointKey key;
    std::unique_ptr<MediaCommand> command;
    Pending pending;
  };
  /// A connection whose worker does not have it any more.
  struct TakenMedia {
    std::uint32_t worker = 0;
    std::uint32_t slot = 0;
    std::unique_ptr<MediaConnection> media;
  };
  void restore_endpoint(const EndpointKey& key, const SavedEndpoint& saved);
  /// The connection with its sockets; none if they can't be had.
  [[nodiscard]] std::optional<BoundPair> restore_connection(Connection& connection);
  /// Puts the endpoint's connections, made new, into a command.
  void append_restored(std::uint32_t number, std::vector<BoundPair> bound, Restored& restored);
  void undo_restored(Pending& pending);
  /// Adds an X-Mgw-Streams line for each SSRC that the connection received.
  static void append_streams(Pending& pending);
  void undo(Pending& pending);
  void update_gauges() noexcept;
  void give_back(const std::vector<LegRemains>& remains);

  void answer(Reply&& reply, mgcp::ResponseCode code, std::string_view text);
  /// Has the answer written down if it belongs to a command that may have changed something.
  void record_answer(const Reply& reply, mgcp::ResponseCode code, std::string_view text,
                     io::TimePoint at);
  void answer_error(Reply&& reply, const mgcp::ProtocolError& error);
  /// Log lines. What the command under way is about is in them, as far as it is known.
  void log_refused(const Reply& reply, const mgcp::ProtocolError& error) const;
  void log_connection(io::LogAt at, io::LogCategory category, std::uint32_t number,
                      std::uint32_t id, std::string_view words, const AddressField& address = {});
  /// What a command that a worker could not carry out is about.
  [[nodiscard]] PendingSubject subject_of(const Pending& pending);
  /// Tells log and call agent of that.
  void fail(Pending& pending, const PendingSubject& subject);
  void answer_ok(Reply&& reply);
  void deliver(const std::shared_ptr<ReplyGroup>& group, const io::SocketAddress& agent,
               std::string_view text);
  void close_group(ReplyGroup& group);

  /// Where the connection that a CRCX makes would live.
  [[nodiscard]] std::uint32_t worker_of_next(std::uint32_t number, const mgcp::Request& request);
  /// For a further endpoint: worker 0, where the circuits are, if there may be any.
  [[nodiscard]] std::uint32_t least_loaded_worker() const noexcept;
  [[nodiscard]] std::uint32_t take_slot(std::uint32_t worker);

  /// The connections of one worker, as the control thread keeps account of them.
  struct WorkerSlots {
    std::vector<std::uint32_t> free;
    std::uint32_t next = 0;
    std::uint32_t endpoints = 0;
    std::vector<std::pair<std::uint32_t, std::uint32_t>>
        owners;  ///< by slot: endpoint number, connection id
  };

  CallControlParts parts_;
  std::vector<conf::TrunkOptions> trunk_options_;    ///< by Endpoint::trunk
  std::optional<io::SocketAddress> notified_agent_;  ///< heard even if it may give no commands
  mgcp::TransactionCache cache_;
  Trunks trunks_;
  std::vector<E1TrunkLine> e1_lines_;  ///< of the E1 trunks, in their order
  LocalMedia local_media_;
  OsmuxControl osmux_;
  MediaRegistry registry_;
  std::vector<WorkerSlots> workers_;
  std::unordered_map<std::uint64_t, Pending> pending_;
  std::uint64_t next_ticket_ = 1;
  std::string answer_;  // scratch space, keeps its capacity
  Subject subject_;
  EndReason end_reason_ = EndReason::deleted;  ///< of connections that are removed now
  ResponseHandler response_handler_;
  LegEndHandler leg_end_handler_;
  std::set<Endpoint*> circled_;  ///< those with connections in circles
  AgentLimiter agent_limiter_;
  ChangeListener* listener_ = nullptr;
  std::vector<Restored> restored_;
  std::vector<TakenMedia> taken_;
  ControlCounters counters_;
  Admission admission_{parts_.config, counters_.limits};
};

}  // namespace mgw
