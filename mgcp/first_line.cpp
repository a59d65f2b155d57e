#include "mgcp/parser.h"
#include "mgcp/text.h"

#include <algorithm>

namespace mgcp {

namespace {

constexpr std::size_t kResponseCodeDigitsMax = 3;

bool is_blank_text(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return text::is_blank(c) || text::is_line_end(c); });
}

/// Where the next separator line (`.`) begins and what follows it; npos if there is none.
struct Separator {
  std::size_t begin = std::string_view::npos;
  std::size_t end = std::string_view::npos;
};

/// Looks at dots only, so that a datagram without piggybacking costs one search.
Separator find_separator(std::string_view text) noexcept {
  for (std::size_t dot = text.find('.'); dot != std::string_view::npos;
       dot = text.find('.', dot + 1)) {
    if (dot > 0 && !text::is_line_end(text[dot - 1])) {
      continue;
    }
    std::size_t end = dot + 1;
    while (end < text.size() && text::is_blank(text[end])) {
      ++end;
    }
    if (end == text.size() || text::is_line_end(text[end])) {
      return {dot, end};
    }
  }
  return {};
}

bool is_verb_text(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return text::is_letter(c) || text::is_digit(c); });
}

Verb find_verb(std::string_view text) noexcept {
  for (const Verb verb : {Verb::crcx, Verb::mdcx, Verb::dlcx, Verb::auep, Verb::aucx, Verb::rqnt,
                          Verb::rsip, Verb::epcf, Verb::ntfy}) {
    if (text::equal_ignoring_case(text, to_text(verb))) {
      return verb;
    }
  }
  return Verb::unknown;
}

FirstLine read_response_line(std::string_view code, std::string_view rest, std::string_view body) {
  const auto id = text::parse_decimal(text::take_token(rest), kTransactionIdMax);
  const auto value = text::parse_decimal(code, 999);
  if (code.size() > kResponseCodeDigitsMax || !value || !id) {
    return Garbage{};
  }
  return ResponseLine{static_cast<ResponseCode>(*value), static_cast<TransactionId>(*id),
                      text::trim(rest), body};
}

}  // namespace

MessageSplitter::MessageSplitter(std::string_view datagram) noexcept : rest_(datagram) {
  while (!rest_.empty() && rest_.back() == '\0') {
    rest_.remove_suffix(1);
  }
  if (rest_.size() < kDatagramBytesMin) {
    rest_ = {};
  }
}

std::optional<std::string_view> MessageSplitter::next() noexcept {
  while (!rest_.empty()) {
    const Separator separator = find_separator(rest_);
    const std::string_view message = rest_.substr(0, separator.begin);
    rest_.remove_prefix(std::min(separator.end, rest_.size()));
    if (is_blank_text(message)) {
      continue;
    }
    if (messages_ == kMessagesPerDatagramMax) {
      truncated_ = true;
      rest_ = {};
      return std::nullopt;
    }
    ++messages_;
    return message;
  }
  return std::nullopt;
}

FirstLine parse_first_line(std::string_view message) noexcept {
  text::LineReader lines(message);
  std::string_view rest;
  std::string_view verb_text;
  while (verb_text.empty()) {
    const auto line = lines.next();
    if (!line) {
      return Garbage{};
    }
    rest = *line;
    verb_text = text::take_token(rest);
  }
  if (std::all_of(verb_text.begin(), verb_text.end(), text::is_digit)) {
    return read_response_line(verb_text, rest, lines.rest());
  }
  if (!is_verb_text(verb_text)) {
    return Garbage{};
  }
  const std::size_t line_bytes = verb_text.size() + rest.size();
  const Verb verb = find_verb(verb_text);
  const auto id = text::parse_decimal(text::take_token(rest), kTransactionIdMax);
  const auto transaction_id = static_cast<TransactionId>(id.value_or(kNoTransactionId));
  const auto error = [&](ResponseCode code, std::string_view reason) -> FirstLine {
    return CommandLineError{{code, reason}, transaction_id, verb};
  };
  if (verb == Verb::unknown) {
    return error(ResponseCode::unknown_command, {});
  }
  if (transaction_id == kNoTransactionId) {
    return error(ResponseCode::protocol_error, "bad transaction id");
  }
  if (line_bytes > kLineBytesMax) {
    return error(ResponseCode::protocol_error, "line too long");
  }
  const std::string_view endpoint = text::take_token(rest);
  const std::string_view protocol = text::take_token(rest);
  const std::string_view version = text::take_token(rest);
  if (version.empty() || !text::equal_ignoring_case(protocol, "MGCP")) {
    return error(ResponseCode::protocol_error, "bad command line");
  }
  if (version != "1.0") {
    return error(ResponseCode::incompatible_version, {});
  }
  return CommandLine{verb, transaction_id, endpoint, text::trim(rest), lines.rest()};
}

}  // namespace mgcp
