#pragma once
// Where a session or a configuration file stands: the node and those around it, with what each of
// them is about.

#include "ttcn-compat/command.h"

#include <string>
#include <string_view>
#include <vector>

namespace ttcn_compat {

/// A path from view, enable or config down to the current node. As deep as the tree of nodes.
class NodePath {
 public:
  /// Begins at `root`.
  explicit NodePath(Node root) : steps_{{root, {}}} {}

  [[nodiscard]] Node current() const noexcept { return steps_.back().node; }
  [[nodiscard]] std::size_t depth() const noexcept { return steps_.size(); }
  /// What the current node is about: the number of a trunk, the name of a target.
  [[nodiscard]] const std::string& key() const noexcept { return steps_.back().key; }

  /// Goes into a node below the current one. Into one that is on the path already: what is below
  /// that is left first.
  void enter(Node node, std::string key);
  /// Leaves the current node, unless it is the root.
  void leave();
  /// Leaves nodes until `depth` are left, at least one.
  void leave_to(std::size_t depth);
  /// Leaves nodes until `node` is the current one; the root stays.
  void leave_to_node(Node node);

 private:
  struct Step {
    Node node;
    std::string key;
  };
  std::vector<Step> steps_;
};

}  // namespace ttcn_compat
