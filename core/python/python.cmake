# SPDX-License-Identifier: Apache-2.0
# The extension module of the package kvlab: engine and kernels, without Qt. nanobind comes with the Python that builds.
# The package lies ready for use in the build folder's python/.
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_STRIP_TRAILING_WHITESPACE
                OUTPUT_VARIABLE nanobind_ROOT RESULT_VARIABLE nanobind_missing)
if(nanobind_missing)
  message(FATAL_ERROR "KVLAB_PYTHON needs nanobind: ${Python_EXECUTABLE} -m pip install nanobind")
endif()
find_package(nanobind CONFIG REQUIRED)

file(GLOB python_sources CONFIGURE_DEPENDS core/python/*.cpp core/python/*.h)
nanobind_add_module(_core NB_STATIC ${python_sources})
target_link_libraries(_core PRIVATE kvlab_core)
target_compile_definitions(_core PRIVATE KVLAB_VERSION="${PROJECT_VERSION}")
# Names of the libraries inside stay inside: other modules of the process have their own.
target_link_options(_core PRIVATE -Wl,--exclude-libs,ALL)
set(package ${CMAKE_BINARY_DIR}/python/kvlab)
set_target_properties(_core PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${package})
file(GLOB package_files CONFIGURE_DEPENDS core/python/kvlab/*)
list(FILTER package_files EXCLUDE REGEX "__pycache__")
file(MAKE_DIRECTORY ${package})
foreach(file ${package_files})
  get_filename_component(name ${file} NAME)
  file(CREATE_LINK ${file} ${package}/${name} SYMBOLIC)
endforeach()
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/resources ${package}/share SYMBOLIC)
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/resources/python/kvlab_cache.py ${package}/_cache_files.py SYMBOLIC)

# For the wheel alone: an installation and the Debian package hold the program.
install(TARGETS _core LIBRARY DESTINATION kvlab COMPONENT python EXCLUDE_FROM_ALL)
install(FILES resources/python/kvlab_cache.py RENAME _cache_files.py DESTINATION kvlab COMPONENT python EXCLUDE_FROM_ALL)
install(DIRECTORY resources/demo resources/gates resources/gists resources/lens resources/models resources/prompts resources/sweeps
  DESTINATION kvlab/share COMPONENT python EXCLUDE_FROM_ALL PATTERN "__pycache__" EXCLUDE PATTERN "*.py" EXCLUDE)
