// The shipped example is generated from the table of keys and must not differ from it.

#include "conf/config_example.h"

#include "conf/config_keys.h"
#include "conf/config_loader.h"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace {

std::string generated_example() {
  std::ostringstream out;
  conf::write_example(out);
  return out.str();
}

}  // namespace

TEST_CASE("write conf/mgw.example.yaml anew" * doctest::skip()) {
  std::ofstream file(MGW_EXAMPLE_FILE);
  conf::write_example(file);
}

TEST_CASE("the shipped example file is the one that the table of keys generates") {
  std::ifstream file(MGW_EXAMPLE_FILE);
  std::ostringstream shipped;
  shipped << file.rdbuf();
  CHECK_MESSAGE(shipped.str() == generated_example(),
                "conf_unit_test --no-skip -tc='write conf/mgw.example.yaml anew'");
}

TEST_CASE("loading the example gives exactly the defaults") {
  const auto config = conf::load_text(generated_example(), "example");
  REQUIRE_MESSAGE(config.has_value(), (config ? "" : config.error().to_string()));
  CHECK(*config == conf::Config{});
}

TEST_CASE("the example names every key, with what it accepts, in lines of at most 100 columns") {
  const std::string example = generated_example();
  for (const conf::Setting& setting : conf::all_settings()) {
    const std::string_view name = setting.path.substr(setting.path.rfind('.') + 1);
    CHECK_MESSAGE(example.find(' ' + std::string(name) + ": ") != std::string::npos, setting.path);
    CHECK_MESSAGE(!setting.help.empty(), setting.path);
  }
  std::istringstream lines(example);
  for (std::string line; std::getline(lines, line);) {
    CHECK_MESSAGE(line.size() <= 100, line);
  }
}
