// SPDX-License-Identifier: Apache-2.0
// Tests of the engine and of a checkpoint on a model that a person has: values that must be equal are computed in two
// ways, and a setting of the checkpoint is compared with others on a text. Engine thread.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/api/error.h"
#include "core/api/progress.h"

namespace kvlab {

class SelfTestRoom;
class Session;

struct SelfTestOrder {
  nlohmann::json manifest;              // as for a session; names the model
  std::string resources;                // folder
  std::string folder;                   // for files of the tests; exists
  std::string text = {};                // file; empty = the text that fits the model
  std::vector<std::string> tests = {};  // ids; empty = all
  Progress progress = {};
  std::function<Status(Session&)> opened = {};  // called with each session that the tests open
};

enum class SelfTestOutcome : std::uint8_t { Passed, Failed, Skipped };
std::string_view name(SelfTestOutcome outcome);  // "passed", "failed", "skipped"

/// The result of a test. It passes where the figure is at most the limit.
struct SelfTestFigure {
  double figure = 0, limit = 0;
  std::string unit = {};  // unit of both
  std::string says = {};  // the compared values, or the error, or the reason why the test was skipped
  bool skipped = false;
};
SelfTestFigure skippedTest(std::string why);

struct SelfTest {
  std::string_view id, title;
  Result<SelfTestFigure> (*run)(SelfTestRoom& room);
  bool fits;  // it compares settings of the checkpoint
};
/// All of self_tests.inc, in its order.
std::span<const SelfTest> selfTests();

struct SelfTestResult {
  std::string id, title;
  SelfTestOutcome outcome = SelfTestOutcome::Passed;
  SelfTestFigure figure;
  double seconds = 0;
};
nlohmann::json toJson(const SelfTestResult& result);

/// `done` receives each result at once. A test that is refused fails with the error's text. Errors: those of opening a
/// session, unreadable_file, short_text, usage for an unknown test, cancelled.
Result<std::vector<SelfTestResult>> runSelfTests(SelfTestOrder order,
                                                 const std::function<void(const SelfTestResult&)>& done = {});

}  // namespace kvlab
