// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/api/json_values.h"
#include "core/selftest/self_test_room.h"

namespace kvlab {

#define KVLAB_SELF_TEST(name, title) Result<SelfTestFigure> name##SelfTest(SelfTestRoom&);
#define KVLAB_FIT_TEST KVLAB_SELF_TEST
#include "core/selftest/self_tests.inc"
#undef KVLAB_FIT_TEST
#undef KVLAB_SELF_TEST

namespace {

constexpr SelfTest kTests[] = {
#define KVLAB_SELF_TEST(name, title) {#name, title, name##SelfTest, false},
#define KVLAB_FIT_TEST(name, title) {#name, title, name##SelfTest, true},
#include "core/selftest/self_tests.inc"
#undef KVLAB_FIT_TEST
#undef KVLAB_SELF_TEST
};

Result<SelfTestResult> runTest(const SelfTest& test, SelfTestRoom& room) {
  const auto begin = std::chrono::steady_clock::now();
  SelfTestResult out{std::string(test.id), std::string(test.title), SelfTestOutcome::Passed, {}, 0};
  Result<SelfTestFigure> made = test.run(room);
  if (!made && made.error().code == "cancelled") return made.error();
  if (made) out.figure = std::move(*made);
  else out.figure.says = made.error().text();
  const bool held = made && out.figure.figure <= out.figure.limit;  // a figure that is no number does not hold
  out.outcome = made && out.figure.skipped ? SelfTestOutcome::Skipped
      : held                               ? SelfTestOutcome::Passed
                                           : SelfTestOutcome::Failed;
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return out;
}

bool failed(const SelfTestResult& one) { return one.outcome == SelfTestOutcome::Failed; }

/// The failed test with the greatest gain names the damage. Failures with less gain may follow from it: skipped.
void settleFits(std::span<SelfTestResult> fits) {
  const auto worst =
      std::ranges::max_element(fits, {}, [](const SelfTestResult& one) { return failed(one) ? one.figure.figure : 0; });
  for (SelfTestResult& one : fits) {
    if (!failed(one) || one.id == worst->id || one.figure.figure > worst->figure.figure) continue;
    one.outcome = SelfTestOutcome::Skipped;
    one.figure.says += "; " + worst->id + " gains more: test again when it is mended";
  }
}

}  // namespace

std::string_view name(SelfTestOutcome outcome) {
  static constexpr std::string_view kNames[] = {"passed", "failed", "skipped"};
  return kNames[static_cast<std::size_t>(outcome)];
}

SelfTestFigure skippedTest(std::string why) { return {.says = std::move(why), .skipped = true}; }

std::span<const SelfTest> selfTests() { return kTests; }

nlohmann::json toJson(const SelfTestResult& result) {
  return {{"id", result.id},
          {"title", result.title},
          {"outcome", name(result.outcome)},
          {"figure", finite(result.figure.figure)},
          {"limit", result.figure.limit},
          {"unit", result.figure.unit},
          {"says", result.figure.says},
          {"seconds", result.seconds}};
}

Result<std::vector<SelfTestResult>> runSelfTests(SelfTestOrder order,
                                                 const std::function<void(const SelfTestResult&)>& done) {
  const std::vector<std::string> ids = order.tests;
  for (const std::string& id : ids)
    if (std::ranges::find(kTests, id, &SelfTest::id) == std::end(kTests))
      return Error("usage", "kvlab check " + id, "there is no such test", "kvlab list selftests has all of them");
  SelfTestRoom room = KV_TRY(SelfTestRoom::open(std::move(order)));
  std::vector<SelfTestResult> out;
  std::size_t fits = 0;  // number of fits among them, at the end
  for (const SelfTest& test : kTests) {
    if (!ids.empty() && std::ranges::find(ids, test.id) == ids.end()) continue;
    KV_TRY(room.tell(std::string(test.id)));
    out.push_back(KV_TRY(runTest(test, room)));
    fits += test.fits;
    if (done && !test.fits) done(out.back());
  }
  settleFits(std::span(out).last(fits));
  for (const SelfTestResult& one : std::span(out).last(fits))
    if (done) done(one);
  return out;
}

}  // namespace kvlab
