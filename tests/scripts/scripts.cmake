# SPDX-License-Identifier: Apache-2.0
# Tests that start the program. Those of this part need no window.
find_package(Python3 COMPONENTS Interpreter)

# Captures of earlier versions: every state hash is still the same. tests/data/captures/make.js wrote them.
file(GLOB captures CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/data/captures/*.kvcap)
foreach(capture ${captures})
  get_filename_component(name ${capture} NAME_WE)
  add_test(NAME captures/${name} COMMAND kvlab replay ${capture} --verify)
  set_tests_properties(captures/${name} PROPERTIES LABELS captures TIMEOUT ${limit}
    SKIP_REGULAR_EXPRESSION "this machine computes with")
endforeach()

# What app/run does about the CUDA module, and what tests/gpu/run reports, without a GPU.
foreach(name app_run gpu_run)
  add_test(NAME scripts/${name} COMMAND bash ${CMAKE_CURRENT_LIST_DIR}/${name}.sh)
  set_tests_properties(scripts/${name} PROPERTIES LABELS scripts TIMEOUT 120)
endforeach()

# The program from outside: output, messages and exit codes.
add_test(NAME scripts/program
  COMMAND ${CMAKE_COMMAND} -E env KVLAB=$<TARGET_FILE:kvlab> bash ${CMAKE_CURRENT_LIST_DIR}/program.sh)
set_tests_properties(scripts/program PROPERTIES LABELS scripts TIMEOUT 300)
# Models that have a name, with a package of the test's own.
add_test(NAME scripts/model_command
  COMMAND ${CMAKE_COMMAND} -E env KVLAB=$<TARGET_FILE:kvlab> bash ${CMAKE_CURRENT_LIST_DIR}/model_command.sh)
set_tests_properties(scripts/model_command PROPERTIES LABELS scripts TIMEOUT 300 SKIP_RETURN_CODE 77)
# Shards, merge, status, signals and the files for Slurm, without one.
add_test(NAME scripts/sweep_shards
  COMMAND ${CMAKE_COMMAND} -E env KVLAB=$<TARGET_FILE:kvlab> bash ${CMAKE_CURRENT_LIST_DIR}/sweep_shards.sh)
set_tests_properties(scripts/sweep_shards PROPERTIES LABELS scripts TIMEOUT 300)
if(Python3_FOUND)
  # Each planted fault finds its piece of the source.
  add_test(NAME scripts/planted_faults COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/planted/plant.py --check)
  set_tests_properties(scripts/planted_faults PROPERTIES LABELS scripts TIMEOUT 60)
  # Cells of a sweep open by the commands of its report, and give the reported answers.
  add_test(NAME scripts/sweep_cells
    COMMAND ${CMAKE_COMMAND} -E env KVLAB=$<TARGET_FILE:kvlab> ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/sweep_cells.py)
  set_tests_properties(scripts/sweep_cells PROPERTIES LABELS scripts TIMEOUT 300)
  # One JSON value of every subcommand, and its exit codes.
  add_test(NAME scripts/json_option
    COMMAND ${CMAKE_COMMAND} -E env KVLAB=$<TARGET_FILE:kvlab> ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/json_option.py)
  set_tests_properties(scripts/json_option PROPERTIES LABELS scripts TIMEOUT 300)
endif()
if(NOT KVLAB_GUI)
  return()
endif()

# Every script of this folder is a test: kvlab run must end with 0. So is every shipped script, in two runs that must
# write the same bytes.
file(GLOB scripts CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.js)
file(GLOB shipped CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/resources/scripts/*.js)
set(args_edit_experiment -- 1)  # stories per length
if(KVLAB_SANITIZE)  # what a script writes is compared elsewhere
  set(args_ring_gates -- 32)  # rows of the window
  set(shipped_once ${shipped})
  set(shipped)
endif()
math(EXPR patience "${limit} - 100")  # a script that is stopped says where it was
foreach(script ${scripts} ${shipped} ${shipped_once})
  get_filename_component(name ${script} NAME_WE)
  set(out ${CMAKE_BINARY_DIR}/scripts/${name})
  if(script IN_LIST shipped)
    add_test(NAME scripts/${name}
      COMMAND ${CMAKE_COMMAND} -E env KVLAB=$<TARGET_FILE:kvlab> bash ${CMAKE_CURRENT_LIST_DIR}/twice.sh
        ${script} ${out} --time-limit ${patience} ${args_${name}})
  else()
    add_test(NAME scripts/${name} COMMAND kvlab run ${script} --out ${out} --time-limit ${patience} ${args_${name}})
  endif()
  set_tests_properties(scripts/${name} PROPERTIES LABELS scripts TIMEOUT ${limit})
endforeach()

foreach(module kvlab_far kvlab_cuda_emulated)
  if(TARGET ${module})
    add_test(NAME scripts/backends_agree@${module} COMMAND kvlab run ${CMAKE_CURRENT_LIST_DIR}/backends_agree.js)
    set_tests_properties(scripts/backends_agree@${module} PROPERTIES LABELS scripts TIMEOUT ${limit}
      ENVIRONMENT "KVLAB_CUDA_MODULE=$<TARGET_FILE:${module}>;KVLAB_SIMT_DEVICE=sm_75")  # the device with the least room
  endif()
endforeach()

add_test(NAME scripts/card_left_out
  COMMAND ${CMAKE_COMMAND} -E env KVLAB=$<TARGET_FILE:kvlab> bash ${CMAKE_CURRENT_LIST_DIR}/card_left_out.sh)
set_tests_properties(scripts/card_left_out PROPERTIES LABELS scripts TIMEOUT ${limit}
  ENVIRONMENT "KVLAB_CUDA_MODULE=$<TARGET_FILE:kvlab_far>;KVLAB_FAR_CLOSES=0;XDG_RUNTIME_DIR=/tmp")

# Every script of kvlab bench runs to its end.
file(GLOB benches CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/resources/bench/*.js)
foreach(bench ${benches})
  get_filename_component(name ${bench} NAME_WE)
  add_test(NAME scripts/bench_${name} COMMAND kvlab bench --quick ${name})
  set_tests_properties(scripts/bench_${name} PROPERTIES LABELS scripts TIMEOUT 600)
endforeach()
# Lists in the manual are those of the program.
add_test(NAME scripts/manual_lists
  COMMAND ${CMAKE_COMMAND} -E env KVLAB=$<TARGET_FILE:kvlab> bash ${CMAKE_CURRENT_LIST_DIR}/manual_lists.sh)
set_tests_properties(scripts/manual_lists PROPERTIES LABELS scripts TIMEOUT 300)
add_test(NAME scripts/package
  COMMAND ${CMAKE_COMMAND} -E env BUILD=${CMAKE_BINARY_DIR} bash ${CMAKE_CURRENT_LIST_DIR}/package.sh)
set_tests_properties(scripts/package PROPERTIES LABELS scripts TIMEOUT 600 SKIP_RETURN_CODE 77 RUN_SERIAL ON)
# The shipped picture tests, and the reports of kvlab test about changed ones.
if(Python3_FOUND)
  add_test(NAME scripts/picture_tests
    COMMAND ${CMAKE_COMMAND} -E env KVLAB=$<TARGET_FILE:kvlab> PYTHON=${Python3_EXECUTABLE} bash ${CMAKE_CURRENT_LIST_DIR}/picture_tests.sh)
  set_tests_properties(scripts/picture_tests PROPERTIES LABELS scripts TIMEOUT 300)
  # The page with the cases of the bug clinic matches the clinic.
  add_test(NAME scripts/clinic_page
    COMMAND ${CMAKE_COMMAND} -E env KVLAB=$<TARGET_FILE:kvlab> bash ${CMAKE_CURRENT_LIST_DIR}/clinic_page.sh)
  set_tests_properties(scripts/clinic_page PROPERTIES LABELS scripts TIMEOUT 300)
endif()
add_test(NAME real/wrong_answer
  COMMAND ${CMAKE_COMMAND} -E env KVLAB=$<TARGET_FILE:kvlab> bash ${CMAKE_CURRENT_LIST_DIR}/wrong_answer.sh
    ${CMAKE_BINARY_DIR}/scripts/wrong_answer_real)
set_tests_properties(real/wrong_answer PROPERTIES LABELS real SKIP_RETURN_CODE 77 TIMEOUT 300
  ENVIRONMENT "XDG_DATA_HOME=${CMAKE_SOURCE_DIR}/build/models;XDG_RUNTIME_DIR=/tmp")
# A sweep in shards on a real Slurm, from Debian's packages.
add_test(NAME slurm/sweep
  COMMAND ${CMAKE_COMMAND} -E env KVLAB=$<TARGET_FILE:kvlab> bash ${CMAKE_CURRENT_LIST_DIR}/slurm_sweep.sh)
set_tests_properties(slurm/sweep PROPERTIES LABELS slurm SKIP_RETURN_CODE 77 TIMEOUT 900 RUN_SERIAL ON)
