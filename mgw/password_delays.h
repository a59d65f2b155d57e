#pragma once
// Whoever tries passwords waits longer from one to the next, also over new connections.

#include "io/time.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <string>

namespace mgw {

/// By host. Control thread only.
class PasswordDelays {
 public:
  /// The first wrong password costs this, each further one the double.
  static constexpr io::Duration kFirst = std::chrono::seconds(1);
  static constexpr io::Duration kLongest = std::chrono::seconds(60);
  /// A host that tried nothing for so long begins anew.
  static constexpr io::Duration kForgottenAfter = std::chrono::minutes(10);
  /// Hosts that are remembered; with one more, the one whose delay ends first is forgotten.
  static constexpr std::size_t kHostsMax = 256;

  /// A wrong password came from there; when the next one is heard.
  io::TimePoint note(const std::string& host, io::TimePoint now) {
    std::erase_if(hosts_,
                  [now](const auto& entry) { return entry.second.until + kForgottenAfter <= now; });
    if (hosts_.size() >= kHostsMax && !hosts_.contains(host)) {
      hosts_.erase(std::min_element(hosts_.begin(), hosts_.end(), [](const auto& a, const auto& b) {
        return a.second.until < b.second.until;
      }));
    }
    Host& tried = hosts_[host];
    tried.delay = std::clamp(2 * tried.delay, kFirst, kLongest);
    // Tries over several connections at once wait one after the other.
    tried.until = std::min(std::max(tried.until, now) + tried.delay, now + kLongest);
    return tried.until;
  }
  /// Until when nothing is heard from there.
  [[nodiscard]] io::TimePoint until(const std::string& host) const {
    const auto tried = hosts_.find(host);
    return tried == hosts_.end() ? io::TimePoint() : tried->second.until;
  }
  /// Whether somebody waits, or has waited until a moment ago.
  [[nodiscard]] bool any(io::TimePoint now) const {
    return std::ranges::any_of(hosts_, [now](const auto& entry) {
      return entry.second.until + std::chrono::seconds(2) > now;
    });
  }

 private:
  struct Host {
    io::Duration delay{};
    io::TimePoint until{};
  };
  std::map<std::string, Host> hosts_;
};

}  // namespace mgw
