// SPDX-License-Identifier: Apache-2.0
// The verbs of a session: one list serves the script language, the console, the window's commands,
// the capture log and their tests. A verb takes one JSON object and returns one JSON value; names
// and results are interface.md's. Described here, run by core/session/verbs.
#pragma once
#include <string>
#include <vector>

namespace kvlab {

struct VerbInfo {
  std::string name;               // "step"
  std::vector<std::string> args;  // argument names in script order: {"n", "options"}
  std::string help;               // one sentence
  bool changes = false;           // changes the session: recorded in the capture, never coalesced
};

}  // namespace kvlab
