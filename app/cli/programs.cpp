// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/programs.h"

#include <csignal>
#include <iostream>

#include "app/base/resources.h"
#include "widgets/base/save_file.h"

namespace kvlab {

namespace {

volatile std::sig_atomic_t came = 0;

}  // namespace

void watchInterrupts() {
  for (const int number : {SIGINT, SIGTERM}) std::signal(number, [](int) { came = 1; });
}

bool interrupted() { return came != 0; }

Exit refuse(const Error& error) {
  std::cerr << errorLine(error) << std::endl;
  return exitFor(error);
}

Status saveJson(const std::string& path, const nlohmann::json& content) {
  if (path.empty()) return ok();
  return saveFile(QString::fromStdString(path), QByteArray::fromStdString(content.dump(1) + "\n"), path);
}

bool checkResources() {
  if (!resourceRoot().isEmpty()) return true;
  refuse({"no_resources", "the program's files were not found",
          "looked in " + resourcePlaces().join(", ").toStdString(),
          "set KVLAB_RESOURCES to the folder that holds demo/ and scripts/"});
  return false;
}

}  // namespace kvlab
