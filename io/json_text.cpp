#include "io/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>

namespace io {

namespace {

/// Bytes of the UTF-8 sequence at the beginning of `text`; 0: there is none (RFC 3629).
std::size_t utf8_size(std::string_view text) {
  const auto byte = [text](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
  const unsigned first = byte(0);
  if (first < 0x80U) {
    return 1;
  }
  if (first >= 0xc2U && first <= 0xdfU) {
    return continues(1) ? 2 : 0;
  }
  if (first >= 0xe0U && first <= 0xefU) {
    const bool overlong = first == 0xe0U && byte(1) < 0xa0U;
    const bool surrogate = first == 0xedU && byte(1) > 0x9fU;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0U && first <= 0xf4U) {
    const bool overlong = first == 0xf0U && byte(1) < 0x90U;
    const bool beyond = first == 0xf4U && byte(1) > 0x8fU;
    return continues(1) && continues(2) && continues(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::size_t size = utf8_size(text);
    const char character = text.front();
    if (size == 0) {
      out += "\\ufffd";
    } else if (character == '"' || character == '\\') {
      out += '\\';
      out += character;
    } else if (static_cast<unsigned char>(character) < 0x20U || character == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(character));
    } else {
      out += text.substr(0, size);
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  out += '"';
}

void JsonWriter::separate() {
  if (!text_.empty() && text_.back() != '{' && text_.back() != '[' && text_.back() != ':') {
    text_ += ',';
  }
}

JsonWriter& JsonWriter::raw(std::string_view token) {
  separate();
  text_ += token;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_json_string(text_, name);
  text_ += ':';
  return *this;
}

JsonWriter& JsonWriter::begin_object() {
  return raw("{");
}

JsonWriter& JsonWriter::end_object() {
  text_ += '}';
  return *this;
}

JsonWriter& JsonWriter::begin_array() {
  return raw("[");
}

JsonWriter& JsonWriter::end_array() {
  text_ += ']';
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  append_json_string(text_, text);
  return *this;
}

JsonWriter& JsonWriter::value(bool on) {
  return raw(on ? "true" : "false");
}

JsonWriter& JsonWriter::value(double number) {
  return std::isfinite(number) ? raw(fmt::format("{:.6g}", number)) : raw("null");
}

}  // namespace io
