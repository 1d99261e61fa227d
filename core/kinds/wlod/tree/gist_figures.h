// SPDX-License-Identifier: Apache-2.0
// Losses with gists, as their training has measured them (GistFigures in core/api/wlod_view.h), and the notice about
// them when a session opens. A file of a gist network carries its figures as metadata `measured`, a JSON list with one
// object per level: {"level": 1, "tokens": n, "nll": {"full", "trained", "mean", "truncation", "nothing"}, "kl": the
// same}. Pure; any thread.
#pragma once
#include <string_view>
#include <vector>

#include "core/api/error.h"
#include "core/api/wlod_view.h"
#include "core/kinds/wlod/tree/gist_net.h"

namespace kvlab {

/// Error bad_gist_net (field measured) names the error in the text; `file` names the file.
Result<std::vector<GistFigures>> readGistFigures(std::string_view text, const std::string& file);

/// The reason why the gists may be worth less than the same number of last tokens; empty if measurements show that they
/// are better.
std::string gistNotice(const GistNet& net);

}  // namespace kvlab
