#include "ttcn-compat/command_context.h"

#include "io/assert.h"

namespace ttcn_compat {

CommandResult CommandContext::run(const CommandMatch& match) {
  MGW_ASSERT(match.kind == MatchKind::complete);
  command_ = match.command;
  arguments_ = match.arguments;
  negated_ = match.negated;
  path_.leave_to_node(match.node);
  const CommandResult result = match.command->handler(*this);
  return result == CommandResult::done && edited_ ? hand_over() : result;
}

CommandResult CommandContext::hand_over() {
  if (*edited_ == gateway_->config()) {
    return CommandResult::done;
  }
  const auto outcome = gateway_->reconfigure(std::move(*edited_));
  edited_.reset();
  if (!outcome) {
    return fail(outcome.error());
  }
  for (const std::string& key : outcome->needs_restart) {
    output_.print(
        "% Takes effect when the gateway is started again ({}): write the "
        "configuration to keep it.\n",
        key);
  }
  return CommandResult::done;
}

std::string_view CommandContext::argument(std::size_t index) const {
  return index < arguments_.size() ? arguments_[index] : std::string_view{};
}

std::string CommandContext::keywords() const {
  std::string words(negated_ ? "no" : "");
  for (const Element& element : parse_command_text(command_->text, {})) {
    if (element.is_argument) {
      break;
    }
    words += words.empty() ? "" : " ";
    words += element.alternatives[0].text;
  }
  return words;
}

std::uint64_t CommandContext::number(std::size_t index) const {
  return parse_number(argument(index), UINT64_MAX).value_or(0);
}

CommandResult CommandContext::fail(std::string_view reason) {
  output_.print("% {}\n", reason);
  return CommandResult::failed;
}

const conf::Config& CommandContext::config() const {
  if (file_config_ != nullptr) {
    return *file_config_;
  }
  return edited_ ? *edited_ : gateway_->config();
}

conf::Config& CommandContext::edit() {
  if (file_config_ != nullptr) {
    return *file_config_;
  }
  if (!edited_) {
    edited_ = gateway_->config();
  }
  return *edited_;
}

}  // namespace ttcn_compat
