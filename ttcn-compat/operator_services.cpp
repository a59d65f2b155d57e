#include "ttcn-compat/operator_services.h"

#include "ttcn-compat/configuration_file.h"

namespace ttcn_compat {

tl::expected<std::string, std::string> OperatorServices::read_file(const std::string& path) {
  return read_text_file(path);
}

tl::expected<void, std::string> OperatorServices::replace_file(const std::string& path,
                                                               std::string_view text) {
  return replace_text_file(path, text);
}

}  // namespace ttcn_compat
