#pragma once
// `mgwctl top`: asks a gateway's status page again and again and shows what it says.

#include "io/time.h"
#include "tools/mgwctl/top_screen.h"
#include "tools/mgwctl/top_terminal.h"

#include <string>

namespace mgwctl {

/// How `mgwctl top` was asked for.
struct TopOptions {
  std::string metrics;  ///< where the gateway's metrics are
  io::Duration timeout{};
  io::Duration interval{};
  bool once = false;  ///< one screen as plain text
  bool json = false;  ///< one JSON object instead: overview and calls
  TopChoice choice;
};

/// What a key does to the choice; true: end. Pure.
[[nodiscard]] bool apply_key(const TopEvent& event, const ListedCalls& listed, TopSize size,
                             TopChoice& choice);

/// Runs until the viewer ends it. The exit status.
[[nodiscard]] int run_top(const TopOptions& options);

}  // namespace mgwctl
