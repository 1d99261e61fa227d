// SPDX-License-Identifier: Apache-2.0
#include "kernels/ops/diff_rows.h"

#include <algorithm>
#include <cmath>

#include "kernels/thread_pool.h"

namespace kvlab::kernels {
namespace {

constexpr int64_t kLanes = 8;

/// Eight partial sums by index mod 8, added in a fixed order.
struct Sums {
  double dd[kLanes] = {}, rr[kLanes] = {}, aa[kLanes] = {}, ar[kLanes] = {};
  double largest = 0;

  void add(int64_t lane, double a, double r) {
    const double d = a - r;
    dd[lane] += d * d;
    rr[lane] += r * r;
    aa[lane] += a * a;
    ar[lane] += a * r;
    largest = std::max(largest, std::fabs(d));
  }
};

double total(const double (&v)[kLanes]) { return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7])); }

Sums sumRow(const float* a, const float* r, int64_t dim) {
  Sums s;
  int64_t i = 0;
  for (; i + kLanes <= dim; i += kLanes) {
    for (int64_t j = 0; j < kLanes; ++j) s.add(j, double{a[i + j]}, double{r[i + j]});
  }
  for (int64_t j = 0; i + j < dim; ++j) s.add(j, double{a[i + j]}, double{r[i + j]});
  return s;
}

}  // namespace

void diffRows(const Context& context, const DiffRowsArgs& a) {
  const int64_t grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(1, a.dim));
  context.pool->parallelFor(0, a.n, grain, [&](int64_t from, int64_t to, int) {
    for (int64_t i = from; i < to; ++i) {
      const Sums s = sumRow(a.a + i * a.dim, a.reference + i * a.dim, a.dim);
      const double rr = total(s.rr);
      if (a.relativeL2) a.relativeL2[i] = relativeL2Of(total(s.dd), rr);
      if (a.cosine) a.cosine[i] = cosineOf(total(s.ar), total(s.aa), rr);
      if (a.maxAbs) a.maxAbs[i] = s.largest;
    }
  });
}

}  // namespace kvlab::kernels
