#include "ttcn-compat/command_grammar.h"

#include "io/socket_address.h"

#include <algorithm>
#include <charconv>

namespace ttcn_compat {

namespace {

constexpr std::string_view kBlanks = " \t";

bool is_hexadecimal(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool is_hexadecimal_number(std::string_view word) noexcept {
  if (word.starts_with("0x") || word.starts_with("0X")) {
    word.remove_prefix(2);
  }
  return !word.empty() && std::ranges::all_of(word, is_hexadecimal);
}

bool is_address(std::string_view word, io::AddressFamily family) noexcept {
  const auto address = io::SocketAddress::parse(word, 0);
  return address && address->family() == family;
}

/// "<1-10>"; kind keyword in `out` stays if it is not one.
bool read_range(std::string_view text, Alternative& out) noexcept {
  const std::size_t dash = text.find('-');
  if (!text.starts_with('<') || !text.ends_with('>') || dash == std::string_view::npos) {
    return false;
  }
  const auto min = parse_number(text.substr(1, dash - 1), UINT64_MAX);
  const auto max = parse_number(text.substr(dash + 1, text.size() - dash - 2), UINT64_MAX);
  if (!min || !max || *min > *max) {
    return false;
  }
  out.kind = Alternative::Kind::number;
  out.min = *min;
  out.max = *max;
  return true;
}

std::optional<Alternative> read_alternative(std::string_view text) {
  Alternative out;
  out.text = text;
  if (text.empty()) {
    return std::nullopt;
  }
  if (text.front() == '<') {
    return read_range(text, out) ? std::optional(out) : std::nullopt;
  }
  if (text == "A.B.C.D") {
    out.kind = Alternative::Kind::ipv4;
  } else if (text == "X:X::X:X") {
    out.kind = Alternative::Kind::ipv6;
  } else if (text == "HEXMASK") {
    out.kind = Alternative::Kind::hexadecimal;
  } else if (text.front() == '.') {
    out.kind = Alternative::Kind::rest;
  } else if (text.front() >= 'A' && text.front() <= 'Z') {
    out.kind = Alternative::Kind::name;
  }
  return out;
}

/// "(a|b)", "[a]", "[a|b]" or one alternative alone.
std::optional<Element> read_element(std::string_view text) {
  Element element;
  const bool choice = text.starts_with('(') && text.ends_with(')');
  element.optional = text.starts_with('[') && text.ends_with(']');
  if (choice || element.optional) {
    text = text.substr(1, text.size() - 2);
  }
  for (bool more = true; more;) {
    const std::size_t bar = std::min(text.find('|'), text.size());
    const auto alternative = read_alternative(text.substr(0, bar));
    if (!alternative) {
      return std::nullopt;
    }
    element.alternatives.push_back(*alternative);
    more = bar < text.size();
    text.remove_prefix(std::min(bar + 1, text.size()));
  }
  element.is_argument =
      element.optional || choice || element.alternatives[0].kind != Alternative::Kind::keyword;
  return element;
}

/// Gives the lines of `help` to the alternatives, the last line to the last.
bool attach_help(std::vector<Element>& elements, std::string_view help) {
  std::vector<std::string_view> lines;
  while (!help.empty()) {
    const std::size_t end = std::min(help.find('\n'), help.size());
    lines.push_back(help.substr(0, end));
    help.remove_prefix(std::min(end + 1, help.size()));
  }
  for (auto element = elements.rbegin(); element != elements.rend(); ++element) {
    auto& all = element->alternatives;
    for (auto alternative = all.rbegin(); alternative != all.rend() && !lines.empty();
         ++alternative) {
      alternative->help = lines.back();
      lines.pop_back();
    }
  }
  return lines.empty();
}

}  // namespace

std::optional<std::uint64_t> parse_number(std::string_view text, std::uint64_t max) noexcept {
  constexpr std::size_t kDigitsMax = 20;
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  if (text.empty() || text.size() > kDigitsMax || text.front() == '-') {
    return std::nullopt;
  }
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc{} || result.ptr != end || value > max) {
    return std::nullopt;
  }
  return value;
}

std::vector<Element> parse_command_text(std::string_view text, std::string_view help,
                                        std::string* error) {
  const auto fail = [&](std::string_view what) {
    if (error != nullptr) {
      *error = std::string(text) + ": " + std::string(what);
    }
    return std::vector<Element>{};
  };
  std::vector<Element> elements;
  for (const std::string_view word : split_words(text)) {
    auto element = read_element(word);
    if (!element) {
      return fail("not a well-formed element: " + std::string(word));
    }
    if (!elements.empty() && elements.back().alternatives[0].kind == Alternative::Kind::rest) {
      return fail("something follows the rest of the line");
    }
    elements.push_back(std::move(*element));
  }
  if (elements.empty()) {
    return fail("no words");
  }
  return attach_help(elements, help) ? elements : fail("more lines of help than words");
}

WordMatch match_word(const Alternative& alternative, std::string_view word) noexcept {
  if (word.empty()) {
    return WordMatch::none;
  }
  const auto if_true = [](bool agrees, WordMatch match) {
    return agrees ? match : WordMatch::none;
  };
  switch (alternative.kind) {
    case Alternative::Kind::keyword:
      return word == alternative.text
                 ? WordMatch::exact
                 : if_true(alternative.text.starts_with(word), WordMatch::partial);
    case Alternative::Kind::number: {
      const auto value = parse_number(word, alternative.max);
      return if_true(value && *value >= alternative.min, WordMatch::value);
    }
    case Alternative::Kind::ipv4:
      return if_true(is_address(word, io::AddressFamily::ipv4), WordMatch::value);
    case Alternative::Kind::ipv6:
      return if_true(is_address(word, io::AddressFamily::ipv6), WordMatch::value);
    case Alternative::Kind::hexadecimal:
      return if_true(is_hexadecimal_number(word), WordMatch::value);
    case Alternative::Kind::name:
      return WordMatch::name;
    case Alternative::Kind::rest:
      return WordMatch::rest;
  }
  return WordMatch::none;
}

std::vector<std::string_view> split_words(std::string_view line) {
  std::vector<std::string_view> words;
  std::size_t begin = line.find_first_not_of(kBlanks);
  while (begin != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

}  // namespace ttcn_compat
