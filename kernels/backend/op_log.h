// SPDX-License-Identifier: Apache-2.0
// A log of every op call with its time and bytes, on request. A back end brings the clock: the processor's,
// or time stamps that the device writes. While a log is on, the back end replays no recording, because calls
// inside a recording have no times of their own. The back end's rules for threads hold.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/ops/op_bytes.h"

namespace kvlab::kernels {

struct OpRecord {
  const char* name = "";
  int layer = -1;  ///< -1: belongs to no layer
  int64_t bytes = 0;
  std::chrono::steady_clock::time_point start{};
  double us = 0;
};

class OpLog {
 public:
  virtual ~OpLog() = default;
  /// Sets the layer that the next calls belong to.
  void setLayer(int layer) { m_layer = layer; }
  void begin(const char* name, int64_t bytes) {
    m_records.push_back({.name = name, .layer = m_layer, .bytes = bytes});
    stamp();
  }
  void end() { stamp(); }
  /// Everything since the last call; waits for the device.
  std::vector<OpRecord> take() {
    resolve(m_records);
    return std::exchange(m_records, {});
  }

 protected:
  virtual void stamp() = 0;                                  ///< now, in the line of ops: twice for every record
  virtual void resolve(std::vector<OpRecord>& records) = 0;  ///< fills start and us

 private:
  std::vector<OpRecord> m_records;
  int m_layer = -1;
};

/// The processor's clock, for ops that are done when they return.
class ClockLog : public OpLog {
 protected:
  void stamp() override { m_stamps.push_back(std::chrono::steady_clock::now()); }
  void resolve(std::vector<OpRecord>& records) override {
    for (size_t i = 0; i < records.size(); ++i) {
      records[i].start = m_stamps[2 * i];
      records[i].us = std::chrono::duration<double, std::micro>(m_stamps[2 * i + 1] - m_stamps[2 * i]).count();
    }
    m_stamps.clear();
  }

 private:
  std::vector<std::chrono::steady_clock::time_point> m_stamps;
};

/// A table that runs the ops of another table, each between two stamps of the context's log.
template <const OpTable& (*Ops)()>
class LoggedOps {
  template <auto Op, class Args>
  static void call(const Context& context, const Args& args, const char* name) {
    if (context.log) context.log->begin(opTitle(name, args), opBytes(args));
    (Ops().*Op)(context, args);
    if (context.log) context.log->end();
  }

 public:
  static const OpTable& table() {
    static constexpr OpTable kOps = [] {
      OpTable ops{.numericsId = [] { return Ops().numericsId(); }, .targetName = [] { return Ops().targetName(); }};
#define KVLAB_OP(name, Args) \
  ops.name = [](const Context& context, const Args& args) { call<&OpTable::name>(context, args, #name); };
#include "kernels/ops/ops.inc"
#undef KVLAB_OP
      return ops;
    }();
    return kOps;
  }
};

}  // namespace kvlab::kernels
