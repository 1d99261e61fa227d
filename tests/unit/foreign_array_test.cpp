// SPDX-License-Identifier: Apache-2.0
// Views on arrays of files: none leaves its bytes or shows one twice, axes are cut and reordered without a copy.
#include "core/foreign/foreign_array.h"

#include "support/runner.h"

using namespace kvlab;

namespace {

const std::vector<float> kForeignNumbers = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

ForeignArray numbersAs(std::vector<std::int64_t> shape) {
  return denseArray(Element::F32, std::move(shape), std::as_bytes(std::span(kForeignNumbers)), nullptr);
}

std::vector<float> rowsOfArray(const ForeignArray& array) {
  const auto rows = foreignRows({array}, "file", "array");
  return rows ? *rows->read() : std::vector<float>();
}

}  // namespace

class ForeignArrayTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void viewsStayInTheirBytes_data() {
    QTest::addColumn<std::vector<std::int64_t>>("shape");
    QTest::addColumn<std::vector<std::int64_t>>("strides");
    QTest::addColumn<std::int64_t>("offset");
    QTest::addColumn<bool>("good");
    using Lengths = std::vector<std::int64_t>;
    const auto row = [](const char* name, Lengths shape, Lengths strides, std::int64_t offset, bool good) {
      QTest::newRow(name) << std::move(shape) << std::move(strides) << offset << good;
    };
    const std::int64_t most = std::numeric_limits<std::int64_t>::max();
    row("all of it", {3, 4}, {4, 1}, 0, true);
    row("columns", {4, 3}, {1, 4}, 0, true);
    row("to the last value", {2, 4}, {4, 1}, 4, true);
    row("one behind the last value", {2, 4}, {4, 1}, 5, false);
    row("before the first value", {2, 4}, {4, 1}, -1, false);
    row("a value twice", {13, 1}, {0, 1}, 0, false);
    row("backwards", {3, 4}, {-4, 1}, 8, false);
    row("a negative length", {-3, 4}, {4, 1}, 0, false);
    row("values beyond 64 bits", {most, most}, {0, 0}, 0, false);
    row("a reach beyond 64 bits", {3, 4}, {most, 1}, 0, false);
    row("an offset beyond 64 bits", {3, 4}, {4, 1}, most, false);
    row("fewer strides", {3, 4}, {1}, 0, false);
    row("nothing", {0, 4}, {4, 1}, 12, true);
    row("a single value", {}, {}, 11, true);
    row("a single value behind the last", {}, {}, 12, false);
  }
  void viewsStayInTheirBytes() {
    QFETCH(std::vector<std::int64_t>, shape);
    QFETCH(std::vector<std::int64_t>, strides);
    QFETCH(std::int64_t, offset);
    QFETCH(bool, good);
    ForeignArray array = numbersAs({12});
    array.shape = shape;
    array.strides = strides;
    array.offset = offset;
    const Status checked = checkArray(array, "file", "array");
    QCOMPARE(static_cast<bool>(checked), good);
    if (!good) QCOMPARE(checked.error().code, std::string("bad_file"));
  }

  void axesAreCutAndReordered() {
    const ForeignArray array = numbersAs({2, 3, 2});  // [heads, rows, dim]
    QCOMPARE(rowsOfArray(array.reordered({1, 0, 2})), (std::vector<float>{0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11}));
    QCOMPARE(rowsOfArray(array.reordered({1, 0, 2}).part(0, 1, 1)), (std::vector<float>{2, 3, 8, 9}));
    QCOMPARE(rowsOfArray(array.place(0, 1).split(0, 1)), (std::vector<float>{6, 7, 8, 9, 10, 11}));
    QCOMPARE(rowsOfArray(array.part(2, 1, 1).reordered({1, 0, 2})), (std::vector<float>{1, 7, 3, 9, 5, 11}));
  }

  void rowsAreOfOneTypeAndWidth() {
    QVERIFY(!foreignRows({numbersAs({3, 2, 2}), numbersAs({2, 2, 3})}, "file", "array"));
    QVERIFY(!foreignRows({numbersAs({12})}, "file", "array"));
    QVERIFY(!foreignLayer(0, {numbersAs({3, 2, 2})}, {numbersAs({2, 2, 2})}, "file", "array"));
    ForeignArray whole = numbersAs({3, 2, 2});
    whole.element = Element::I32;
    QVERIFY(!foreignRows({whole}, "file", "array"));
  }
};

KV_TEST(ForeignArrayTest)
#include "foreign_array_test.moc"
