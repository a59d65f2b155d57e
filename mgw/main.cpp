// The program mgw: reads arguments and configuration, then runs a Gateway.

#include "conf/config_environment.h"
#include "conf/config_loader.h"
#include "io/log.h"
#include "mgw/gateway.h"
#include "mgw/log_setup.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

namespace {

/// Exit codes of start-up failures; 1 is an error while running.
constexpr int kExitUsage = 2;
constexpr int kExitConfiguration = 3;

/// Time for the last log lines to be written.
constexpr std::chrono::milliseconds kLastLinesLimit{500};

struct Arguments {
  std::string file;
  std::vector<std::string> settings;
  bool check = false;
  bool version = false;
  bool no_colour = false;
};

tl::expected<conf::Config, conf::ConfigError> load(const Arguments& arguments) {
  auto config = arguments.file.empty() ? conf::load_text("", "(defaults)", arguments.settings)
                                       : conf::load(arguments.file, arguments.settings);
  if (!config) {
    return config;
  }
  if (const auto applied =
          conf::apply_environment(*config, [](const char* name) { return std::getenv(name); });
      !applied) {
    return tl::unexpected(applied.error());
  }
  return config;
}

int run(const Arguments& arguments) {
  const auto config = load(arguments);
  if (!config) {
    fmt::print(stderr, "{}\n", config.error().to_string());
    return kExitConfiguration;
  }
  if (arguments.check) {
    fmt::print("{}: configuration is valid\n",
               arguments.file.empty() ? "defaults" : arguments.file);
    return EXIT_SUCCESS;
  }
  const auto colours = arguments.no_colour ? mgw::LogColours::never : mgw::LogColours::on_terminals;
  if (const auto log = mgw::set_up_log(config->log, colours); !log) {
    fmt::print(stderr, "mgw: {}\n", log.error());
    return EXIT_FAILURE;
  }
  try {
    mgw::Gateway gateway(*config);
    gateway.run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "mgw: {}\n", error.what());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app(
      "mgw, a media gateway: relays voice (RTP, RTCP) between the legs of calls, steered over MGCP",
      "mgw");
  app.add_option("-c,--config-file", arguments.file,
                 "Configuration (YAML); without it all defaults apply");
  app.add_option("--set", arguments.settings, "KEY=VALUE, overrides the file; may be repeated")
      ->take_all();
  app.add_flag("--check", arguments.check, "Check the configuration and exit");
  app.add_flag("-V,--version", arguments.version, "Print the version and exit");
  app.add_flag("-s,--disable-color", arguments.no_colour, "No colours in the log");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? EXIT_SUCCESS : kExitUsage;
  }
  if (arguments.version) {
    fmt::print("mgw version {}\n", MGW_VERSION);
    return EXIT_SUCCESS;
  }
  const int code = run(arguments);
  // A reader of the log that has stopped must not keep the gateway from ending.
  io::flush_log(kLastLinesLimit);
  return code;
}
