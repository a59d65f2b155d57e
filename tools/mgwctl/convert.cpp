#include "tools/mgwctl/convert.h"

#include "conf/config_keys.h"
#include "conf/config_loader.h"
#include "conf/config_writer.h"
#include "tools/mgwctl/options.h"
#include "ttcn-compat/command_tables.h"
#include "ttcn-compat/configuration_text.h"
#include "ttcn-compat/osmo_configuration.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <sstream>
#include <system_error>

namespace mgwctl {

namespace {

/// Keys of `meant` that the text of an osmo-mgw file, read as `read`, does not give back.
std::vector<std::string> lost_keys(const conf::Config& meant, const conf::Config& read) {
  std::vector<std::string> lost;
  for (const conf::Setting* setting : conf::differing_settings(meant, read)) {
    lost.push_back(fmt::format("{}: {}", setting->path, conf::value_text(*setting, meant)));
  }
  return lost;
}

std::string system_error_text() {
  return std::generic_category().message(errno);
}

}  // namespace

tl::expected<Converted, std::string> osmo_to_yaml(std::string_view text, const std::string& name) {
  conf::Config config;
  const auto remarks = ttcn_compat::read_osmo_configuration(text, config);
  if (!remarks) {
    return tl::unexpected(fmt::format("{}:{}: {}\n{}", name, remarks.error().line,
                                      remarks.error().message, remarks.error().text));
  }
  Converted converted;
  std::ostringstream yaml;
  conf::write_config(yaml, config);
  converted.text = yaml.str();
  for (const ttcn_compat::ConfigurationRemark& remark : *remarks) {
    converted.remarks.push_back(fmt::format("{}:{}: {}", name, remark.line, remark.message));
  }
  return converted;
}

tl::expected<Converted, std::string> yaml_to_osmo(std::string_view text, const std::string& name) {
  const auto config = conf::load_text(text, name, {});
  if (!config) {
    return tl::unexpected(config.error().to_string());
  }
  Converted converted;
  converted.text = ttcn_compat::write_configuration(ttcn_compat::command_tree(), *config);
  conf::Config read;
  const auto remarks = ttcn_compat::read_osmo_configuration(converted.text, read);
  if (!remarks) {
    return tl::unexpected(
        fmt::format("{} can't be said in an osmo-mgw file: {}", name, remarks.error().message));
  }
  const std::vector<std::string> lost = lost_keys(*config, read);
  if (!lost.empty()) {
    converted.text += "!\n! An osmo-mgw file has no words for the following:\n";
  }
  for (const std::string& key : lost) {
    converted.text += fmt::format("! {}\n", key);
    converted.remarks.push_back(fmt::format("{} has no word in an osmo-mgw file", key));
  }
  return converted;
}

int convert_file(const std::string& file, const std::string& out) {
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    std::cerr << "mgwctl: " << file << ": " << system_error_text() << '\n';
    return kExitNoAnswer;
  }
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const auto converted =
      ttcn_compat::is_osmo_file(file) ? osmo_to_yaml(text, file) : yaml_to_osmo(text, file);
  if (!converted) {
    std::cerr << converted.error() << '\n';
    return kExitRefused;
  }
  for (const std::string& remark : converted->remarks) {
    std::cerr << "note: " << remark << '\n';
  }
  if (out.empty() || out == "-") {
    std::cout << converted->text;
    return kExitGood;
  }
  // "x": a configuration that is there already is not overwritten.
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> target(std::fopen(out.c_str(), "wx"),
                                                               std::fclose);
  if (target == nullptr ||
      std::fwrite(converted->text.data(), 1, converted->text.size(), target.get()) !=
          converted->text.size() ||
      std::fflush(target.get()) != 0) {
    std::cerr << "mgwctl: " << out << ": " << system_error_text() << '\n';
    return kExitNoAnswer;
  }
  return kExitGood;
}

}  // namespace mgwctl
