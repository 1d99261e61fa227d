// SPDX-License-Identifier: Apache-2.0
// Cache files of a session: what the verbs saveCache and loadCache do. Engine thread.
#pragma once
#include <string>

#include "core/files/cache_import.h"
#include "core/session/session.h"

namespace kvlab {

/// What a file has to fit to be loaded into this session.
CacheTarget cacheTarget(const Session& session);

/// {path, form, rows, bytes}. Errors: ragged (Hugging Face forms, a layer that lacks rows), empty
/// (likewise), not_finite (a rotated key that the row type cannot hold), damaged (native: an invariant that fails),
/// broken, bad_file.
Result<nlohmann::json> saveCache(Session& session, const std::string& path, CacheForm form);

/// {path, form, rows, content}: replaces the session's content. `content` = hash that the file must
/// have (code file_changed), empty = any. Errors: see cache_file.h; the session stays as it was.
Result<nlohmann::json> loadCache(Session& session, const std::string& path, const std::string& content);

}  // namespace kvlab
