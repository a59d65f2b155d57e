#pragma once
// Who writes down what call control does, so that the calls outlive the process.

#include "io/time.h"
#include "mgcp/transaction_cache.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mgw {

/// Hears of what changes and of what is answered. Control thread only.
class ChangeListener {
 public:
  ChangeListener() = default;
  ChangeListener(const ChangeListener&) = delete;
  ChangeListener& operator=(const ChangeListener&) = delete;
  ChangeListener(ChangeListener&&) = delete;
  ChangeListener& operator=(ChangeListener&&) = delete;
  virtual ~ChangeListener() = default;

  /// A command that concerns the endpoint is done, workers included; its answer is about to go out.
  virtual void endpoint_settled(std::uint32_t number) = 0;
  /// A command that may have changed something was answered at `at`.
  virtual void answered(const mgcp::TransactionKey& key, std::string_view text,
                        io::TimePoint at) = 0;
  /// The connection's media stand so now (append_media()).
  virtual void media_saved(std::uint32_t number, std::uint32_t connection_id,
                           std::string&& media) = 0;
  /// The worker has saved all that CallControl::save_media() asked it for.
  virtual void saved(std::uint32_t worker) = 0;
  /// A burst has ended: all that was told is to be on record before an answer leaves.
  virtual void commit() = 0;
};

}  // namespace mgw
