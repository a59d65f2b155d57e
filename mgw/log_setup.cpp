#include "mgw/log_setup.h"

#include "io/log.h"

#include <fmt/format.h>

namespace mgw {

namespace {

static_assert(static_cast<int>(conf::LogLevel::fatal) == static_cast<int>(io::LogLevel::fatal));
static_assert(conf::kLogTargetsMax == io::kLogTargetsMax);

io::LogLevel level_of(conf::LogLevel level) {
  return static_cast<io::LogLevel>(level);
}

io::LogTarget::Kind kind_of(conf::LogTarget::Kind kind) {
  switch (kind) {
    case conf::LogTarget::Kind::file:
      return io::LogTarget::Kind::file;
    case conf::LogTarget::Kind::syslog:
      return io::LogTarget::Kind::syslog;
    case conf::LogTarget::Kind::systemd_journal:
      return io::LogTarget::Kind::journal;
    case conf::LogTarget::Kind::gsmtap:
      return io::LogTarget::Kind::gsmtap;
    case conf::LogTarget::Kind::alarms:
      return io::LogTarget::Kind::alarms;
    case conf::LogTarget::Kind::standard_error:
      break;
  }
  return io::LogTarget::Kind::standard_error;
}

io::LogStyle::File file_of(conf::LogPrintFile file) {
  switch (file) {
    case conf::LogPrintFile::path:
      return io::LogStyle::File::path;
    case conf::LogPrintFile::basename:
      return io::LogStyle::File::basename;
    case conf::LogPrintFile::off:
      break;
  }
  return io::LogStyle::File::off;
}

io::LogStyle style_of(const conf::LogTarget& target) {
  io::LogStyle style;
  style.layout = target.json ? io::LogStyle::Layout::json : io::LogStyle::Layout::osmocom;
  style.colour = target.colour;
  style.timestamp = target.timestamp;
  style.extended_timestamp = target.extended_timestamp;
  style.thread_id = target.thread_id;
  style.category = target.category;
  style.category_hex = target.category_hex;
  style.level = target.show_level;
  style.file = file_of(target.file);
  style.file_last = target.file_last;
  return style;
}

tl::expected<io::LogFilter, std::string> filter_of(const conf::LogTarget& target) {
  io::LogFilter filter;
  filter.all = target.filter_all;
  filter.set_all(level_of(target.level));
  if (target.force_all) {
    filter.force_all = level_of(*target.force_all);
  }
  for (const conf::LogCategoryLevel& one : target.levels) {
    const auto category = io::find_log_category(one.category);
    if (!category) {
      return tl::unexpected(fmt::format("log.targets.levels: no category '{}'", one.category));
    }
    filter.set(*category, level_of(one.level));
  }
  return filter;
}

io::LogTarget simple_target(const conf::LogOptions& options) {
  io::LogTarget target;
  target.kind =
      options.file.empty() ? io::LogTarget::Kind::standard_error : io::LogTarget::Kind::file;
  target.destination = options.file;
  target.filter.set_all(level_of(options.level));
  target.style.layout = options.json ? io::LogStyle::Layout::json : io::LogStyle::Layout::standard;
  return target;
}

}  // namespace

tl::expected<std::vector<io::LogTarget>, std::string> log_targets_of(
    const conf::LogOptions& options, LogColours colours) {
  std::vector<io::LogTarget> targets;
  for (const conf::LogTarget& wanted : options.targets) {
    auto filter = filter_of(wanted);
    if (!filter) {
      return tl::unexpected(filter.error());
    }
    io::LogTarget& target = targets.emplace_back();
    target.kind = kind_of(wanted.kind);
    target.destination = wanted.destination;
    target.raw = wanted.raw;
    target.alarms = wanted.alarms;
    target.filter = *filter;
    target.style = style_of(wanted);
  }
  if (targets.empty()) {
    targets.push_back(simple_target(options));
  }
  for (io::LogTarget& target : targets) {
    target.style.colour = target.style.colour && colours == LogColours::on_terminals;
    if (target.destination.empty() && target.kind == io::LogTarget::Kind::syslog) {
      target.destination = "daemon";
    } else if (target.destination.empty() && target.kind == io::LogTarget::Kind::gsmtap) {
      target.destination = "127.0.0.1";
    }
  }
  return targets;
}

tl::expected<std::vector<std::string>, std::string> set_up_log(const conf::LogOptions& options,
                                                               LogColours colours) {
  const auto targets = log_targets_of(options, colours);
  if (!targets) {
    return tl::unexpected(targets.error());
  }
  auto set = io::set_log_targets(*targets);
  if (!set) {
    return set;
  }
  for (const std::string& warning : *set) {
    io::log(io::LogLevel::warning, io::LogCategory::lglobal, "{}", warning);
  }
  if (targets->size() > 1) {
    set->clear();
  }
  return set;
}

}  // namespace mgw
