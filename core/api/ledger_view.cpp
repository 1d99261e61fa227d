// SPDX-License-Identifier: Apache-2.0
#include "core/api/ledger_view.h"

namespace kvlab {
namespace {
constexpr std::array kSources = {std::string_view("user"),      std::string_view("prompt"),
                                 std::string_view("model"),     std::string_view("replacement"),
                                 std::string_view("insertion"), std::string_view("file")};
constexpr std::array kStates = {std::string_view("live"),       std::string_view("replaced"),
                                std::string_view("deleted"),    std::string_view("evicted"),
                                std::string_view("collapsed"),  std::string_view("aborted"),
                                std::string_view("left_window")};
}  // namespace

std::string_view name(RowKind kind) { return kind == RowKind::Token ? "token" : "gist"; }
std::string_view name(RowState state) { return kStates[static_cast<std::size_t>(state)]; }
std::string_view name(Source source) { return kSources[static_cast<std::size_t>(source)]; }

std::optional<Source> sourceFromName(std::string_view text) {
  for (std::size_t i = 0; i < kSources.size(); ++i)
    if (kSources[i] == text) return static_cast<Source>(i);
  return std::nullopt;
}

}  // namespace kvlab
