#include "io/json_text.h"

#include "io/printable_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>

namespace io {

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
    } else if (is_control(text.substr(0, size))) {  // those of two bytes are U+0080 to U+009F
      fmt::format_to(std::back_inserter(out), "\\u{:04x}",
                     static_cast<unsigned char>(text[size - 1]));
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
