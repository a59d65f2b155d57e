# mgw_warnings: the warnings that all code of the project compiles without.
add_library(mgw_warnings INTERFACE)
target_compile_options(mgw_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
  -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual -Wimplicit-fallthrough
  -Wdouble-promotion -Wformat=2 -Wcast-align>)
if(MGW_WARNINGS_AS_ERRORS)
  target_compile_options(mgw_warnings INTERFACE -Werror)
endif()
