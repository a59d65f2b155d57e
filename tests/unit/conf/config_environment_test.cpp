// The environment variables that choose the backend.

#include "conf/config_environment.h"

#include <doctest/doctest.h>

#include <map>
#include <string>

namespace {

using Variables = std::map<std::string, std::string>;

tl::expected<conf::BackendChoice, conf::ConfigError> backend_with(
    const Variables& variables, conf::BackendChoice configured = conf::BackendChoice::automatic) {
  conf::Config config;
  config.io.backend = configured;
  const auto lookup = [&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
  if (auto applied = conf::apply_environment(config, lookup); !applied) {
    return tl::unexpected(applied.error());
  }
  return config.io.backend;
}

}  // namespace

TEST_CASE("the environment overrides the configured backend") {
  using enum conf::BackendChoice;
  CHECK(backend_with({}, poll) == poll);
  CHECK(backend_with({{"MGW_IO_BACKEND", "poll"}}, io_uring) == poll);
  CHECK(backend_with({{"MGW_IO_BACKEND", "io_uring"}}, poll) == io_uring);
  CHECK(backend_with({{"MGW_IO_BACKEND", "auto"}}, poll) == automatic);
  CHECK(backend_with({{"LIBOSMO_IO_BACKEND", "POLL"}}, io_uring) == poll);
  CHECK(backend_with({{"LIBOSMO_IO_BACKEND", "IO_URING"}}, poll) == io_uring);
  CHECK(backend_with({{"MGW_IO_BACKEND", "Poll"}}, io_uring) == poll);
}

TEST_CASE("the gateway's own variable wins over the one of libosmocore, unless it is empty") {
  using enum conf::BackendChoice;
  CHECK(backend_with({{"MGW_IO_BACKEND", "poll"}, {"LIBOSMO_IO_BACKEND", "IO_URING"}}) == poll);
  CHECK(backend_with({{"MGW_IO_BACKEND", ""}, {"LIBOSMO_IO_BACKEND", "POLL"}}) == poll);
  CHECK(backend_with({{"MGW_IO_BACKEND", ""}, {"LIBOSMO_IO_BACKEND", ""}}, poll) == poll);
  // A wrong value of the variable that is not used is not looked at.
  CHECK(backend_with({{"MGW_IO_BACKEND", "poll"}, {"LIBOSMO_IO_BACKEND", "EPOLL"}}) == poll);
}

TEST_CASE("the environment overrides whether the kernel forwards") {
  const auto kernel_path_with = [](const char* value) {
    conf::Config config;
    const auto applied = conf::apply_environment(config, [&](const char* name) {
      return std::string(name) == "MGW_KERNEL_PATH" ? value : nullptr;
    });
    return applied
               ? std::string() + static_cast<char>('0' + static_cast<int>(config.io.kernel_path))
               : applied.error().to_string();
  };
  CHECK(kernel_path_with(nullptr) == "0");
  CHECK(kernel_path_with("") == "0");
  CHECK(kernel_path_with("off") == "0");
  CHECK(kernel_path_with("AUTO") == "1");
  CHECK(kernel_path_with("xdp") == "2");
  CHECK(kernel_path_with("tc") == "3");
  CHECK(kernel_path_with("bpf") ==
        "MGW_KERNEL_PATH: 'bpf' is no kernel fast path: it must be off, auto, xdp or tc");
}

TEST_CASE("an unknown backend in the environment is an error that names the variable") {
  const auto own = backend_with({{"MGW_IO_BACKEND", "epoll"}});
  REQUIRE_FALSE(own.has_value());
  CHECK(own.error().to_string() ==
        "MGW_IO_BACKEND: 'epoll' is not a backend: it must be auto, poll or io_uring");
  const auto osmo = backend_with({{"LIBOSMO_IO_BACKEND", "AUTO"}});
  REQUIRE_FALSE(osmo.has_value());
  CHECK(osmo.error().to_string() ==
        "LIBOSMO_IO_BACKEND: 'AUTO' is not a backend: it must be POLL or IO_URING");
}
