// SPDX-License-Identifier: Apache-2.0
// Saves and loads cache files of a session, for the verbs saveCache and loadCache. Engine thread.
#pragma once
#include <string>

#include "core/files/cache_import.h"
#include "core/foreign/outgoing.h"
#include "core/session/session.h"

namespace kvlab {

/// Properties that a file must match to be loaded into this session.
CacheTarget cacheTarget(const Session& session);

/// Returns {path, form, rows, bytes}. Errors: ragged (Hugging Face forms: a layer lacks rows in position mode cache),
/// empty, unsupported and not_finite (Hugging Face forms: no rows, residency by head, a number too large), damaged
/// (native: an invariant is violated), broken, bad_file.
Result<nlohmann::json> saveCache(Session& session, const std::string& path, CacheForm form);

/// Writes the rows to a file, or a folder, of another program. Returns {path, form, rows, bytes}. Errors: those of the
/// Hugging Face forms, and those of the form (core/foreign/outgoing.h).
Result<nlohmann::json> saveForeign(Session& session, const std::string& path, const OutgoingForm& form,
                                   const OutgoingWish& wish);

/// The refusal of a replay: the file has another hash of its content than `content`.
Error fileChanged(const std::string& path, const std::string& hash, const std::string& content);

/// Replaces the session's content by rows from elsewhere, as a file of form hf_dynamic would; `path` names them in
/// errors. Errors: see cache_file.h and importRows().
Status loadRows(Session& session, const OutgoingRows& rows, const std::string& path);

/// Replaces the session's content; returns {path, form, rows, content}. `content`: the hash that the file must have
/// (else file_changed), empty = any. verify: as importRows(). Errors: see cache_file.h and importRows(). On error the
/// session is unchanged.
Result<nlohmann::json> loadCache(Session& session, const std::string& path, const std::string& content,
                                 bool verify = false);

}  // namespace kvlab
