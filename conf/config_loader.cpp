#include "conf/config_loader.h"

#include "conf/collection.h"
#include "conf/config_check.h"
#include "conf/config_keys.h"
#include "conf/yaml_text.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <cerrno>
#include <exception>
#include <fstream>
#include <map>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

namespace conf {

namespace {

/// A place in the file, counted from 1; 0 = unknown.
struct Position {
  int line = 0;
  int column = 0;
};

Position position_of(const YAML::Mark& mark) {
  return mark.is_null() ? Position{} : Position{mark.line + 1, mark.column + 1};
}

/// Leaves the YAML parser with the first error; never leaves this file.
class Fault final : public std::exception {
 public:
  Fault(Position position, std::string_view path, std::string message)
      : position_(position), path_(path), message_(std::move(message)) {}

  [[nodiscard]] const char* what() const noexcept override { return message_.c_str(); }
  [[nodiscard]] ConfigError error(const std::string& file) const {
    return ConfigError{file, position_.line, position_.column, path_, message_};
  }

 private:
  Position position_;
  std::string path_;
  std::string message_;
};

std::string unknown_key_message(std::string_view path) {
  return fmt::format("unknown key {}; did you mean '{}'?", quoted(path), nearest_key(path));
}

using Positions = std::map<std::string, Position, std::less<>>;

/// Puts the events of the YAML parser into a Config as they come. Only sections of the table are
/// entered, so what is kept does not grow with the nesting or the size of the file.
class Reader final : public YAML::EventHandler {
 public:
  explicit Reader(Config& config) : config_(config) {}

