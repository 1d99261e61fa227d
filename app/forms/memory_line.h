// SPDX-License-Identifier: GPL-3.0-or-later
// Shows the memory that a session of the manifest beside it would take, as `kvlab info` counts it: weights, rows at
// capacity by layers, and the reserved memory with history. Another thread counts, a moment after the last change. GUI
// thread.
#pragma once
#include <QLabel>
#include <QTimer>
#include <functional>
#include <nlohmann/json.hpp>

#include "core/api/error.h"

namespace kvlab {

/// Returns the reply of describeModel() for a manifest (core/lists/lists.h). Any thread.
using MemoryAsk = std::function<Result<nlohmann::json>(const nlohmann::json& manifest)>;

class MemoryLine : public QLabel {
  Q_OBJECT
 public:
  MemoryLine(MemoryAsk count, QWidget* parent);
  void ask(const nlohmann::json& manifest);

 private:
  void count();
  void show(const Result<nlohmann::json>& need);

  MemoryAsk m_count;
  QTimer m_wait;
  nlohmann::json m_manifest;
  bool m_counting = false;
};

}  // namespace kvlab
