#pragma once
// From osmo-mgw's configuration files to ours and back. Text in, text out.

#include <tl/expected.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace mgwctl {

/// What became of a file.
struct Converted {
  std::string text;
  /// What a person should know: deprecated directives, keys that the other format has no word for.
  /// One sentence each.
  std::vector<std::string> remarks;
};

/// An osmo-mgw file as commented YAML. Loaded, it gives what the file means, with osmo-mgw's
/// defaults for what it leaves out. `name` is for messages.
[[nodiscard]] tl::expected<Converted, std::string> osmo_to_yaml(std::string_view text,
                                                                const std::string& name);

/// A YAML configuration as an osmo-mgw file; keys that it can't express are remarks, and comments
/// in the text.
[[nodiscard]] tl::expected<Converted, std::string> yaml_to_osmo(std::string_view text,
                                                                const std::string& name);

/// Reads `file`, converts it by its name and writes the result to `out` ("" or "-": standard
/// output), which must not exist yet. Remarks and errors go to standard error. The exit status.
[[nodiscard]] int convert_file(const std::string& file, const std::string& out);

}  // namespace mgwctl
