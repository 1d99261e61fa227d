// SPDX-License-Identifier: Apache-2.0
// Quadratic forms of rows, against the double sum in f64.
#include "kernels/quadratic_forms.h"

#include "kernels/thread_pool.h"
#include "support.h"
#include "support/runner.h"

using namespace kvlab::kernels;
using namespace kvlab::kernels::test;

class QuadraticFormsTest : public QObject {
  Q_OBJECT

  struct Scene {
    int64_t rows;
    int32_t count, dim;
    int64_t stride = dim + 3;
    Random random{static_cast<uint64_t>(dim)};
    std::vector<float> x = random.values(rows * stride, 1), matrix = random.values(int64_t{count} * dim * dim, 1),
                       linear = random.values(int64_t{count} * dim, 1);

    float q(int32_t form, int32_t i, int32_t j) const {
      return matrix[static_cast<size_t>((form * dim + i) * dim + j)];
    }
    float l(int32_t form, int32_t i) const { return linear[static_cast<size_t>(form * dim + i)]; }

    std::vector<float> forms() const {
      std::vector<float> out;
      for (int32_t form = 0; form < count; ++form)
        for (int32_t i = 0; i < dim; ++i) {
          out.push_back(l(form, i));
          for (int32_t j = i; j < dim; ++j) out.push_back(i == j ? q(form, i, j) : q(form, i, j) + q(form, j, i));
        }
      return out;
    }
    std::vector<float> run(int threads = 1) const {
      std::vector<float> out(static_cast<size_t>(rows * count), NAN);
      const std::vector<float> weights = forms();
      ThreadPool pool(threads);
      quadraticForms({&pool}, {x.data(), weights.data(), out.data(), rows, count, dim, stride});
      return out;
    }
  };

 private Q_SLOTS:
  void theDoubleSum() {
    for (const auto& [rows, count, dim] :
         {std::tuple<int64_t, int32_t, int32_t>{1, 1, 1}, {65, 3, 24}, {200, 2, 64}, {7, 1, 256}}) {
      const Scene scene{rows, count, dim};
      const std::vector<float> got = scene.run();
      for (int32_t form = 0; form < count; ++form)
        for (int64_t row = 0; row < rows; ++row) {
          const float* x = scene.x.data() + row * scene.stride;
          double want = 0, size = 0;
          for (int32_t i = 0; i < dim; ++i) {
            want += double{scene.l(form, i)} * x[i];
            for (int32_t j = 0; j < dim; ++j) {
              const double one = double{scene.q(form, i, j)} * x[i] * x[j];
              want += one, size += std::fabs(one);
            }
          }
          const double error = std::fabs(double{got[static_cast<size_t>(form * rows + row)]} - want);
          QVERIFY2(error <= 3e-6 * (size + 1), qPrintable(QString::number(error / (size + 1))));
        }
    }
  }

  /// Neither threads nor the rows beside it nor the width of vectors change a row's bits.
  void rowsAreAlone() {
    const Scene scene{3000, 3, 64};
    const std::vector<float> all = scene.run(3);
    QCOMPARE(scene.run(1), all);
    Scene one = scene;
    one.rows = 1, one.x.erase(one.x.begin(), one.x.begin() + 77 * one.stride);
    const std::vector<float> alone = one.run();
    for (size_t form = 0; form < 3; ++form) QCOMPARE(alone[form], all[form * 3000 + 77]);
    for (const int64_t target : fusedTargets()) {
      const OnTarget only(target);
      QCOMPARE(scene.run(), all);
    }
  }
};

KV_TEST(QuadraticFormsTest)
#include "quadratic_forms_test.moc"
