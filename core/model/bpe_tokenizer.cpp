// SPDX-License-Identifier: Apache-2.0
#include "core/model/tokenizer_files.h"

namespace kvlab {

Result<std::shared_ptr<const Tokenizer>> parseTokenizerJson(const std::string&,
                                                            const std::string& file,
                                                            const TokenizerSettings&) {
  return badTokenizer(file, "tokenizer.json is not read yet", "use a tokenizer.model");
}

}  // namespace kvlab
