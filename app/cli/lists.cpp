// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/lists.h"

#include <QDir>
#include <QFile>
#include <algorithm>

#include "app/base/resources.h"
#include "app/commands/command_registry.h"
#include "widgets/base/view_registry.h"

namespace kvlab {

using nlohmann::json;

namespace {

json listViews() {
  json list = json::array();
  for (const ViewInfo& view : views()) list.push_back({{"id", view.id}, {"title", view.title}, {"help", view.help}});
  return list;
}

json listCommands() {
  json list = json::array();
  for (const Command& command : builtinCommands(viewNames())) list.push_back(toJson(command));
  return list;
}

/// The scripts of resources/bench; the line behind the licence says what each measures.
json listBenches() {
  json list = json::array();
  const QDir folder(resourceRoot() + "/bench");
  for (const QString& file : folder.entryList({"*.js"}, QDir::Files, QDir::Name)) {
    QFile script(folder.filePath(file));
    if (!script.open(QIODevice::ReadOnly)) continue;
    script.readLine();
    const QString title = QString::fromUtf8(script.readLine()).mid(3).trimmed();
    list.push_back({{"id", file.chopped(3).toStdString()}, {"title", title.toStdString()}});
  }
  return list;
}

}  // namespace

const std::vector<NamedList>& lists() {
  static const std::vector<NamedList> kLists = [] {
    std::vector<NamedList> all = engineLists();
    const std::vector<NamedList> own = {
        {"views", listViews, {{"id", "View"}, {"title", "Title"}, {"help", "What it shows"}}},
        {"commands",
         listCommands,
         {{"id", "Command"}, {"keys", "Keys"}, {"args", "Arguments"}, {"help", "What it does"}}},
        {"benches", listBenches, {{"id", "Benchmark"}, {"title", "What it measures"}}},
    };
    all.insert(all.end(), own.begin(), own.end());
    return all;
  }();
  return kLists;
}

const NamedList* listNamed(const std::string& name) {
  const auto found =
      std::find_if(lists().begin(), lists().end(), [&](const NamedList& list) { return list.name == name; });
  return found == lists().end() ? nullptr : &*found;
}

std::string listNames() {
  std::string out;
  for (const NamedList& list : lists())
    out += (out.empty() ? "" : &list == &lists().back() ? " or " : ", ") + list.name;
  return out;
}

}  // namespace kvlab