  /// Where each key was read.
  [[nodiscard]] const Positions& positions() const { return positions_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (document_seen_) {
      throw Fault(position_of(mark), "", "the file has a second YAML document; one is expected");
    }
    document_seen_ = true;
  }
  void OnDocumentEnd() override {}

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Fault(position_of(mark), key_, "aliases (*name) are not supported; write the value");
  }

  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    if (sections_.empty()) {
      return;  // an empty document
    }
    if (list_ != nullptr || is_between_entries() || key_.empty()) {
      throw Fault(position_of(mark), key_, "an empty entry");
    }
    if (const Setting* setting = setting_of(key_)) {
      throw Fault(position_of(mark), key_,
                  fmt::format("{} has no value: it must be {}", key_, accepted_values(*setting)));
    }
    key_.clear();  // a section without keys, a list without entries
  }

  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string& value) override {
    if (list_ != nullptr) {
      add_to_list(mark, value);
    } else if (sections_.empty()) {
      throw Fault(position_of(mark), "", "expected sections such as 'rtp:', found a single value");
    } else if (is_between_entries()) {
      throw Fault(position_of(mark), collection_->path,
                  fmt::format("an entry of {} has keys: '- {}: ...'", collection_->path,
                              last_part(collection_->settings.front().path)));
    } else if (key_.empty()) {
      begin_key(mark, value);
    } else {
      const Setting* setting = setting_of(key_);
      if (setting == nullptr) {
        throw Fault(position_of(mark), key_, section_message());
      }
      assign_words(mark, *setting, {value});
      key_.clear();
    }
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    if (const Collection* collection = find_collection(key_); collection != nullptr) {
      collection_ = collection;
      sections_.push_back(std::exchange(key_, {}));
      return;
    }
    const Setting* setting = setting_of(key_);
    if (list_ != nullptr || setting == nullptr) {
      throw Fault(
          position_of(mark), key_,
          list_ != nullptr || key_.empty() ? "a list is not expected here" : section_message());
    }
    if (!is_list(*setting)) {
      throw Fault(
          position_of(mark), key_,
          fmt::format("{} takes one value, not a list: {}", key_, accepted_values(*setting)));
    }
    list_ = setting;
    list_mark_ = mark;
  }

  void OnSequenceEnd() override {
    if (list_ == nullptr) {
      collection_ = nullptr;
      sections_.pop_back();
      return;
    }
    assign_words(list_mark_, *list_, list_words_);
    list_words_.clear();
    list_ = nullptr;
    key_.clear();
  }

  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    const bool is_root = sections_.empty();
    if (is_between_entries()) {
      begin_entry(mark);
      return;
    }
    if (list_ != nullptr || (!is_root && key_.empty())) {
      throw Fault(position_of(mark), key_, "keys are not expected here");
    }
    if (find_collection(key_) != nullptr) {
      throw Fault(position_of(mark), key_, section_message());
    }
    if (!is_root && !is_section(key_)) {
      throw Fault(position_of(mark), key_, fmt::format("{} takes a value, not keys", key_));
    }
    sections_.push_back(std::exchange(key_, {}));
  }

  void OnMapEnd() override {
    sections_.pop_back();
    in_entry_ = false;
  }

 private:
  /// The key with this path, of a section or of a list's entries.
  [[nodiscard]] const Setting* setting_of(std::string_view path) const {
    return in_entry_ ? find_entry_setting(path) : find_setting(path);
  }

  [[nodiscard]] bool is_between_entries() const { return collection_ != nullptr && !in_entry_; }

  void begin_entry(const YAML::Mark& mark) {
    const std::size_t entries = collection_->size(config_);
    if (entries == collection_->max) {
      throw Fault(position_of(mark), collection_->path,
                  fmt::format("{} has more than {} entries", collection_->path, collection_->max));
    }
    collection_->resize(config_, entries + 1);
    sections_.emplace_back(collection_->path);
    in_entry_ = true;
    entry_keys_.clear();
  }

  void begin_key(const YAML::Mark& mark, const std::string& name) {
    const std::string& section = sections_.back();
    const Position position = position_of(mark);
    std::string path = section.empty() ? name : section + '.' + name;
    // A dot in a key would reach the keys of another section, in a second notation for the same
    // thing.
    const bool is_known = setting_of(path) != nullptr ||
                          (!in_entry_ && (is_section(path) || find_collection(path) != nullptr));
    if (!is_known || name.find('.') != std::string::npos) {
      throw Fault(position, path, unknown_key_message(path));
    }
    const auto [earlier, is_new] =
        (in_entry_ ? entry_keys_ : positions_).try_emplace(path, position);
    if (!is_new) {
      throw Fault(position, path,
                  fmt::format("{} is given twice; first in line {}", path, earlier->second.line));
    }
    key_ = std::move(path);
  }

  void add_to_list(const YAML::Mark& mark, const std::string& value) {
    Config scratch;
    if (collection_ != nullptr) {
      collection_->resize(scratch, 1);
    }
    assign_words(mark, *list_, {value}, scratch);
    list_words_.push_back(value);
  }

  void assign_words(const YAML::Mark& mark, const Setting& setting,
                    const std::vector<std::string>& words) {
    assign_words(mark, setting, words, config_);
  }

  static void assign_words(const YAML::Mark& mark, const Setting& setting,
                           const std::vector<std::string>& words, Config& config) {
    if (const auto outcome = assign(setting, config, words); !outcome) {
      throw Fault(position_of(mark), setting.path, outcome.error());
    }
  }

  [[nodiscard]] std::string section_message() const {
    if (find_collection(key_) != nullptr) {
      return fmt::format("{} is a list: its entries belong below it, each behind a '-'", key_);
    }
    return fmt::format("{} is a section: its keys belong below it", key_);
  }

  Config& config_;
  Positions positions_;
  std::vector<std::string> sections_;  ///< paths of the open maps; the root's is empty
  std::string key_;                    ///< path of the key whose value comes next; empty = a key
  const Setting* list_ = nullptr;      ///< the setting whose list is being read
  YAML::Mark list_mark_;
  std::vector<std::string> list_words_;
  const Collection* collection_ = nullptr;  ///< the list whose entries are being read
  bool in_entry_ = false;
  Positions entry_keys_;  ///< where the entry's keys were read
  bool document_seen_ = false;
};

