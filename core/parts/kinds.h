// SPDX-License-Identifier: Apache-2.0
// The kinds of session that this program has. kinds/kinds.cpp lists them; everything below asks here. Any thread.
#pragma once
#include <memory>
#include <span>

#include "core/api/manifest.h"
#include "core/check/invariant.h"
#include "core/parts/cache_kind.h"

namespace kvlab {

struct Harm;  // core/check/checks.h
struct Verb;

struct KindInfo {
  bool (*serves)(const Manifest& manifest);
  std::unique_ptr<CacheKind> (*make)();
  const char* fileKey = nullptr;               // key of native cache files; null = the kind adds nothing to them
  std::span<const Verb> (*verbs)() = nullptr;  // that need this kind; null = none
  std::span<const Invariant> invariants = {};  // that only its sessions can violate
};

/// At most one of them serves a manifest.
std::span<const KindInfo> kinds();
/// The invariants of every session (check/invariants.inc), then the invariants of the kinds.
std::span<const Invariant> invariants();
/// Runs every invariant. Keeps at most 16 violations per invariant; each names layer, index and ledger row if they
/// apply. harms: as for Findings.
std::vector<Violation> checkAll(const CheckInput& input, std::vector<Harm>* harms = nullptr);

}  // namespace kvlab
