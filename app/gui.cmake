# SPDX-License-Identifier: GPL-3.0-or-later
# The window: widgets/ sees core/api only, app/ joins engine and views.
find_package(Qt6 6.4 REQUIRED COMPONENTS Core Gui Widgets Qml Svg PrintSupport)
find_package(QCustomPlotQt6 REQUIRED)

file(GLOB_RECURSE widget_sources CONFIGURE_DEPENDS widgets/*.cpp widgets/*.h)
add_library(kvlab_widgets STATIC ${widget_sources} resources/kvlab.qrc)
set_target_properties(kvlab_widgets PROPERTIES AUTOMOC ON AUTORCC ON)
kvlab_room(kvlab_widgets widgets)
target_link_libraries(kvlab_widgets PUBLIC kvlab_api Qt6::Widgets
  PRIVATE QCustomPlotQt6::QCustomPlotQt6 Qt6::PrintSupport)
kvlab_precompile(kvlab_widgets <QtWidgets>)
kvlab_unity(kvlab_widgets 14 ${widget_sources})

file(GLOB_RECURSE app_sources CONFIGURE_DEPENDS app/*.cpp app/*.h)
list(FILTER app_sources EXCLUDE REGEX "/app/(main\\.cpp|tools/|plain/|cli/|windowless/)")
add_library(kvlab_app STATIC ${app_sources} app/app.qrc)
set_target_properties(kvlab_app PROPERTIES AUTOMOC ON AUTORCC ON)
kvlab_room(kvlab_app app)
target_link_libraries(kvlab_app PUBLIC kvlab_cli kvlab_widgets Qt6::Qml Qt6::Svg PRIVATE spdlog::spdlog)
target_link_libraries(kvlab_cli PUBLIC $<LINK_ONLY:kvlab_app>)  # windowPart()
kvlab_precompile(kvlab_app <QtWidgets>)
kvlab_unity(kvlab_app 14 ${app_sources})
# It sees the engine, where Qt's macro `slots` is a name: it is compiled alone.
set_source_files_properties(app/engine/core_engine.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON
  SKIP_UNITY_BUILD_INCLUSION ON)
target_compile_definitions(kvlab_app PRIVATE KVLAB_VERSION="${PROJECT_VERSION}")
