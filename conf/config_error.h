#pragma once
// Why a configuration cannot be used, in the form that compilers use for their messages.

#include <string>

namespace conf {

/// One fault of the configuration, and where it is.
struct ConfigError {
  std::string file;     ///< file name, "--set" or the environment variable
  int line = 0;         ///< counted from 1; 0 = the fault has no line
  int column = 0;       ///< counted from 1; 0 = the fault has no column
  std::string path;     ///< the key, such as "rtp.port-min"; empty = no single key
  std::string message;  ///< a sentence for the operator, without file and line

  /// "file:line:column: message", without what is not known.
  [[nodiscard]] std::string to_string() const;
};

}  // namespace conf
