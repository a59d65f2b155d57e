// Calls against a gateway that lives in the test: what is set up, what is taken down, what is left
// over when things fail.
#include "tools/rtpload/call_control.h"

#include "mgcp/parser.h"
#include "mgcp/writer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace rtpload;
using namespace std::chrono_literals;

const io::TimePoint kStart = io::TimePoint(1000s);

// Answers as an osmo-mgw of 1.10 does: two connections per endpoint, four digits of ids, no memory
// of transactions.
class FakeGateway {
 public:
  std::size_t endpoints_max = 1000;
  std::set<std::string> refuse;  // "crcx2", "dlcx", "sdp": what shall fail

  [[nodiscard]] std::string answer(std::string_view text) {
    const mgcp::FirstLine first_line = mgcp::parse_first_line(text);
    const auto& line = std::get<mgcp::CommandLine>(first_line);
    const auto request = mgcp::parse_parameters(line).value();
    mgcp::Response response;
    response.transaction_id = request.transaction_id;
    std::string sdp;
    std::string id;
    std::string name;
    if (request.verb == mgcp::Verb::crcx) {
      create(request, response, name, id, sdp);
    } else {
      remove(request, response);
    }
    std::string out;
    mgcp::write_response(out, response);
    return out;
  }

  [[nodiscard]] std::size_t connections() const {
    std::size_t count = 0;
    for (const auto& [name, ids] : endpoints_) {
      count += ids.size();
    }
    return count;
  }
  [[nodiscard]] std::size_t endpoints() const { return endpoints_.size(); }
  [[nodiscard]] std::size_t most_endpoints() const { return most_endpoints_; }

 private:
  void create(const mgcp::Request& request, mgcp::Response& response, std::string& name,
              std::string& id, std::string& sdp) {
    const bool is_first = request.endpoint == "rtpbridge/*@mgw";
    name = is_first ? "rtpbridge/" + std::to_string(++last_endpoint_) + "@mgw"
                    : std::string(request.endpoint);
    CHECK(check_crcx(request) == std::nullopt);
    CHECK(request.sdp->port.value() != 0);
    if (is_first && endpoints_.size() >= endpoints_max) {
      response.code = mgcp::ResponseCode::no_free_endpoint;
      return;
    }
    if (!is_first && refuse.count("crcx2") != 0) {
      response.code = mgcp::ResponseCode::connection_limit;
      return;
    }
    id = std::to_string(++last_connection_);
    endpoints_[name].insert(id);
    most_endpoints_ = std::max(most_endpoints_, endpoints_.size());
    response.endpoint = is_first ? name : std::string_view();
    response.connection_id = id;
    mgcp::SessionDescription description;
    description.address = io::SocketAddress::parse("127.0.0.1", 0);
    description.port = static_cast<std::uint16_t>(4000 + 2 * last_connection_);
    description.codecs = request.sdp->codecs;
    mgcp::write_sdp(sdp, description, id);
    response.sdp = refuse.count("sdp") != 0 ? std::string_view() : std::string_view(sdp);
  }

  void remove(const mgcp::Request& request, mgcp::Response& response) {
    auto found = endpoints_.find(std::string(request.endpoint));
    if (refuse.count("dlcx") != 0 || found == endpoints_.end() ||
        found->second.erase(std::string(request.connection_id.value())) == 0) {
      response.code = mgcp::ResponseCode::incorrect_connection_id;
      return;
    }
    if (found->second.empty()) {
      endpoints_.erase(found);
    }
    response.code = mgcp::ResponseCode::connection_deleted;
    response.statistics = mgcp::ConnectionStatistics{1, 2, 3, 4, -5, 6, std::nullopt};
  }

  std::map<std::string, std::set<std::string>> endpoints_;
  std::uint32_t last_endpoint_ = 0;
  std::uint32_t last_connection_ = 0;
  std::size_t most_endpoints_ = 0;
};

class Fixture {
 public:
  Fixture() {
    options_.codecs.fill(find_codec("AMR-12.2").value());
    options_.in_flight_max = 3;
  }

  CallControl& control() {
    if (!control_) {
      control_.emplace(options_, client_);
      for (std::uint16_t call = 0; call < 10; ++call) {
        const auto local =
            io::SocketAddress::parse("127.0.0.1", static_cast<std::uint16_t>(7000 + 4 * call))
                .value();
        static_cast<void>(control_->add_call(
            local, local.with_port(static_cast<std::uint16_t>(local.port() + 2))));
      }
    }
    return *control_;
  }

  // Lets the gateway answer until nothing is sent any more.
  void exchange(io::TimePoint now = kStart) {
    while (!sent.empty()) {
      most_in_flight = std::max(most_in_flight, sent.size());
      const std::string answer = gateway.answer(take());
      control().on_outcome(client_.on_message(answer, now), now);
    }
  }
  std::string take() {
    std::string text = std::move(sent.front());
    sent.pop_front();
    return text;
  }
  // Time passes without an answer.
  void time_out(io::TimePoint until) {
    agent::Outcome outcome;
    while (client_.on_timer(until, outcome)) {
      control().on_outcome(outcome, until);
    }
  }

  FakeGateway gateway;
  std::deque<std::string> sent;
  std::size_t most_in_flight = 0;

 protected:
  CallOptions options_;
  agent::TransactionClient client_{
      1, {}, [this](std::string_view text) { sent.emplace_back(text); }};
  std::optional<CallControl> control_;
};

}  // namespace

