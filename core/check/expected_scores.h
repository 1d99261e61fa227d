// SPDX-License-Identifier: Apache-2.0
// The scores of Expected Attention a second time, in double, as the paper has them (arXiv 2510.00636, section 3): the
// moments of queries are turned by the mean rotation of the positions to come, which is a sum over these positions.
// core/policy turns the keys instead, by the closed form of the sum. Pure; any thread.
#pragma once
#include <span>
#include <vector>

namespace kvlab {

/// The rows of one KV head.
struct ExpectedRows {
  std::vector<std::vector<double>> keys = {};  // [rows][dim] as attention reads them
  std::vector<double> lengths = {};            // [rows] of their values
  std::size_t sinks = 0;                       // rows in front that the softmax leaves out
};

/// Queries to come.
struct ExpectedQueries {
  std::span<const double> mean = {};        // [heads, dim] of the query heads of the KV head
  std::span<const double> covariance = {};  // [heads, dim, dim]
  std::vector<double> frequencies = {};     // [dim / 2]; value i turns with value dim / 2 + i
  double stretch = 1;                       // attention factor of values that turn
  double nextPhase = 0;
  int future = 1;       // number of positions
  double scoreDim = 1;  // its root divides q . k
};

/// [rows]
std::vector<double> expectedScores(const ExpectedRows& rows, const ExpectedQueries& queries, double epsilon);

}  // namespace kvlab
