# SPDX-License-Identifier: GPL-3.0-or-later
# The window and the program: widgets/ sees core/api only, app/ joins engine and views.
find_package(Qt6 6.4 REQUIRED COMPONENTS Core Gui Widgets Qml Svg PrintSupport)
find_package(QCustomPlotQt6 REQUIRED)
find_package(CLI11 REQUIRED)

file(GLOB_RECURSE widget_sources CONFIGURE_DEPENDS widgets/*.cpp widgets/*.h)
add_library(kvlab_widgets STATIC ${widget_sources} resources/kvlab.qrc)
set_target_properties(kvlab_widgets PROPERTIES AUTOMOC ON AUTORCC ON)
kvlab_room(kvlab_widgets widgets)
target_link_libraries(kvlab_widgets PUBLIC kvlab_api Qt6::Widgets
  PRIVATE QCustomPlotQt6::QCustomPlotQt6 Qt6::PrintSupport)
kvlab_precompile(kvlab_widgets <QtWidgets>)
kvlab_unity(kvlab_widgets 14 ${widget_sources})

file(GLOB_RECURSE app_sources CONFIGURE_DEPENDS app/*.cpp app/*.h)
list(FILTER app_sources EXCLUDE REGEX "/app/(main\\.cpp|tools/)")
add_library(kvlab_app STATIC ${app_sources} app/app.qrc)
set_target_properties(kvlab_app PROPERTIES AUTOMOC ON AUTORCC ON)
kvlab_room(kvlab_app app)
target_link_libraries(kvlab_app PUBLIC kvlab_core kvlab_widgets Qt6::Qml Qt6::Svg
  PRIVATE CLI11::CLI11 spdlog::spdlog)
kvlab_precompile(kvlab_app <QtWidgets>)
kvlab_unity(kvlab_app 14 ${app_sources})
# These see the engine, where Qt's macro `slots` is a name: they are compiled alone.
set_source_files_properties(app/engine/core_engine.cpp app/engine/core_replay.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON
  SKIP_UNITY_BUILD_INCLUSION ON)
target_compile_definitions(kvlab_app PRIVATE KVLAB_VERSION="${PROJECT_VERSION}"
  KVLAB_SOURCE_RESOURCES="${CMAKE_SOURCE_DIR}/resources"
  KVLAB_INSTALL_RESOURCES="${CMAKE_INSTALL_FULL_DATADIR}/kvlab")

add_executable(kvlab app/main.cpp)
target_link_libraries(kvlab PRIVATE kvlab_app kvlab_warnings)
target_compile_definitions(kvlab PRIVATE KVLAB_VERSION="${PROJECT_VERSION}")
include(app/install.cmake OPTIONAL)
