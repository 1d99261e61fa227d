# SPDX-License-Identifier: GPL-3.0-or-later
# QuickJS (quickjs-ng), the script engine of a program without Qt. Debian 12 has none; PyPI has its sources, in the
# package of a binding, which pip fetches once into build/quickjs.
set(quickjs_version 0.17.0.2)
set(quickjs_wanted 43d2e48272208721a7aaea8e3f02d4b9318f12ef20cc4f5421b59d9a470706ef)
set(quickjs_folder ${CMAKE_SOURCE_DIR}/build/quickjs)
set(quickjs_archive ${quickjs_folder}/quickjs_ng-${quickjs_version}.tar.gz)
if(NOT EXISTS ${quickjs_archive})
  execute_process(COMMAND python3 -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all:
    --dest ${quickjs_folder} quickjs-ng==${quickjs_version} ERROR_VARIABLE quickjs_error)
endif()
set(quickjs_hash none)
if(EXISTS ${quickjs_archive})
  file(SHA256 ${quickjs_archive} quickjs_hash)
endif()
if(NOT quickjs_hash STREQUAL quickjs_wanted)
  message(FATAL_ERROR "QuickJS is not there. Connect this machine to PyPI, or put quickjs_ng-${quickjs_version}.tar.gz "
    "into ${quickjs_folder}.\n${quickjs_error}")
endif()
set(quickjs_sources ${quickjs_folder}/quickjs_ng-${quickjs_version}/upstream-quickjs)
if(NOT EXISTS ${quickjs_sources}/quickjs.c)
  file(ARCHIVE_EXTRACT INPUT ${quickjs_archive} DESTINATION ${quickjs_folder})
endif()

enable_language(C)
add_library(quickjs STATIC ${quickjs_sources}/quickjs.c ${quickjs_sources}/libregexp.c ${quickjs_sources}/libunicode.c
  ${quickjs_sources}/dtoa.c)
target_include_directories(quickjs SYSTEM PUBLIC ${quickjs_sources})
target_compile_definitions(quickjs PRIVATE _GNU_SOURCE)
target_compile_options(quickjs PRIVATE -w)
target_link_libraries(quickjs PUBLIC m)
target_link_options(quickjs INTERFACE -Wl,--wrap=hypot)  # script_engine.cpp has another

# The side of scripts, as a text of the program.
file(READ app/script/prelude.js prelude)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS app/script/prelude.js)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/include/prelude/kvlab_prelude.h CONTENT
  "constexpr char kPrelude[] = R\"prelude(@prelude@)prelude\";\n" @ONLY)
