# mgw_precompile(target HEADER...): what nearly every file of the target includes is read once. Only under the sanitizers,
# whose builds are made anew most often; the others show when a file lacks an include of its own.
set(MGW_PRECOMPILED_STANDARD <algorithm> <array> <chrono> <cstring> <functional> <memory> <optional> <span> <string>
  <string_view> <utility> <vector>)
function(mgw_precompile target)
  if(MGW_SANITIZE AND NOT MGW_FUZZ AND ARGN)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

# One static library per folder. mgw_layer(io SOURCES a.cpp ... LINK x y) makes the target mgw_io with
# the alias mgw::io; headers are included from the root of the repository ("io/time.h").
function(mgw_layer name)
  cmake_parse_arguments(LAYER "" "" "SOURCES;LINK;LINK_PRIVATE;PRECOMPILE" ${ARGN})
  add_library(mgw_${name} STATIC ${LAYER_SOURCES})
  add_library(mgw::${name} ALIAS mgw_${name})
  target_include_directories(mgw_${name} PUBLIC "${PROJECT_SOURCE_DIR}")
  target_link_libraries(mgw_${name} PUBLIC ${LAYER_LINK} PRIVATE mgw_warnings ${LAYER_LINK_PRIVATE})
  mgw_precompile(mgw_${name} ${MGW_PRECOMPILED_STANDARD} ${LAYER_PRECOMPILE})
endfunction()

# mgw_program(rtpload SOURCES ... LINK ...) makes a program in the root of the build folder.
function(mgw_program name)
  cmake_parse_arguments(PROGRAM "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${PROGRAM_SOURCES})
  target_link_libraries(${name} PRIVATE mgw_warnings ${PROGRAM_LINK})
endfunction()

# mgw_compile_quickly(target) is for code whose speed matters to nobody but who waits for the compiler: what checks other
# code. Under the sanitizers optimising takes half of the compiler's time. The other builds keep their optimisation: an
# inline function stands once in a program, and the packet path must not get an unoptimised one.
function(mgw_compile_quickly target)
  if(MGW_SANITIZE AND NOT MGW_FUZZ)
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

# mgw_compile_sources_quickly(FILE...): the same for single files of the current folder.
function(mgw_compile_sources_quickly)
  if(MGW_SANITIZE AND NOT MGW_FUZZ)
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -O0 SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# mgw_test(rtp_unit_test SOURCES ... LINK ... [LABELS ...] [ARGUMENTS ...]) makes a doctest program under tests/ and
# registers it with ctest; doctest's main() comes from tests/doctest_main.cpp, which is compiled once.
function(mgw_test name)
  cmake_parse_arguments(TEST "" "" "SOURCES;LINK;LABELS;ARGUMENTS;PRECOMPILE" ${ARGN})
  add_executable(${name} ${TEST_SOURCES})
  target_link_libraries(${name} PRIVATE mgw_warnings mgw_doctest_main doctest::doctest ${TEST_LINK})
  mgw_compile_quickly(${name})
  mgw_precompile(${name} ${TEST_PRECOMPILE})
  # Assertions as function calls instead of code of their own: the tests compile faster.
  target_compile_definitions(${name} PRIVATE DOCTEST_CONFIG_SUPER_FAST_ASSERTS)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  add_test(NAME ${name} COMMAND ${name} ${TEST_ARGUMENTS})
  if(TEST_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${TEST_LABELS}")
  endif()
endfunction()

# mgw_embed_bpf(target source.bpf.c HEADER io/x.h NAME kName DEPENDS ...) compiles a program for the kernel with clang and
# makes the file a constant of the target. It needs no facts about the kernel that it is built on.
find_program(MGW_BPF_CLANG NAMES clang clang-14 clang-15 clang-16 REQUIRED DOC "clang, for programs in the kernel")
find_program(MGW_BPF_STRIP NAMES llvm-strip llvm-strip-14 llvm-strip-15 llvm-strip-16 DOC "takes debug information out")
function(mgw_embed_bpf target source)
  cmake_parse_arguments(BPF "" "HEADER;NAME" "DEPENDS" ${ARGN})
  get_filename_component(stem "${source}" NAME_WLE)
  set(object "${CMAKE_CURRENT_BINARY_DIR}/${stem}.o")
  set(strip)
  if(MGW_BPF_STRIP)
    set(strip COMMAND "${MGW_BPF_STRIP}" -g "${object}")  # BTF, which describes the maps, stays
  endif()
  add_custom_command(OUTPUT "${object}.cpp"
    COMMAND "${MGW_BPF_CLANG}" -O2 -g -target bpf -mcpu=v3 -Wall -Wextra -Werror "-I${PROJECT_SOURCE_DIR}"
      -idirafter "/usr/include/${CMAKE_LIBRARY_ARCHITECTURE}" -c "${CMAKE_CURRENT_SOURCE_DIR}/${source}" -o "${object}"
    ${strip}
    COMMAND "${CMAKE_COMMAND}" "-DINPUT=${object}" "-DOUTPUT=${object}.cpp" -DHEADER=${BPF_HEADER} -DNAME=${BPF_NAME}
      -P "${PROJECT_SOURCE_DIR}/tools/cmake/EmbedFile.cmake"
    DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${source}" ${BPF_DEPENDS} "${PROJECT_SOURCE_DIR}/tools/cmake/EmbedFile.cmake"
    COMMENT "Compiling ${source} for the kernel" VERBATIM)
  target_sources(${target} PRIVATE "${object}.cpp")
endfunction()