TEST_CASE_FIXTURE(Fixture,
                  "calls get two connections on an endpoint of their own and know where to send") {
  control().set_up(0, 10, kStart);
  CHECK(sent.size() == 3);
  exchange();
  CHECK(control().idle());
  CHECK(most_in_flight == 3);
  CHECK(gateway.endpoints() == 10);
  CHECK(gateway.connections() == 20);
  CHECK(control().counters().established == 10);
  CHECK(control().counters().create_ns.count() == 20);
  std::set<std::uint16_t> ports;
  for (const Call& call : control().calls()) {
    CHECK(call.state == Call::State::established);
    ports.insert(call.legs[0].gateway.port());
    ports.insert(call.legs[1].gateway.port());
  }
  CHECK(ports.size() == 20);

  control().tear_down(0, 10, kStart);
  exchange();
  CHECK(gateway.connections() == 0);
  CHECK(control().counters().released == 10);
  CHECK(control().calls()[4].legs[1].statistics->packets_received == 3);
}

TEST_CASE_FIXTURE(Fixture,
                  "a full gateway fails the calls that don't fit, and the report says why") {
  gateway.endpoints_max = 7;
  control().set_up(0, 10, kStart);
  exchange();
  CHECK(control().idle());
  CHECK(control().counters().established == 7);
  CHECK(control().counters().failed == 3);
  REQUIRE(control().counters().errors.size() == 1);
  CHECK(control().counters().errors.begin()->first.rfind("CRCX: 403", 0) == 0);
  CHECK(control().counters().errors.begin()->second == 3);
}

TEST_CASE_FIXTURE(Fixture,
                  "a call whose second leg or answer fails leaves nothing at the gateway") {
  for (const std::string fault : {"crcx2", "sdp"}) {
    CAPTURE(fault);
    gateway.refuse = {fault};
    control().set_up(0, 1, kStart);
    exchange();
    CHECK(control().idle());
    CHECK(control().calls()[0].state == Call::State::failed);
    CHECK(gateway.connections() == 0);
  }
  CHECK(control().counters().failed == 2);
  CHECK(control().counters().established == 0);
}

TEST_CASE_FIXTURE(Fixture,
                  "a gateway that does not answer fails the call after the last repetition") {
  control().set_up(0, 1, kStart);
  time_out(kStart + 30s);
  CHECK(control().idle());
  CHECK(control().counters().failed == 1);
  CHECK(control().counters().errors.begin()->first.rfind("CRCX: no answer", 0) == 0);
}

TEST_CASE_FIXTURE(Fixture, "a refused DLCX is counted and does not keep the run from ending") {
  control().set_up(0, 2, kStart);
  exchange();
  gateway.refuse = {"dlcx"};
  control().tear_down(0, 2, kStart);
  exchange();
  CHECK(control().idle());
  CHECK(control().counters().delete_failed == 4);
}

TEST_CASE_FIXTURE(Fixture, "calls begin at the given rate, however fast the answers come") {
  options_.calls_per_second = 100;
  control().set_up(0, 10, kStart);
  exchange();
  CHECK(control().counters().established == 1);
  CHECK(control().next_start() == kStart + 10ms);
  control().advance(kStart + 10ms - 1ns);
  CHECK(sent.empty());
  control().advance(kStart + 35ms);
  exchange(kStart + 35ms);
  CHECK(control().counters().established == 4);
  CHECK(control().next_start() == kStart + 40ms);
}

TEST_CASE_FIXTURE(
    Fixture,
    "churning sets up and takes down again and again, and ends at its time with nothing left") {
  control().churn(0, 2, kStart, kStart + 1s);
  io::TimePoint now = kStart;
  for (int step = 0; step < 400; ++step) {
    const std::string answer = gateway.answer(take());
    now = kStart + 1ms * step;
    control().on_outcome(client_.on_message(answer, now), now);
  }
  CHECK(control().counters().established >= 99);
  CHECK(gateway.most_endpoints() <= 2);
  exchange(kStart + 2s);
  CHECK(control().idle());
  control().tear_down(0, 2, kStart + 2s);
  exchange(kStart + 2s);
  CHECK(control().counters().released == control().counters().established);
  CHECK(gateway.connections() == 0);
}

TEST_CASE_FIXTURE(Fixture, "a wildcard CRCX that a gateway ran twice is cleaned up") {
  control().set_up(0, 1, kStart);
  const std::string request = take();
  time_out(kStart + 600ms);  // sent again
  REQUIRE(sent.size() == 1);
  CHECK(take() == request);
  const std::string first = gateway.answer(request);
  const std::string second = gateway.answer(request);
  CHECK(gateway.endpoints() == 2);
  control().on_outcome(client_.on_message(first, kStart + 700ms), kStart + 700ms);
  control().on_outcome(client_.on_message(second, kStart + 700ms), kStart + 700ms);
  control().on_outcome(client_.on_message(first, kStart + 700ms), kStart + 700ms);
  exchange(kStart + 700ms);
  CHECK(gateway.endpoints() == 1);
  CHECK(gateway.connections() == 2);
  CHECK(control().calls()[0].state == Call::State::established);
}

TEST_CASE_FIXTURE(Fixture, "cancelling keeps what was begun and begins nothing more") {
  control().set_up(0, 10, kStart);
  control().cancel();
  exchange();
  CHECK(control().idle());
  CHECK(control().counters().established == 3);
  control().tear_down(0, 10, kStart);
  exchange();
  CHECK(gateway.connections() == 0);
}
