# SPDX-License-Identifier: GPL-3.0-or-later
# The files of an installation, and the Debian package made of them. The component `program` is what the wheel kvlab-gui
# holds (app/wheel): the program and what it reads.
install(TARGETS kvlab RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
if(TARGET kvlab_cuda)
  install(TARGETS kvlab_cuda LIBRARY DESTINATION lib/kvlab)
endif()
install(DIRECTORY resources/bench resources/clinic resources/demo resources/models resources/prompts resources/scripts resources/selftest resources/tests resources/sweeps resources/python DESTINATION ${CMAKE_INSTALL_DATADIR}/kvlab
  COMPONENT program PATTERN "__pycache__" EXCLUDE PATTERN "train.py" EXCLUDE PATTERN "evaluate.py" EXCLUDE)
install(DIRECTORY resources/gates resources/gists resources/lens DESTINATION ${CMAKE_INSTALL_DATADIR}/kvlab COMPONENT program
  PATTERN "__pycache__" EXCLUDE)  # with train.py: they serve any model
install(DIRECTORY resources/manual DESTINATION ${CMAKE_INSTALL_DATADIR}/kvlab COMPONENT program PATTERN "*.js" EXCLUDE)
install(FILES resources/script_api.d.ts DESTINATION ${CMAKE_INSTALL_DATADIR}/kvlab COMPONENT program)
install(FILES resources/packaging/kvlab.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
if(NOT KVLAB_GUI)
  return()  # an archive holds it (app/wheel/build --no-window)
endif()

install(FILES resources/packaging/kvlab.desktop DESTINATION ${CMAKE_INSTALL_DATADIR}/applications)
install(FILES resources/packaging/org.kvlab.kvlab.metainfo.xml DESTINATION ${CMAKE_INSTALL_DATADIR}/metainfo)
install(FILES resources/icons/kvlab.svg DESTINATION ${CMAKE_INSTALL_DATADIR}/icons/hicolor/scalable/apps)
install(FILES resources/fonts/OFL.txt DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)

# Raster icons for desktops that do not draw SVG, made from the drawing by the program's own Qt.
add_executable(kvlab_icons EXCLUDE_FROM_ALL app/tools/render_icon.cpp)
target_link_libraries(kvlab_icons PRIVATE Qt6::Gui Qt6::Svg kvlab_warnings)
set(icon_sizes 16 24 32 48 64 128 256 512)
set(icon_files ${icon_sizes})
list(TRANSFORM icon_files REPLACE "(.+)" "${CMAKE_BINARY_DIR}/icons/\\1.png")
add_custom_command(OUTPUT ${icon_files}
  COMMAND ${CMAKE_COMMAND} -E env QT_QPA_PLATFORM=offscreen $<TARGET_FILE:kvlab_icons>
    ${CMAKE_SOURCE_DIR}/resources/icons/kvlab.svg ${CMAKE_BINARY_DIR}/icons ${icon_sizes}
  DEPENDS kvlab_icons ${CMAKE_SOURCE_DIR}/resources/icons/kvlab.svg VERBATIM)
add_custom_target(kvlab_icon_files ALL DEPENDS ${icon_files})
foreach(size ${icon_sizes})
  install(FILES ${CMAKE_BINARY_DIR}/icons/${size}.png RENAME kvlab.png
    DESTINATION ${CMAKE_INSTALL_DATADIR}/icons/hicolor/${size}x${size}/apps)
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME kvlab)
set(CPACK_PACKAGE_VENDOR "The kvlab project")
set(CPACK_PACKAGE_CONTACT "kvlab <kvlab@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION "A window hosts an inference engine and shows its KV cache live, layer by layer.
 Step ticks, edit the cache, measure drift against a rebuild, check invariants, write experiments as scripts.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libqt6svg6, fonts-dejavu-core")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "qt6-wayland, qt6-gtk-platformtheme, python3-pip, python3-venv")
include(CPack)
