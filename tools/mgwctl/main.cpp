// mgwctl: one-shot MGCP commands, raw messages, the status of a gateway, and conversion of
// configuration files, for people and scripts.

#include "tools/mgwctl/answer.h"
#include "tools/mgwctl/convert.h"
#include "tools/mgwctl/drain.h"
#include "tools/mgwctl/exchange.h"
#include "tools/mgwctl/http_client.h"
#include "tools/mgwctl/options.h"
#include "tools/mgwctl/status.h"

#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <variant>

namespace {

using mgwctl::Options;

int fail(const Options& options, const std::string& error) {
  if (options.json) {
    std::cout << mgwctl::error_json(error);
  } else {
    std::cerr << "mgwctl: " << error << '\n';
  }
  return mgwctl::kExitNoAnswer;
}

// Random, so that one invocation's command is never taken for the repetition of another's.
mgcp::TransactionId random_transaction_id() {
  std::random_device device;
  return std::uniform_int_distribution<mgcp::TransactionId>(1, mgcp::kTransactionIdMax)(device);
}

int run_command(const Options& options) {
  const mgcp::TransactionId transaction_id = random_transaction_id();
  const auto message = mgwctl::write_command(options.command, transaction_id);
  if (!message) {
    return fail(options, message.error());
  }
  const auto answer = mgwctl::exchange(options.gateway, *message, transaction_id, options.timeout);
  if (!answer) {
    return fail(options, answer.error());
  }
  std::cout << (options.json ? mgwctl::answer_json(answer->text, answer->round_trip)
                             : mgwctl::answer_text(answer->text));
  return mgwctl::exit_status(answer->text);
}

int run_raw(const Options& options) {
  std::string message = options.raw_message;
  if (message.empty() || message == "-") {
    message.assign(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  }
  const auto answer =
      mgwctl::exchange_raw(options.gateway, mgwctl::normalise_raw(message), options.timeout);
  if (!answer) {
    return fail(options, answer.error());
  }
  std::cout << (options.json ? mgwctl::raw_json(answer->text, answer->round_trip) : answer->text);
  return mgwctl::exit_status(answer->text);
}

int run_status(const Options& options) {
  mgwctl::Status status;
  status.gateway = options.gateway.text();
  const mgcp::TransactionId transaction_id = random_transaction_id();
  const auto message = mgwctl::write_command({}, transaction_id);
  if (const auto answer =
          mgwctl::exchange(options.gateway, message.value(), transaction_id, options.timeout)) {
    status.mgcp_answer = answer->text.substr(0, answer->text.find_first_of("\r\n"));
    status.round_trip = answer->round_trip;
  } else {
    status.mgcp_error = answer.error();
  }
  const auto address = mgwctl::parse_metrics_address(options.metrics);
  const auto metrics =
      address ? mgwctl::http_get(*address, options.timeout)
              : tl::expected<std::string, std::string>(tl::unexpected(address.error()));
  if (metrics) {
    status.metrics_text = *metrics;
  } else {
    status.metrics_error = metrics.error();
  }
  std::cout << (options.json ? mgwctl::status_json(status) : mgwctl::status_text(status));
  return status.mgcp_answer ? mgwctl::kExitGood : mgwctl::kExitNoAnswer;
}

int run_drain(const Options& options) {
  const auto result = options.action == mgwctl::Action::drain
                          ? mgwctl::drain(options.drain, options.timeout)
                          : mgwctl::undrain(options.drain, options.timeout);
  if (!result) {
    return fail(options, result.error());
  }
  std::cout << (options.json ? mgwctl::drain_json(*result) : mgwctl::drain_text(*result));
  return mgwctl::kExitGood;
}

int show_top(const Options& options) {
  mgwctl::TopOptions top = options.top;
  top.metrics = options.metrics;
  top.timeout = options.timeout;
  top.json = options.json;
  return mgwctl::run_top(top);
}

}  // namespace

int main(int count, char** arguments) {
  const auto parsed = mgwctl::parse_command_line(count, arguments);
  if (const int* status = std::get_if<int>(&parsed)) {
    return *status;
  }
  const auto& options = std::get<Options>(parsed);
  switch (options.action) {
    case mgwctl::Action::raw:
      return run_raw(options);
    case mgwctl::Action::status:
      return run_status(options);
    case mgwctl::Action::top:
      return show_top(options);
    case mgwctl::Action::convert:
      return mgwctl::convert_file(options.convert_from, options.convert_to);
    case mgwctl::Action::drain:
    case mgwctl::Action::undrain:
      return run_drain(options);
    case mgwctl::Action::command:
      break;
  }
  return run_command(options);
}
