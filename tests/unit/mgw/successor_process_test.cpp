// How a gateway's successor is called.

#include "mgw/successor_process.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using Arguments = std::vector<std::string>;

TEST_CASE("a successor has the arguments of its predecessor, and takes over") {
  CHECK(mgw::successor_arguments({"/usr/bin/mgw", "-c", "/etc/mgw/mgw.yaml"}) ==
        Arguments{"/usr/bin/mgw", "-c", "/etc/mgw/mgw.yaml", "--take-over"});
}

TEST_CASE("a successor's own successor is not told twice to take over") {
  const Arguments arguments{"mgw", "--take-over", "-c", "a b"};
  CHECK(mgw::successor_arguments(arguments) == arguments);
}
