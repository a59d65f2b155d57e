#include "ttcn-compat/node_path.h"

#include <algorithm>
#include <utility>

namespace ttcn_compat {

void NodePath::enter(Node node, std::string key) {
  const auto same = std::ranges::find(steps_, node, &Step::node);
  steps_.erase(same, steps_.end());
  steps_.push_back({node, std::move(key)});
}

void NodePath::leave() {
  leave_to(steps_.size() - 1);
}

void NodePath::leave_to(std::size_t depth) {
  depth = std::max<std::size_t>(depth, 1);
  if (depth < steps_.size()) {
    steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(depth), steps_.end());
  }
}

void NodePath::leave_to_node(Node node) {
  while (steps_.size() > 1 && steps_.back().node != node) {
    steps_.pop_back();
  }
}

}  // namespace ttcn_compat