tl::expected<Positions, ConfigError> read_yaml(std::string_view yaml, const std::string& file,
                                               Config& config) {
  try {
    std::istringstream stream{std::string(yaml)};
    YAML::Parser parser(stream);
    Reader reader(config);
    while (parser.HandleNextDocument(reader)) {}
    return reader.positions();
  } catch (const Fault& fault) {
    return tl::unexpected(fault.error(file));
  } catch (const YAML::Exception& exception) {
    const Position position = position_of(exception.mark);
    return tl::unexpected(ConfigError{file, position.line, position.column, "",
                                      fmt::format("not valid YAML: {}", exception.msg)});
  }
}

tl::expected<void, ConfigError> check_at(const Config& config, const std::string& file,
                                         const Positions& positions) {
  const auto violation = find_violation(config);
  if (!violation) {
    return {};
  }
  auto found = positions.find(violation->path);
  if (found == positions.end()) {
    found = positions.find(violation->other);
  }
  const Position position = found == positions.end() ? Position{} : found->second;
  return tl::unexpected(ConfigError{file, position.line, position.column,
                                    std::string(violation->path), violation->message});
}

tl::expected<std::string, ConfigError> read_file(const std::string& file) {
  const auto fail = [&](std::string message) {
    return tl::unexpected(ConfigError{file, 0, 0, "", std::move(message)});
  };
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    return fail(fmt::format("cannot be opened: {}", std::generic_category().message(errno)));
  }
  std::string text(kFileBytesMax + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad() || (stream.fail() && !stream.eof())) {
    return fail(fmt::format("cannot be read: {}", std::generic_category().message(errno)));
  }
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// "a, b" or "[a, b]" as words; nothing at all is an empty list.
std::vector<std::string> split_list(std::string_view text) {
  std::string_view rest = trimmed(text);
  if (rest.starts_with('[') && rest.ends_with(']')) {
    rest = trimmed(rest.substr(1, rest.size() - 2));
  }
  std::vector<std::string> words;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    words.emplace_back(trimmed(rest.substr(0, comma)));
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  return words;
}

}  // namespace

tl::expected<Config, ConfigError> load(const std::string& file,
                                       std::span<const std::string> settings) {
  const auto text = read_file(file);
  if (!text) {
    return tl::unexpected(text.error());
  }
  return load_text(*text, file, settings);
}

tl::expected<Config, ConfigError> load_text(std::string_view yaml, const std::string& file,
                                            std::span<const std::string> settings) {
  if (yaml.size() > kFileBytesMax) {
    return tl::unexpected(ConfigError{
        file, 0, 0, "", fmt::format("longer than {} bytes, the most that is read", kFileBytesMax)});
  }
  Config config;
  const auto positions = read_yaml(yaml, file, config);
  if (!positions) {
    return tl::unexpected(positions.error());
  }
  for (const std::string& setting : settings) {
    if (const auto applied = apply_setting(config, setting); !applied) {
      return tl::unexpected(applied.error());
    }
  }
  if (const auto checked = check_at(config, file, *positions); !checked) {
    return tl::unexpected(checked.error());
  }
  return config;
}

tl::expected<void, ConfigError> apply_setting(Config& config, std::string_view key_and_value) {
  const std::size_t equals = key_and_value.find('=');
  const std::string key(trimmed(key_and_value.substr(0, equals)));
  const auto fail = [&](std::string message) {
    return tl::unexpected(ConfigError{"--set", 0, 0, key, std::move(message)});
  };
  if (is_section(key)) {
    return fail(fmt::format("{} is a section: name one of its keys", key));
  }
  if (find_collection(key) != nullptr || find_entry_setting(key) != nullptr) {
    return fail(fmt::format("{} is part of a list, which only a file can give", key));
  }
  const Setting* setting = find_setting(key);
  if (setting == nullptr) {
    return fail(unknown_key_message(key));
  }
  if (equals == std::string_view::npos) {
    return fail(fmt::format("{} has no value: write {}=VALUE", key, key));
  }
  const std::string_view value = key_and_value.substr(equals + 1);
  const auto words =
      is_list(*setting) ? split_list(value) : std::vector<std::string>{std::string(trimmed(value))};
  if (const auto outcome = assign(*setting, config, words); !outcome) {
    return fail(outcome.error());
  }
  return {};
}

tl::expected<void, ConfigError> check(const Config& config) {
  return check_at(config, "configuration", {});
}

}  // namespace conf
