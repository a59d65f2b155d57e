#pragma once
// What the gateway lets be asked for and changed over CTRL: the counter variables that all Osmocom
// programs have, and variables of its own. Control thread only.

#include "io/time.h"
#include "ttcn-compat/counter_history.h"
#include "ttcn-compat/ctrl_protocol.h"
#include "ttcn-compat/gateway_access.h"

#include <span>
#include <string>
#include <string_view>

namespace ttcn_compat {

/// Where the values come from.
struct CtrlSources {
  GatewayAccess& gateway;
  CounterHistory& history;
  std::string version;      ///< of the gateway, "0.1.0"
  io::TimePoint started{};  ///< when the gateway was
};

/// One of the gateway's own variables.
struct CtrlVariable {
  using Getter = std::string (*)(const CtrlSources&, std::string_view name, io::TimePoint now);
  /// False: the value is none that the variable can have.
  using Setter = bool (*)(CtrlSources&, std::string_view value);
  std::string_view name;  ///< a part in capitals stands for names of that kind
  std::string_view description;
  Getter get = nullptr;
  Setter set = nullptr;  ///< null: read-only
};

/// See above.
class CtrlVariables final : public CtrlSubject {
 public:
  /// What the sources refer to must outlive it.
  explicit CtrlVariables(CtrlSources sources) : sources_(std::move(sources)) {}

  [[nodiscard]] CtrlAnswer get(std::string_view variable, io::TimePoint now) override;
  [[nodiscard]] CtrlAnswer set(std::string_view variable, std::string_view value,
                               io::TimePoint now) override;
  /// The gateway's own variables, as documented in docs/ctrl.md.
  [[nodiscard]] static std::span<const CtrlVariable> table() noexcept;

 private:
  [[nodiscard]] CtrlAnswer rate_counter(std::string_view rest);
  [[nodiscard]] CtrlAnswer stat_item(std::string_view rest);

  CtrlSources sources_;
};

}  // namespace ttcn_compat
