# SPDX-License-Identifier: GPL-3.0-or-later
# The program. kvlab_cli is what needs no Qt: every subcommand but those of the window. The window's part is kvlab_app,
# or app/windowless in its place.
find_package(CLI11 REQUIRED)

file(GLOB cli_sources CONFIGURE_DEPENDS app/plain/*.cpp app/plain/*.h app/cli/*.cpp app/cli/*.h)
add_library(kvlab_cli STATIC ${cli_sources})
kvlab_room(kvlab_cli app/plain app/cli)
target_link_libraries(kvlab_cli PUBLIC kvlab_core PRIVATE CLI11::CLI11)
kvlab_precompile(kvlab_cli)
kvlab_unity(kvlab_cli 14 ${cli_sources})
target_compile_definitions(kvlab_cli PRIVATE KVLAB_VERSION="${PROJECT_VERSION}"
  KVLAB_SOURCE_RESOURCES="${CMAKE_SOURCE_DIR}/resources"
  KVLAB_INSTALL_RESOURCES="${CMAKE_INSTALL_FULL_DATADIR}/kvlab")

if(KVLAB_GUI)
  include(app/gui.cmake)
  add_executable(kvlab app/main.cpp)
  target_link_libraries(kvlab PRIVATE kvlab_app kvlab_warnings)
else()
  include(app/windowless/quickjs.cmake)
  file(GLOB windowless_sources CONFIGURE_DEPENDS app/windowless/*.cpp app/windowless/*.h)
  add_executable(kvlab app/main.cpp ${windowless_sources})
  kvlab_room(kvlab app/windowless)
  target_include_directories(kvlab PRIVATE ${CMAKE_BINARY_DIR}/include/prelude)
  target_link_libraries(kvlab PRIVATE kvlab_cli quickjs kvlab_warnings)
endif()
target_compile_definitions(kvlab PRIVATE KVLAB_VERSION="${PROJECT_VERSION}")
include(app/install.cmake OPTIONAL)
