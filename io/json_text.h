#pragma once
// Writing JSON (RFC 8259). What was quoted from the network may be in it: whatever it is, the text
// stays valid JSON and UTF-8. Pure functions of the text that is being written.

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace io {

/// Appends a JSON string; bytes that are no UTF-8 (RFC 3629) become U+FFFD, control characters
/// (those of ISO 6429 C1 too, which some terminals obey) stand as their escapes.
void append_json_string(std::string& out, std::string_view text);

/// Objects and arrays one after the other, without white space. The caller closes what it opens.
class JsonWriter {
 public:
  /// A member of the object that is open; a value has to follow.
  JsonWriter& key(std::string_view name);
  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(bool on);
  /// In as many digits as are of use; what is no number is null.
  JsonWriter& value(double number);
  template <std::integral Number>
  JsonWriter& value(Number number) {
    return raw(std::to_string(number));
  }
  /// Nothing is null.
  template <typename Value>
  JsonWriter& value(const std::optional<Value>& optional) {
    return optional ? value(*optional) : raw("null");
  }
  /// A member with its value.
  template <typename Value>
  JsonWriter& member(std::string_view name, const Value& its_value) {
    return key(name).value(its_value);
  }

  /// What has been written so far.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  [[nodiscard]] std::string take() noexcept { return std::move(text_); }

 private:
  JsonWriter& raw(std::string_view token);
  void separate();

  std::string text_;
};

}  // namespace io
