#include "tools/mgwctl/drain.h"

#include "tools/mgwctl/ctrl_client.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

namespace mgwctl {
namespace {

// Between two looks at whether calls are left.
constexpr std::chrono::milliseconds kLookInterval{200};

tl::expected<DrainResult, std::string> wait_until_over(CtrlClient& client, DrainResult result) {
  while (true) {
    const auto calls = client.get("calls");
    if (!calls) {
      // A gateway that ends with its last call ends this connection as well.
      if (client.closed() && result.end != "never") {
        result.calls = "0";
        result.is_over = true;
        return result;
      }
      return tl::unexpected(calls.error());
    }
    result.calls = *calls;
    if (*calls == "0" && result.end == "never") {
      result.is_over = true;
      return result;
    }
    std::this_thread::sleep_for(kLookInterval);
  }
}

}  // namespace

tl::expected<DrainResult, std::string> drain(const DrainOptions& options, io::Duration timeout) {
  auto client = CtrlClient::connect(options.ctrl, timeout);
  if (!client) {
    return tl::unexpected(client.error());
  }
  DrainResult result;
  result.draining = true;
  result.end = "never";
  if (options.stay) {
    if (const auto set = client->set("drain", "1"); !set) {
      return tl::unexpected(set.error());
    }
  } else {
    const auto set =
        client->set("drain.end", options.deadline_s == 0 ? std::string("empty")
                                                         : std::to_string(options.deadline_s));
    if (!set) {
      return tl::unexpected(set.error());
    }
    result.end = *set;
  }
  if (options.wait) {
    return wait_until_over(*client, std::move(result));
  }
  const auto calls = client->get("calls");
  if (!calls) {
    return tl::unexpected(calls.error());
  }
  result.calls = *calls;
  return result;
}

tl::expected<DrainResult, std::string> undrain(const DrainOptions& options, io::Duration timeout) {
  auto client = CtrlClient::connect(options.ctrl, timeout);
  if (!client) {
    return tl::unexpected(client.error());
  }
  if (const auto set = client->set("drain", "0"); !set) {
    return tl::unexpected(set.error());
  }
  const auto calls = client->get("calls");
  if (!calls) {
    return tl::unexpected(calls.error());
  }
  DrainResult result;
  result.calls = *calls;
  return result;
}

std::string drain_text(const DrainResult& result) {
  if (!result.draining) {
    return fmt::format("new calls are taken; {} are up\n", result.calls);
  }
  if (result.is_over) {
    return result.end == "never" ? "drained: no call is left\n"
                                 : "drained: the gateway has ended\n";
  }
  const std::string then = result.end == "never" ? "the gateway stays"
                           : result.end == "empty"
                               ? "the gateway ends with the last one"
                               : fmt::format("they are ended in {} s", result.end);
  return fmt::format("draining: new calls are refused, {} are up; {}\n", result.calls, then);
}

std::string drain_json(const DrainResult& result) {
  return fmt::format(R"({{"draining": {}, "end": "{}", "calls": {}, "over": {}}})"
                     "\n",
                     result.draining, result.end, result.calls, result.is_over);
}

}  // namespace mgwctl
