#pragma once
// One call with a real recording: played from both sides, compared bit by bit, and written to a
// file on request.

#include "tools/rtpload/options.h"

namespace rtpload {

/// Carries out a run of mode play, prints its report and writes its files. Returns the exit status.
[[nodiscard]] int run_play(const Options& options);

}  // namespace rtpload
