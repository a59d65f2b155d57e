// What becomes of section `log`: every field of the configuration reaches the target.
#include "mgw/log_setup.h"

#include <doctest/doctest.h>

using io::LogCategory;
using io::LogLevel;
using io::LogStyle;
using Kind = io::LogTarget::Kind;

namespace {

std::vector<io::LogTarget> targets_of(const conf::LogOptions& options,
                                      mgw::LogColours colours = mgw::LogColours::on_terminals) {
  auto targets = mgw::log_targets_of(options, colours);
  REQUIRE(targets.has_value());
  return *targets;
}

conf::LogOptions options_with(const conf::LogTarget& target) {
  conf::LogOptions options;
  options.targets.push_back(target);
  return options;
}

}  // namespace

TEST_CASE("without a list the simple form is the one log target") {
  conf::LogOptions options;
  auto targets = targets_of(options);
  REQUIRE(targets.size() == 1);
  CHECK(targets[0].kind == Kind::standard_error);
  CHECK(targets[0].style.layout == LogStyle::Layout::standard);
  CHECK(targets[0].style.colour);
  CHECK(targets[0].filter == io::LogFilter{});
  options.level = conf::LogLevel::info;
  options.file = "mgw.log";
  options.json = true;
  targets = targets_of(options, mgw::LogColours::never);
  REQUIRE(targets.size() == 1);
  CHECK(targets[0].kind == Kind::file);
  CHECK(targets[0].destination == "mgw.log");
  CHECK(targets[0].style.layout == LogStyle::Layout::json);
  CHECK_FALSE(targets[0].style.colour);
  CHECK(targets[0].filter.levels == io::LogFilter::all_at(LogLevel::info));
}

TEST_CASE("the fields of a configured log target reach it") {
  const io::LogTarget plain = targets_of(options_with({})).at(0);
  CHECK(plain == io::LogTarget{});
  const auto style_with = [](auto change) {
    conf::LogTarget target;
    change(target);
    return targets_of(options_with(target)).at(0).style;
  };
  CHECK(style_with([](auto& t) { t.json = true; }).layout == LogStyle::Layout::json);
  CHECK_FALSE(style_with([](auto& t) { t.colour = false; }).colour);
  CHECK(style_with([](auto& t) { t.timestamp = true; }).timestamp);
  CHECK(style_with([](auto& t) { t.extended_timestamp = true; }).extended_timestamp);
  CHECK(style_with([](auto& t) { t.thread_id = true; }).thread_id);
  CHECK(style_with([](auto& t) { t.category = true; }).category);
  CHECK_FALSE(style_with([](auto& t) { t.category_hex = false; }).category_hex);
  CHECK(style_with([](auto& t) { t.show_level = true; }).level);
  CHECK(style_with([](auto& t) { t.file = conf::LogPrintFile::off; }).file == LogStyle::File::off);
  CHECK(style_with([](auto& t) { t.file = conf::LogPrintFile::basename; }).file ==
        LogStyle::File::basename);
  CHECK(style_with([](auto& t) { t.file_last = true; }).file_last);

  conf::LogTarget target;
  target.kind = conf::LogTarget::Kind::systemd_journal;
  target.raw = true;
  target.alarms = 7;
  target.filter_all = false;
  target.level = conf::LogLevel::error;
  target.levels = {{"lmgcp", conf::LogLevel::debug}};
  target.force_all = conf::LogLevel::fatal;
  const io::LogTarget mapped = targets_of(options_with(target)).at(0);
  CHECK(mapped.kind == Kind::journal);
  CHECK(mapped.raw);
  CHECK(mapped.alarms == 7);
  CHECK_FALSE(mapped.filter.all);
  CHECK(mapped.filter.force_all == LogLevel::fatal);
  io::LogFilter expected;
  expected.set_all(LogLevel::error);
  expected.set(LogCategory::lmgcp, LogLevel::debug);
  CHECK(mapped.filter.levels == expected.levels);
}

TEST_CASE("log targets have destinations where osmo-mgw has defaults, and known categories only") {
  conf::LogTarget target;
  const auto destination_of = [&target](conf::LogTarget::Kind kind, const char* destination) {
    target.kind = kind;
    target.destination = destination;
    const io::LogTarget mapped = targets_of(options_with(target)).at(0);
    return mapped.destination;
  };
  CHECK(destination_of(conf::LogTarget::Kind::syslog, "") == "daemon");
  CHECK(destination_of(conf::LogTarget::Kind::syslog, "local3") == "local3");
  CHECK(destination_of(conf::LogTarget::Kind::gsmtap, "") == "127.0.0.1");
  CHECK(destination_of(conf::LogTarget::Kind::file, "x.log") == "x.log");
  CHECK(destination_of(conf::LogTarget::Kind::alarms, "") == "");
  target.levels = {{"lmgc", conf::LogLevel::debug}};
  CHECK(mgw::log_targets_of(options_with(target), mgw::LogColours::never).error() ==
        "log.targets.levels: no category 'lmgc'");
}
