# SPDX-License-Identifier: Apache-2.0
# The driver of random sessions: a program of its own, and its parts that run as tests.
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cpp)
add_executable(random_sessions ${sources})
kvlab_unity(random_sessions 30 ${sources})
target_compile_options(random_sessions PRIVATE -Wno-subobject-linkage -Wno-restrict)
target_include_directories(random_sessions PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(random_sessions PRIVATE kvlab_core kvlab_warnings)
target_compile_definitions(random_sessions PRIVATE KVLAB_TESTS_DIR="${CMAKE_CURRENT_SOURCE_DIR}"
  KVLAB_RESOURCES_DIR="${CMAKE_SOURCE_DIR}/resources")

set(drawn 100)
if(KVLAB_SANITIZE)
  set(drawn 40)
endif()
add_test(NAME property/random_sessions COMMAND random_sessions --seed 1 --sessions ${drawn})
add_test(NAME property/random_matrix COMMAND random_sessions --matrix all)
add_test(NAME property/random_sequences COMMAND random_sessions --sequences ${CMAKE_CURRENT_LIST_DIR}/sequences)
set_tests_properties(property/random_sessions property/random_sequences PROPERTIES LABELS property TIMEOUT 3600)
set_tests_properties(property/random_matrix PROPERTIES LABELS "property;long" TIMEOUT 3600)
set_tests_properties(property/random_matrix property/random_sequences PROPERTIES COST 1000)  # the longest begin first
