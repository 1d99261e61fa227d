// SPDX-License-Identifier: GPL-3.0-or-later
// Subcommands that print: kvlab list, info, and replay without a window, one line per command.
#include <cstdio>
#include <iostream>

#include "app/base/resources.h"
#include "app/cli/lists.h"
#include "app/cli/programs.h"
#include "app/engine/core_replay.h"
#include "core/lists/lists.h"

namespace kvlab {

using nlohmann::json;

namespace {

std::string plainText(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

std::string mebibytes(const json& bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MiB", bytes.get<double>() / 1048576.0);
  return text;
}

/// "q4_1 (211 tensors), f32 (61)", or a name alone.
std::string typesText(const json& types) {
  if (types.size() == 1) return plainText(types[0]["type"]);
  std::string out;
  for (const json& one : types)
    out += (out.empty() ? "" : ", ") + plainText(one["type"]) + " (" + plainText(one["tensors"]) +
        (out.empty() ? " tensors)" : ")");
  return out;
}

std::string weightsText(const json& weights) {
  if (weights == "int8") return " with matrices in int8";
  return weights == "dequantise" ? " brought to f32" : "";
}

void printModel(const json& m) {
  const auto line = [](const char* name, const std::string& value) { std::printf("%-12s %s\n", name, value.c_str()); };
  line("model", plainText(m["model"]) + " (" + plainText(m["architecture"]) + ")");
  line("parameters",
       plainText(m["parameters"]) + ", " + typesText(m["types"]) + weightsText(m["weights"]) + ", " +
           mebibytes(m["weight_bytes"]));
  line("shape",
       plainText(m["layers"]) + " layers, " + plainText(m["heads"]) + " query and " + plainText(m["kv_heads"]) +
           " KV heads of " + plainText(m["head_dim"]) + ", width " + plainText(m["hidden"]));
  line("vocabulary", plainText(m["vocabulary"]));
  line("positions", plainText(m["positions"]) + (m["window"] == 0 ? "" : ", window " + plainText(m["window"])));
  line("KV cache",
       mebibytes(m["kv_bytes"]) + " of room for " + plainText(m["capacity"]) + " rows per layer (" +
           plainText(m["row_bytes"]) + " bytes a row and layer), " + mebibytes(m["kv_bytes_reserved"]) +
           (m["reserved_at_once"] == true ? " taken on the device with history"
                                          : " of addresses reserved with history"));
}

/// "NVIDIA H200, compute capability 9.0, 139.2 of 139.8 GiB free, peak 4800 GB/s, driver of CUDA 13.0".
void printDevice(const json& device) {
  const auto gibibytes = [](const json& bytes) { return bytes.get<double>() / (1 << 30); };
  std::string text = plainText(device["name"]) + ", compute capability " + plainText(device["capability"]);
  char figure[64];
  if (device["free"].is_null()) std::snprintf(figure, sizeof figure, ", %.1f GiB", gibibytes(device["memory"]));
  else
    std::snprintf(figure, sizeof figure, ", %.1f of %.1f GiB free", gibibytes(device["free"]),
                  gibibytes(device["memory"]));
  text += figure;
  const double peak = device["bytesPerSecond"].get<double>() / 1e9;
  std::snprintf(figure, sizeof figure, ", peak %.0f GB/s", peak);
  if (peak > 0) text += figure;
  std::printf("%-12s %s, driver of CUDA %s\n", "  device", text.c_str(), plainText(device["driver"]).c_str());
}

std::string textOrDash(const json& value) { return value.is_string() ? value.get<std::string>() : "-"; }

/// The result of a command: replayed, same state, another state, or failed.
std::string verdict(const json& step, bool verify) {
  if (step.contains("error")) return "failed";
  if (!verify) return "done";
  if (step["expected"].is_null()) return "no hash";
  return step["ok"].get<bool>() ? "same" : "DIFFERS";
}

void printStep(const json& step, bool verify) {
  std::printf("%8lld  %-14s %-8s", step["tick"].get<long long>(), textOrDash(step["verb"]).c_str(),
              verdict(step, verify).c_str());
  if (verify) std::printf("  %-32s  %s", textOrDash(step["expected"]).c_str(), textOrDash(step["got"]).c_str());
  std::printf("\n");
}

}  // namespace

Exit printList(const CommandLine& line) {
  const NamedList& list = *listNamed(line.list);
  const json rows = list.rows();
  if (line.json) std::cout << rows.dump(2) << "\n";
  else std::cout << (line.markdown ? markdownTable(list, rows) : textTable(list, rows));
  return Exit::Ok;
}

Exit printInfo(const CommandLine& line) {
  const auto model = describeModel(line.manifest, resourceRoot().toStdString());
  if (!model) return refuse(model.error());
  json backends = listBackends();
  for (json& backend : backends) backend["numerics"] = listNumerics(backend["id"]);
  if (line.json) {
    std::cout << json{{"model", *model}, {"backends", backends}}.dump(2) << "\n";
    return Exit::Ok;
  }
  printModel(*model);
  const auto row = [](const std::string& name, const json& one, const json& text) {
    std::printf("%-12s %s%s\n", name.c_str(),
                one["available"].get<bool>() ? "" : "not available: ", plainText(text).c_str());
  };
  for (const json& backend : backends) {
    row("backend " + plainText(backend["id"]), backend, backend["why"]);
    if (backend.contains("device")) printDevice(backend["device"]);
    for (const json& numerics : backend["numerics"])
      row("  numerics", numerics,
          numerics["available"].get<bool>() ? plainText(numerics["id"])
                                            : plainText(numerics["id"]) + ": " + plainText(numerics["why"]));
  }
  return Exit::Ok;
}

Exit printReplay(const CommandLine& line) {
  const std::optional<std::int64_t> to = line.to >= 0 ? std::optional<std::int64_t>(line.to) : std::nullopt;
  const auto table = replayTable(line.file, resourceRoot().toStdString(), to, line.verify);
  if (!table) return refuse(table.error());
  std::printf("%8s  %-14s %-8s%s\n", "tick", "command", "result",
              line.verify ? "  recorded state                    state now" : "");
  for (const json& step : (*table)["steps"]) printStep(step, line.verify);
  if (const std::string note = textOrDash((*table)["note"]); !note.empty())
    std::cerr << "kvlab: " << line.file << ": " << note << std::endl;
  for (const json& step : (*table)["steps"])
    if (step.contains("error")) std::cerr << errorLine(Error::fromJson(step["error"])) << std::endl;
  return (*table)["ok"].get<bool>() ? Exit::Ok : Exit::Failed;
}

}  // namespace kvlab
