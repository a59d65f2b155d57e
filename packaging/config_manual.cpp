// The keys of the configuration as a part of a manual page, for packaging/manual_page.py.

#include "conf/config_manual.h"

#include <iostream>

int main() {
  conf::write_manual(std::cout);
}
