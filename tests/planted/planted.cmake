# SPDX-License-Identifier: Apache-2.0
# The driver of the planted faults, in the changed copy of the tree that plant.py makes; see tests/planted/README.md.
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/driver/*.cpp)
add_executable(planted_driver ${sources})
target_include_directories(planted_driver PRIVATE ${CMAKE_SOURCE_DIR}/tests)
target_link_libraries(planted_driver PRIVATE kvlab_core kvlab_warnings)
target_compile_definitions(planted_driver PRIVATE KVLAB_RESOURCES_DIR="${CMAKE_SOURCE_DIR}/resources")
