#pragma once
// Some groups of counters as a gateway has them, for tests of their views.

#include "ttcn-compat/counter_history.h"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ttcn_compat_test {

/// A group that owns its counters.
struct SampleGroup {
  ttcn_compat::CounterGroupView view;
  std::vector<ttcn_compat::CounterView> counters;
};

/// Groups whose values the test changes at will.
class SampleCounters {
 public:
  /// A virtual trunk, the general group, one connection and the items of two trunks.
  SampleCounters() {
    add("mgcp", "mgcp general statistics", "mgw:general",
        {{"mgcp:rx_msgs", "total number of MGCP messages received."},
         {"mgcp:rx_msgs_retransmitted", "number of received retransmissions."}});
    add("all_rtp_conn", "aggregated statistics for all rtp connections", "virtual-0:rtp_conn",
        {{"all_rtp:packets_tx", "Total outbound rtp packets."}})
        .trunk = 0;
    add("crcx", "crxc statistics", "virtual-0:crcx",
        {{"crcx:success", "CRCX command processed successfully."},
         {"crcx:bad_action", "bad action in CRCX command."}})
        .trunk = 0;
    add("mdcx", "mdcx statistics", "virtual-0:mdcx",
        {{"crcx:unhandled_param", "unhandled parameter in MDCX command."}})
        .trunk = 0;
    add_connection(0);
    add_items("virtual-0:common", 0);
    add_items("e1-1:common", 1);
  }

  void add_connection(std::uint32_t index) {
    auto& view = add("conn_rtp", "rtp connection statistics", "",
                     {{"rtp:packets_rx", "Inbound rtp packets."}});
    view.index = index;
    view.trunk = 0;
    view.of_connection = true;
  }
  void remove_connection(std::uint32_t index) {
    std::erase_if(groups_, [index](const SampleGroup& group) {
      return group.view.of_connection && group.view.index == index;
    });
  }
  /// The value of a counter, to be changed.
  std::uint64_t& value(std::string_view prefix, std::string_view name, std::uint32_t index = 0) {
    for (SampleGroup& group : groups_) {
      for (ttcn_compat::CounterView& counter : group.counters) {
        if (group.view.prefix == prefix && group.view.index == index && counter.name == name) {
          return counter.value;
        }
      }
    }
    throw std::out_of_range(std::string(name));
  }
  void visit(const ttcn_compat::CounterGroupVisitor& visitor) const {
    for (const SampleGroup& group : groups_) {
      ttcn_compat::CounterGroupView view = group.view;
      view.counters = group.counters;
      visitor(view);
    }
  }
  [[nodiscard]] ttcn_compat::CounterSource source() const {
    return [this](const ttcn_compat::CounterGroupVisitor& visitor) { visit(visitor); };
  }

 private:
  ttcn_compat::CounterGroupView& add(std::string_view prefix, std::string_view description,
                                     std::string name,
                                     std::vector<ttcn_compat::CounterView> counters) {
    SampleGroup& group = groups_.emplace_back();
    group.view.prefix = prefix;
    group.view.description = description;
    group.view.name = std::move(name);
    group.counters = std::move(counters);
    return group.view;
  }
  void add_items(std::string name, std::uint32_t trunk) {
    auto& view = add("trunk", "mgw trunk", std::move(name),
                     {{"endpoints:total", "Number of endpoints that exist on the trunk"},
                      {"endpoints:used", "Number of endpoints in use"}});
    view.kind = ttcn_compat::CounterGroupView::Kind::items;
    view.index = trunk;
    view.trunk = trunk;
  }

  std::vector<SampleGroup> groups_;
};

}  // namespace ttcn_compat_test
