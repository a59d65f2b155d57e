#include "conf/yaml_text.h"

#include <algorithm>
#include <string>

namespace conf {

namespace {

constexpr std::size_t kLineWidth = 100;

}  // namespace

std::size_t depth_of(std::string_view path) {
  return static_cast<std::size_t>(std::ranges::count(path, '.'));
}

std::string_view last_part(std::string_view path) {
  return path.substr(path.rfind('.') + 1);
}

std::string_view parent_of(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view{} : path.substr(0, dot);
}

void write_comment(std::ostream& out, std::size_t indent, std::string_view text) {
  const std::string prefix = std::string(indent, ' ') + "#";
  std::string line = prefix;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (line.size() > prefix.size() && line.size() + 1 + end > kLineWidth) {
      out << line << '\n';
      line = prefix;
    }
    line += ' ';
    line += text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  out << line << '\n';
}

}  // namespace conf
