#pragma once
// An osmo-mgw configuration file: the commands of node config and below, one per line, with
// indentation in place of `exit`. Text in, a configuration out; linear in the size of the text.

#include "conf/config.h"
#include "ttcn-compat/command_tree.h"

#include <tl/expected.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ttcn_compat {

/// Bytes of a line at most: a path of the file system fits.
inline constexpr std::size_t kConfigurationLineBytesMax = 8192;

/// What a line of the file gave rise to.
struct ConfigurationRemark {
  std::size_t line = 0;  ///< counted from 1
  std::string text;      ///< the line as it stands in the file
  std::string message;   ///< one or more lines, without the last line end
};

/// Reads `text` into `config`, which is changed up to the line with the fault if there is one.
/// Otherwise the remarks of commands that worked: deprecated ones, corrected values.
///
/// Blanks and tabs at the beginning of a line are its indentation. The first line of a block sets
/// that of the block, which must begin with that of the block around it; a line with less closes
/// blocks. Empty lines, and those that begin with '!' or '#', mean nothing.
[[nodiscard]] tl::expected<std::vector<ConfigurationRemark>, ConfigurationRemark>
read_configuration(const CommandTree& tree, std::string_view text, conf::Config& config);

}  // namespace ttcn_compat
