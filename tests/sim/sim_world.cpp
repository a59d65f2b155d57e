#include "tests/sim/sim_world.h"

#include "io/assert.h"
#include "io/log.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <numeric>

namespace sim {

namespace {

using namespace std::chrono_literals;

/// Virtual time begins on 1 January 2020, for capture files.
constexpr auto kUnixOffset = std::chrono::seconds(1'577'836'800);

/// Rounds of all actors at one instant; more would mean that somebody never comes to rest.
constexpr int kRoundsMax = 100'000;

/// What gateways log about their calls would drown what tests say.
void log_errors_only() {
  io::LogOptions options;
  options.level = io::LogLevel::error;
  static const bool done = (io::start_logging(options), true);
  static_cast<void>(done);
}

}  // namespace

conf::Config small_config() {
  conf::Config config;
  config.mgcp.bind = kGatewayHost;
  config.rtp.bind = kGatewayHost;
  config.rtp.port_min = 4000;
  config.rtp.port_max = 4199;
  config.endpoints.count = 16;
  config.mgcp.transactions_max = 4096;
  config.endpoints.options.keep_alive.mode = conf::KeepAlive::Mode::off;
  return config;
}

io::SocketAddress address(std::string_view host, std::uint16_t port) {
  const auto parsed = io::SocketAddress::parse(host, port);
  MGW_ASSERT(parsed);
  return *parsed;
}

SimWorld::SimWorld(const conf::Config& config, const WorldOptions& options)
    : config_(config),
      network_(clock_, options.seed * 4 + 1),
      random_(options.seed * 4 + 2),
      mgcp_address_(address(kGatewayHost, 2427)),
      mgcp_socket_(network_, mgcp_address_),
      sender_(mgcp_socket_),
      gateway_random_(options.seed * 4 + 3),
      sockets_(network_, address(kGatewayHost, 0), address(kGatewayHost6, 0)),
      taps_(config_, options.plane.workers, [] { return io::Duration(kUnixOffset); }),
      plane_(network_, options.seed * 4 + 4, options.plane),
      control_(std::make_unique<mgw::CallControl>(mgw::CallControlParts{
          config_, clock_, sockets_, plane_, sender_, gateway_random_, taps_})),
      next_tick_(clock_.now() + 1s) {
  log_errors_only();
  network_.default_link().delay = 1ms;
  if (options.kernel_path == KernelHook::none) {
    return;
  }
  kernel_path_ =
      std::make_unique<KernelPathModel>(network_, options.kernel_path, address(kGatewayHost, 0),
                                        address(kGatewayHost6, 0), plane_.workers());
  for (std::uint32_t worker = 0; worker < plane_.workers(); ++worker) {
    plane_.worker(worker).use_kernel_path(kernel_path_->make_table(worker),
                                          {config_.rtp.dscp, config_.rtp.socket_priority});
  }
}

SimWorld::~SimWorld() {
  if (std::uncaught_exceptions() == 0) {
    finish();
  }
}

CallAgent& SimWorld::add_agent() {
  const auto number = agents_.size() + 1;
  const auto local = address(fmt::format("198.51.100.{}", number), 2727);
  return *agents_.emplace_back(std::make_unique<CallAgent>(network_, trace_, local, mgcp_address_));
}

RtpPeer& SimWorld::add_peer(io::AddressFamily family) {
  const auto number = peers_.size() + 1;
  const bool ipv6 = family == io::AddressFamily::ipv6;
  return add_peer_at(address(ipv6 ? fmt::format("2001:db8::1:{:x}", number)
                                  : fmt::format("203.0.{}.{}", number / 200, 1 + number % 200),
                             6000));
}

RtpPeer& SimWorld::add_peer_at(const io::SocketAddress& local) {
  const auto number = static_cast<std::uint32_t>(peers_.size() + 1);
  return *peers_.emplace_back(std::make_unique<RtpPeer>(network_, trace_, local, number));
}

bool SimWorld::step_control() {
  bool busy = plane_.take_events([this](std::uint32_t worker, mgw::MediaEvent&& event) {
    trace_.add(static_cast<std::uint64_t>(event.kind) << 32U | event.slot);
    control_->on_media_event(worker, std::move(event));
  });
  while (const auto datagram = mgcp_socket_.receive()) {
    busy = true;
    trace_.add(*datagram, clock_.now());
    control_->on_datagram(datagram->source, {reinterpret_cast<const char*>(datagram->bytes.data()),
                                             datagram->bytes.size()});
  }
  if (next_tick_ <= clock_.now()) {
    busy = true;
    next_tick_ += 1s;
    control_->on_tick();
  }
  if (busy) {
    control_->flush();
  }
  return busy;
}

bool SimWorld::act_once(std::size_t actor) {
  if (actor == 0) {
    return step_control();
  }
  actor -= 1;
  if (actor < plane_.workers()) {
    return plane_.step(static_cast<std::uint32_t>(actor));
  }
  actor -= plane_.workers();
  if (actor < agents_.size()) {
    return agents_[actor]->act();
  }
  return peers_[actor - agents_.size()]->act();
}

bool SimWorld::act() {
  order_.resize(1 + plane_.workers() + agents_.size() + peers_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  for (std::size_t i = order_.size(); i > 1; --i) {
    std::swap(order_[i - 1], order_[random_.below(i)]);
  }
  bool busy = false;
  for (const std::size_t actor : order_) {
    busy = act_once(actor) || busy;
  }
  return busy;
}

void SimWorld::advance(io::TimePoint limit) {
  io::TimePoint next = std::min({limit, network_.next_delivery(), plane_.next(), next_tick_});
  for (const auto& agent : agents_) {
    next = std::min(next, agent->next());
  }
  for (const auto& peer : peers_) {
    next = std::min(next, peer->next());
  }
  clock_.advance_to(next);
}

bool SimWorld::run_until(const std::function<bool()>& condition, io::Duration limit) {
  const io::TimePoint end = clock_.now() + limit;
  for (;;) {
    int rounds = 0;
    while (act()) {
      MGW_ASSERT(++rounds < kRoundsMax);
    }
    if (condition()) {
      return true;
    }
    if (clock_.now() >= end) {
      return false;
    }
    advance(end);
  }
}

void SimWorld::run_for(io::Duration duration) {
  run_until([] { return false; }, duration);
}

void SimWorld::settle() {
  run_until(
      [this] {
        return control_->pending() == 0 && plane_.under_way() == 0 && network_.in_flight() == 0;
      },
      30s);
}

Answer SimWorld::command(CallAgent& agent, std::string_view verb, std::string_view endpoint,
                         std::string_view body) {
  const std::uint32_t id = agent.start(verb, endpoint, body);
  run_until([&] { return agent.answer(id) != nullptr; }, 30s);
  return agent.answer(id) != nullptr ? *agent.answer(id) : Answer();
}

void SimWorld::finish() {
  if (finished_) {
    return;
  }
  finished_ = true;
  network_.drop_if({});
  for (const auto& peer : peers_) {
    peer->stop();
  }
  for (const auto& agent : agents_) {
    agent->give_up();
  }
  settle();
  std::string text = fmt::format("DLCX 999999999 rtpbridge/*@{} MGCP 1.0\r\n",
                                 config_.mgcp.domain == "*" ? "mgw" : config_.mgcp.domain);
  for (const conf::E1Trunk& trunk : config_.e1.all_trunks()) {
    text += fmt::format(".\r\nDLCX {} ds/e1-{}/*@{} MGCP 1.0\r\n", 999999900 + trunk.trunk,
                        trunk.trunk, config_.mgcp.domain == "*" ? "mgw" : config_.mgcp.domain);
  }
  const auto allowed = config_.mgcp.allow.empty();
  control_->on_datagram(allowed ? address("198.51.100.250", 2727) : agents_.at(0)->local(), text);
  control_->flush();
  run_for(2s);
  settle();
  check_end();
}

void SimWorld::check_end() {
  CHECK(control_->pending() == 0);
  CHECK(endpoints_used() == 0);
  CHECK(connections() == 0);
  CHECK(ports_used() == 0);
  CHECK(control_->osmux().used() == 0);
  CHECK(gateway_sockets() == control_->osmux().sockets());
  CHECK(plane_.imbalances() == 0);
  CHECK(taps_.active() == 0);
  for (std::uint32_t worker = 0; worker < plane_.workers(); ++worker) {
    CHECK(balances(plane_.counters(worker)));
    CHECK(plane_.counters(worker).connections.value() == 0);
    CHECK(plane_.backend(worker).sockets() ==
          (worker == mgw::OsmuxControl::kWorker ? control_->osmux().sockets() : 0));
    CHECK(plane_.counters(worker).osmux.circuits.value() == 0);
    CHECK(plane_.counters(worker).osmux.links.value() == 0);
    // What the last pass handed out stays with the backend until the next one.
    plane_.backend(worker).faults().starved = false;
    static_cast<void>(plane_.backend(worker).pass(clock_.now()));
    CHECK(plane_.pool(worker).available() == plane_.pool(worker).slots());
  }
  CHECK((kernel_path_ == nullptr || kernel_path_->bound() == 0));
  for (const auto& agent : agents_) {
    CHECK(agent->contradictions() == 0);
  }
  const io::SimNetworkCounters& wire = network_.counters();
  CHECK(wire.sent + wire.duplicated == wire.delivered + wire.lost + wire.unreachable +
                                           wire.overflowed + wire.taken + network_.in_flight());
}

std::uint64_t SimWorld::trace_hash() const {
  Trace all = trace_;
  for (std::uint32_t worker = 0; worker < plane_.workers(); ++worker) {
    all.add(plane_.counters(worker).received.value());
    all.add(plane_.counters(worker).sent.value());
  }
  all.add(dropped());
  all.add(network_.counters().sent);
  return all.hash();
}

std::uint64_t SimWorld::dropped(mgw::DropCause cause) const {
  std::uint64_t sum = 0;
  for (std::uint32_t worker = 0; worker < plane_.workers(); ++worker) {
    sum += plane_.counters(worker).dropped[static_cast<std::size_t>(cause)].value();
  }
  return sum;
}

std::uint64_t SimWorld::dropped() const {
  std::uint64_t sum = 0;
  for (std::size_t cause = 0; cause < mgw::kDropCauseCount; ++cause) {
    sum += dropped(static_cast<mgw::DropCause>(cause));
  }
  return sum;
}

std::uint64_t SimWorld::endpoints_used() const {
  return control_->trunks().virtual_used();
}

std::uint64_t SimWorld::connections() const {
  return control_->counters().connections.value();
}

std::uint64_t SimWorld::ports_used() const {
  control_->on_tick();
  return control_->counters().ports_used.value();
}

std::size_t SimWorld::gateway_sockets() const {
  // All sockets of the world but those of the agents, the peers (two each) and the MGCP socket.
  return network_.sockets() - agents_.size() - 2 * peers_.size() - 1;
}

std::uint64_t SimWorld::answers(mgcp::Verb verb, int code) const {
  const auto& codes = mgw::TransactionCounters::kCodes;
  const auto found = std::find(codes.begin(), codes.end(), code);
  MGW_ASSERT(found != codes.end());
  return control_->counters()
      .transactions
      .answers[static_cast<std::size_t>(verb)][static_cast<std::size_t>(found - codes.begin())]
      .value();
}

}  // namespace sim
