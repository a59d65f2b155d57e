// The program mgw: reads arguments and configuration, then runs a Gateway.

#include "io/log.h"
#include "io/service_manager.h"
#include "mgw/background.h"
#include "mgw/configuration_file.h"
#include "mgw/gateway.h"
#include "mgw/log_setup.h"
#include "ttcn-compat/command_tables.h"
#include "ttcn-compat/osmo_configuration.h"
#include "ttcn-compat/vty_reference.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

/// Exit statuses of failures to start; those of configurations are in mgw/configuration_file.h, and
/// with osmo-mgw's files everything else is osmo-mgw's 255.
constexpr int kExitUsage = 2;
constexpr int kExitOsmoFailure = 255;

/// Time for the last log lines to be written.
constexpr std::chrono::milliseconds kLastLinesLimit{500};

struct Arguments {
  std::string file;
  std::vector<std::string> settings;
  bool check = false;
  bool version = false;
  bool no_colour = false;
  bool background = false;
  bool takes_over = false;
  bool reference = false;      ///< osmo-mgw's option --vty-ref-xml
  std::string reference_mode;  ///< and --vty-ref-mode; there is one list of commands here
  std::string level;           ///< of osmo-mgw's option -e, a number
};

/// Level numbers of Osmocom's programs: 1 debug, 3 info, 5 notice, 7 error, 8 fatal.
std::optional<conf::LogLevel> log_level(const std::string& number) {
  const std::vector<std::pair<std::string, conf::LogLevel>> levels = {{"1", conf::LogLevel::debug},
                                                                      {"3", conf::LogLevel::info},
                                                                      {"5", conf::LogLevel::notice},
                                                                      {"7", conf::LogLevel::error},
                                                                      {"8", conf::LogLevel::fatal}};
  for (const auto& [text, level] : levels) {
    if (text == number) {
      return level;
    }
  }
  return std::nullopt;
}

/// -e raises or lowers the level on standard error, whatever the file says.
bool apply_level(const std::string& number, conf::LogOptions& log) {
  if (number.empty()) {
    return true;
  }
  const auto level = log_level(number);
  if (!level) {
    return false;
  }
  log.level = *level;
  for (conf::LogTarget& target : log.targets) {
    if (target.kind == conf::LogTarget::Kind::standard_error) {
      target.force_all = level;
    }
  }
  return true;
}

/// As osmo-mgw: what these ask for (a report of memory, say) is not worth the calls that are up.
void ignore_signals() {
  for (const int signal : {SIGPIPE, SIGALRM, SIGUSR1}) {
    std::signal(signal, SIG_IGN);
  }
}

/// What the program was started with: the file, --set, the environment and -e.
mgw::ConfigurationReader configuration_reader(const Arguments& arguments) {
  return [arguments]() -> tl::expected<mgw::ConfigurationRead, mgw::ConfigurationFault> {
    auto read = mgw::load_configuration(arguments.file, arguments.settings);
    if (read && !apply_level(arguments.level, read->config.log)) {
      return tl::unexpected(mgw::ConfigurationFault{
          "mgw: -e takes 1 (debug), 3 (info), 5 (notice), 7 (error) or 8 (fatal)", kExitUsage});
    }
    return read;
  };
}

int serve(const Arguments& arguments, const conf::Config& config) {
  ignore_signals();
  const int failure = ttcn_compat::is_osmo_file(arguments.file) ? kExitOsmoFailure : EXIT_FAILURE;
  const auto colours = arguments.no_colour ? mgw::LogColours::never : mgw::LogColours::on_terminals;
  try {
    std::optional<mgw::Background> background;
    if (arguments.background) {
      background.emplace();
    }
    io::ServiceManager service_manager;
    const auto log = mgw::set_up_log(config.log, colours);
    if (!log) {
      fmt::print(stderr, "mgw: {}\n", log.error());
      return failure;
    }
    for (const std::string& warning : *log) {
      fmt::print(stderr, "mgw: {}\n", warning);
    }
    mgw::Gateway gateway(config,
                         {arguments.file, MGW_VERSION, colours, configuration_reader(arguments),
                          &service_manager, arguments.takes_over});
    for (const std::string& name : service_manager.close_rest()) {
      fmt::print(stderr, "mgw: the service manager's descriptor \"{}\" has no use\n", name);
    }
    if (background) {
      background->ready();
    }
    gateway.run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "mgw: {}\n", error.what());
    return failure;
  }
  return EXIT_SUCCESS;
}

/// All commands of the VTY as XML, as `show online-help` has them.
void print_reference() {
  const ttcn_compat::CommandTree& tree = ttcn_compat::command_tree();
  fmt::print("{}", ttcn_compat::kReferenceXmlStart);
  for (std::size_t node = 0; node < ttcn_compat::kNodeCount; ++node) {
    fmt::print("{}", ttcn_compat::reference_xml(tree, static_cast<ttcn_compat::Node>(node)));
  }
  fmt::print("{}", ttcn_compat::kReferenceXmlEnd);
}

int run(const Arguments& arguments) {
  const auto read = configuration_reader(arguments)();
  if (!read) {
    fmt::print(stderr, "{}\n", read.error().message);
    return read.error().exit_status;
  }
  for (const std::string& remark : read->remarks) {
    fmt::print(stderr, "{}\n", remark);
  }
  if (arguments.check) {
    fmt::print("{}: configuration is valid\n",
               arguments.file.empty() ? "defaults" : arguments.file);
    return EXIT_SUCCESS;
  }
  return serve(arguments, read->config);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app(
      "mgw, a media gateway: relays voice (RTP, RTCP) between the legs of calls, steered over MGCP",
      "mgw");
  app.add_option(
      "-c,--config-file", arguments.file,
      "Configuration: YAML, or an osmo-mgw file if its name ends in .cfg; without it all "
      "defaults apply");
  app.add_option("--set", arguments.settings, "KEY=VALUE, overrides the file; may be repeated")
      ->take_all();
  app.add_flag("--check", arguments.check, "Check the configuration and exit");
  app.add_flag("-V,--version", arguments.version, "Print the version and exit");
  app.add_flag("-s,--disable-color", arguments.no_colour, "No colours in the log");
  app.add_flag("-D,--daemonize", arguments.background,
               "Run in the background, once all sockets are open");
  app.add_flag(
      "--take-over", arguments.takes_over,
      "Take over the calls of the gateway that listens at take-over.socket, which then ends");
  app.add_option("-e,--log-level", arguments.level,
                 "Level on standard error: 1 debug, 3 info, 5 notice, 7 error, 8 fatal");
  app.add_flag("--vty-ref-xml", arguments.reference,
               "Print all commands of the VTY as XML and exit");
  app.add_option("--vty-ref-mode", arguments.reference_mode, "Accepted for osmo-mgw's sake");
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
  if (arguments.reference) {
    print_reference();
    return EXIT_SUCCESS;
  }
  const int code = run(arguments);
  // A reader of the log that has stopped must not keep the gateway from ending.
  io::flush_log(kLastLinesLimit);
  return code;
}
