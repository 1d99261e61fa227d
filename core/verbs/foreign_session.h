// SPDX-License-Identifier: Apache-2.0
// Caches of other programs beside a session: what is wrong with one, and its rows as a session of their own. Engine
// thread.
#pragma once
#include <memory>
#include <string>

#include "core/explain/explain.h"
#include "core/session/session.h"

namespace kvlab {

/// A file with its explanation, which a session keeps until it explains another one.
struct ExplainedFile {
  std::string content;       // hash
  std::vector<TokenId> ids;  // that were asked for; empty = those of the file
  Explanation explanation;
};

/// The smallest explanation of the difference between the file and the rows that the session's model computes for the
/// file's text, or for the session's context where the file has no text. content: the hash that the file must have
/// (else file_changed), empty = any. Errors: those of openForeign() and explain().
Result<std::shared_ptr<const ExplainedFile>> explainFile(Session& session, const std::string& path,
                                                         const std::string& content = {});

/// A session like this one with the rows of the file as the explanation reads them: layout undone, wrong values kept.
/// Rows without a token stay outside, and the second row of a token. Errors: bad_file (the rows have no order of
/// positions, or a value that no session stores), capacity, no_phase_room, those of importRows().
Result<std::unique_ptr<Session>> explainedSession(const Session& like, const Explanation& explanation,
                                                  const std::string& path);

/// Replaces the session's content by the rows of the file as the smallest explanation reads them; returns {path, form,
/// rows, content, explanation}. content: the hash that the file must have (else file_changed), empty = any. Errors:
/// those of explainFile() and explainedSession(). On error the session is unchanged.
Result<nlohmann::json> loadForeign(Session& session, const std::string& path, const std::string& content);

/// toJson(), with the ledger ids of `session` beside the tokens of each cause and of what is unexplained: "rows"; and
/// in each changed row of the reply to `differenceFrom` how far ours in the type of the file is from ours, relative L2
/// of all heads: "typed": [k, v]. theirs: explainedSession().
void addExplanation(nlohmann::json& difference, const Explanation& explanation, const Session& theirs,
                    const Session& session);

}  // namespace kvlab
