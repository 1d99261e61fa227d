// SPDX-License-Identifier: Apache-2.0
#include "support/runner.h"

#include <cstdio>
#include <filesystem>
#include <map>
#include <string>

namespace kvlab::test {
namespace {

std::map<std::string, Main>& programs() {
  static std::map<std::string, Main> all;
  return all;
}

}  // namespace

Registered::Registered(const char* file, Main main) { programs()[std::filesystem::path(file).stem().string()] = main; }

}  // namespace kvlab::test

int main(int argc, char** argv) {
  const auto& all = kvlab::test::programs();
  const auto chosen = all.find(argc > 1 ? argv[1] : "");
  if (chosen == all.end()) {
    std::fprintf(stderr, "usage: %s TEST [FUNCTION[:ROW]]...\n", argv[0]);
    for (const auto& [name, main] : all) std::fprintf(stderr, "  %s\n", name.c_str());
    return 2;
  }
  QCoreApplication::setApplicationName(QString::fromStdString(chosen->first));
  if (!qEnvironmentVariableIsSet("QTEST_FUNCTION_TIMEOUT"))  // ctest ends a test that hangs
    qputenv("QTEST_FUNCTION_TIMEOUT", "7200000");            // milliseconds
  argv[1] = argv[0];
  return chosen->second(argc - 1, argv + 1);
}
