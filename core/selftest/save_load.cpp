// SPDX-License-Identifier: Apache-2.0
#include "core/selftest/self_test_room.h"
#include "core/verbs/verbs.h"

namespace kvlab {
namespace {

std::vector<TokenId> tokensOf(const Session& session) {
  std::vector<TokenId> out;
  for (const LedgerId id : session.state().context) out.push_back(session.state().ledger[id].token);
  return out;
}

}  // namespace

Result<SelfTestFigure> save_loadSelfTest(SelfTestRoom& room) {
  const std::vector<std::int32_t> ids = room.ids(44);
  const std::string path = room.file("saved");
  std::unique_ptr<Session> origin = KV_TRY(room.prompted(std::span(ids).first(40), {{"capacity", 128}}));
  KV_TRY(execute(*origin, "saveCache", {{"path", path}, {"form", "native"}}));
  std::unique_ptr<Session> loaded = KV_TRY(room.session({{"capacity", 128}}));
  KV_TRY(execute(*loaded, "loadCache", {{"path", path}}));
  if (tokensOf(*loaded) != tokensOf(*origin)) return SelfTestFigure{1, 0, "texts", "the loaded cache has other tokens"};
  for (Session* session : {origin.get(), loaded.get()}) KV_TRY(stepIds(*session, std::span(ids).subspan(40)));
  const double apart = logitsApart(logitsOf(*loaded), logitsOf(*origin));
  return SelfTestFigure{apart, 0, "of the spread of logits",
                        apart == 0 ? "equal four tokens later" : "different four tokens later"};
}

}  // namespace kvlab
