// Log lines byte by byte: the record holds the time, so no clock is asked.
#include "io/log_format.h"

#include "io/log_category.h"

#include <doctest/doctest.h>
#include <stdlib.h>
#include <time.h>

#include <cstdint>
#include <string>

using io::LogCategory;
using io::LogColour;
using io::LogLevel;
using io::LogRecord;
using io::LogStyle;

namespace {

constexpr std::string_view kPlace = __FILE__;

/// Local time is UTC, or another one, until the end of the test.
class TimeZone {
 public:
  explicit TimeZone(const char* zone = "UTC0") {
    ::setenv("TZ", zone, 1);
    ::tzset();
  }
  TimeZone(const TimeZone&) = delete;
  TimeZone& operator=(const TimeZone&) = delete;
  TimeZone(TimeZone&&) = delete;
  TimeZone& operator=(TimeZone&&) = delete;
  ~TimeZone() {
    ::unsetenv("TZ");
    ::tzset();
  }
};

/// 2026-01-31 12:34:56.789012 UTC
constexpr std::chrono::system_clock::time_point kTime{
    std::chrono::microseconds(1'769'862'896'789'012)};

LogRecord record(std::string_view message = "connection created") {
  LogRecord result = io::make_log_record(
      io::LogAt(LogLevel::notice, kPlace.data(), 77), LogCategory::lmgcp,
      {{"endpoint", "rtpbridge/1@mgw"}, {"conn", "0123ABCD"}, {"call", "a b"}, {"trans", 42}},
      message, kTime);
  result.thread_id = 4711;
  return result;
}

/// Nothing but the message, in Osmocom's layout.
LogStyle bare() {
  LogStyle style;
  style.category_hex = false;
  style.file = LogStyle::File::off;
  return style;
}

const std::string kFields = " endpoint=rtpbridge/1@mgw conn=0123ABCD call=\"a b\" trans=42";

std::string text(const LogRecord& of, const LogStyle& style, LogColour colour = LogColour::off) {
  return io::format_log(of, style, colour);
}

}  // namespace

TEST_CASE("the standard layout has time, level, category, message and fields") {
  LogStyle style;
  style.layout = LogStyle::Layout::standard;
  {
    const TimeZone zone;
    CHECK(text(record(), style) ==
          "2026-01-31T12:34:56.789+00:00 notice lmgcp connection created" + kFields);
    CHECK(text(record(), style, LogColour::on) ==
          "2026-01-31T12:34:56.789+00:00 \x1b[1mnotice\x1b[0m lmgcp connection created" + kFields);
  }
  const TimeZone zone("XXX3:30");
  CHECK(text(record(), style) ==
        "2026-01-31T09:04:56.789-03:30 notice lmgcp connection created" + kFields);
}

TEST_CASE("each print option of osmo-mgw adds its part, in osmo-mgw's order") {
  const TimeZone zone;
  LogStyle style = bare();
  const auto with = [&](auto change) {
    LogStyle changed = bare();
    change(changed);
    return text(record("m"), changed);
  };
  const std::string end = "m" + kFields;
  CHECK(text(record("m"), style) == end);
  CHECK(with([](LogStyle& s) { s.timestamp = true; }) == "Sat Jan 31 12:34:56 2026 " + end);
  CHECK(with([](LogStyle& s) { s.extended_timestamp = true; }) == "20260131123456789 " + end);
  CHECK(with([](LogStyle& s) { s.timestamp = s.extended_timestamp = true; }) ==
        "20260131123456789 " + end);
  CHECK(with([](LogStyle& s) { s.thread_id = true; }) == "4711 " + end);
  CHECK(with([](LogStyle& s) { s.category = true; }) == "DLMGCP " + end);
  CHECK(with([](LogStyle& s) { s.category_hex = true; }) == "<0013> " + end);
  CHECK(with([](LogStyle& s) { s.level = true; }) == "NOTICE " + end);
  const std::string name = "tests/unit/io/log_format_test.cpp:77";
  CHECK(with([](LogStyle& s) { s.file = LogStyle::File::path; }) == name + " " + end);
  CHECK(with([](LogStyle& s) { s.file = LogStyle::File::basename; }) ==
        "log_format_test.cpp:77 " + end);
  CHECK(with([](LogStyle& s) {
          s.file = LogStyle::File::path;
          s.file_last = true;
        }) == end + " (" + name + ")");
  style = {};
  style.extended_timestamp = style.thread_id = style.category = style.level = true;
  style.file = LogStyle::File::basename;
  CHECK(text(record("m"), style) ==
        "20260131123456789 4711 DLMGCP <0013> NOTICE log_format_test.cpp:77 " + end);
  CHECK(text(record("m"), style, LogColour::on) ==
        "20260131123456789 4711 \x1b[1mDLMGCP <0013> NOTICE \x1b[0mlog_format_test.cpp:77 " + end);
}

TEST_CASE("a JSON line is one object with the fields as members") {
  const TimeZone zone;
  LogStyle style;
  style.layout = LogStyle::Layout::json;
  CHECK(text(record("m"), style) ==
        R"({"time":"2026-01-31T12:34:56.789+00:00","level":"notice","category":"lmgcp",)"
        R"("message":"m","endpoint":"rtpbridge/1@mgw","conn":"0123ABCD","call":"a b","trans":42})");
}

TEST_CASE("whatever bytes a JSON line quotes, it is JSON and UTF-8") {
  LogStyle style;
  style.layout = LogStyle::Layout::json;
  const auto quoted = [&](std::string_view message) {
    const std::string line =
        text(io::make_log_record(LogLevel::info, LogCategory::rtp, {}, message, kTime), style);
    const std::size_t begin = line.find("\"message\":\"") + 11;
    return line.substr(begin, line.size() - begin - 2);
  };
  CHECK(quoted("a\"b\\c\n\x1b\x7f") == R"(a\"b\\c\u000a\u001b\u007f)");
  CHECK(quoted("\xc2\x9b\xc2\x80\xc2\xa0") == "\\u009b\\u0080\xc2\xa0");
  CHECK(quoted(std::string_view("\0", 1)) == R"(\u0000)");
  CHECK(quoted("ä€😀") == "ä€😀");
  CHECK(quoted("\xff"
               "a\xc3") == R"(\ufffda\ufffd)");
  CHECK(quoted("\xc0\x80") == R"(\ufffd\ufffd)");                      // overlong
  CHECK(quoted("\xe0\x80\x80") == R"(\ufffd\ufffd\ufffd)");            // overlong
  CHECK(quoted("\xed\xa0\x80") == R"(\ufffd\ufffd\ufffd)");            // surrogate
  CHECK(quoted("\xf4\x90\x80\x80") == R"(\ufffd\ufffd\ufffd\ufffd)");  // beyond U+10FFFF
  CHECK(quoted("\xf0\x9f\x98") == R"(\ufffd\ufffd\ufffd)");            // cut off
}

TEST_CASE("values that could be taken for something else are quoted, control bytes are shown") {
  const auto value = [](std::string_view text_of_value) {
    return io::format_log_message(
        io::make_log_record(LogLevel::info, LogCategory::rtp, {{"k", text_of_value}}, "m", kTime));
  };
  CHECK(value("plain:1/2") == "m k=plain:1/2");
  CHECK(value("a b") == "m k=\"a b\"");
  CHECK(value("a=b") == "m k=\"a=b\"");
  CHECK(value("a\"b\\") == R"(m k="a\"b\\")");
  CHECK(value("a\r\nx") == R"(m k=a\x0d\x0ax)");
  CHECK(value("") == "m");
}

TEST_CASE("long messages and values are cut to their limits") {
  const std::string longer(5000, 'x');
  const LogRecord cut =
      io::make_log_record(LogLevel::info, LogCategory::rtp, {{"k", longer}}, longer, kTime);
  CHECK(cut.message.size() == io::kLogMessageBytesMax);
  REQUIRE(cut.fields.size() == 1);
  CHECK(cut.fields[0].value.size() == io::kLogValueBytesMax);
}

TEST_CASE("a GSMTAP packet has the header of version 2 and the fields of a log line") {
  const std::string packet = io::format_log_gsmtap(record("m"), 0x01020304);
  const auto part = [&packet](std::size_t offset, std::size_t size) {
    return packet.substr(offset, size);
  };
  const auto padded = [](std::string value, std::size_t width) {
    value.resize(width);
    return value;
  };
  CHECK(part(0, 16) == padded("\x02\x04\x10", 16));
  CHECK(part(16, 8) == std::string("\x69\x7d\xf6\xf0\x00\x0c\x0a\x14", 8));  // 789,012 us
  CHECK(part(24, 16) == padded("mgw", 16));
  CHECK(part(40, 4) == "\x01\x02\x03\x04");
  CHECK(part(44, 4) == std::string("\x05\0\0\0", 4));
  CHECK(part(48, 16) == padded("DLMGCP", 16));
  CHECK(part(64, 32) == padded("sts/unit/io/log_format_test.cpp", 32));
  CHECK(part(96, 4) == std::string("\0\0\0\x4d", 4));
  CHECK(packet.substr(100) == "m" + kFields);
}

TEST_CASE("categories and levels are found by their names in any letter case") {
  CHECK(io::find_log_category("lmgcp") == LogCategory::lmgcp);
  CHECK(io::find_log_category("RTP") == LogCategory::rtp);
  CHECK_FALSE(io::find_log_category("lmgc").has_value());
  CHECK_FALSE(io::find_log_category("").has_value());
  for (std::size_t i = 0; i < io::kLogCategories.size(); ++i) {
    CHECK(io::find_log_category(io::kLogCategories[i].name) == static_cast<LogCategory>(i));
  }
  CHECK(io::printed_name(LogCategory::rtp) == "DRTP");
  for (const LogLevel level : {LogLevel::debug, LogLevel::info, LogLevel::notice, LogLevel::warning,
                               LogLevel::error, LogLevel::fatal}) {
    CHECK(io::find_log_level(io::to_string(level)) == level);
  }
  CHECK(io::find_log_level("FATAL") == LogLevel::fatal);
  CHECK_FALSE(io::find_log_level("critical").has_value());
}

TEST_CASE("a filter passes by category unless all is off or forced") {
  io::LogFilter filter;
  CHECK(filter.passes(LogLevel::notice, LogCategory::rtp));
  CHECK_FALSE(filter.passes(LogLevel::info, LogCategory::rtp));
  filter.set(LogCategory::rtp, LogLevel::debug);
  CHECK(filter.passes(LogLevel::debug, LogCategory::rtp));
  CHECK_FALSE(filter.passes(LogLevel::info, LogCategory::e1));
  filter.force_all = LogLevel::error;
  CHECK_FALSE(filter.passes(LogLevel::warning, LogCategory::rtp));
  CHECK(filter.passes(LogLevel::error, LogCategory::rtp));
  filter.force_all.reset();
  CHECK(filter.passes(LogLevel::debug, LogCategory::rtp));
  filter.set_all(LogLevel::fatal);
  CHECK_FALSE(filter.passes(LogLevel::error, LogCategory::rtp));
  filter.all = false;
  CHECK_FALSE(filter.passes(LogLevel::fatal, LogCategory::rtp));
}
