#include "ondine/verify/expectation.h"

#include <sstream>

#include <ondine/error.h>

#include "ondine/verify/files.h"

namespace ondine::cli {

Expectation read_expectation(const std::filesystem::path& file) {
  Expectation result;
  std::istringstream text(read_text(file));
  std::getline(text, result.verdict);
  if (result.verdict != "reject" && result.verdict != "reject-run" && result.verdict != "accept") {
    throw Error(ErrorCode::mismatch, "unknown verdict '" + result.verdict + "'");
  }
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("mention: ")) result.mention = line.substr(9);
    if (line.starts_with("call: ")) result.call = line.substr(6);
  }
  if (!result.call.empty() && result.call != "initialize" && result.call != "train_step" &&
      result.call != "infer") {
    throw Error(ErrorCode::mismatch, "unknown call '" + result.call + "'");
  }
  return result;
}

}  // namespace ondine::cli
