#include "trainer/fit/class_names.h"

#include <algorithm>
#include <sstream>

#include <ondine/metadata.h>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "trainer/model_impl.h"

namespace ondine {
namespace {

constexpr const char* key = "ondine.class_names";  // one a line

}  // namespace

std::vector<std::string> class_names(const Model& model) {
  return guard_memory("read the metadata", [&] {
    std::vector<std::string> names;
    std::istringstream lines(metadata_of(model, key));
    for (std::string line; std::getline(lines, line);) names.push_back(line);
    return names;
  });
}

namespace fit {

void remember_classes(Model& model, const Dataset& data) {
  const std::vector<std::string>& classes = data.classes();
  if (classes.empty()) return;
  const std::vector<std::string> known = class_names(model);
  if (known.empty()) {
    std::string list;
    for (const std::string& name : classes) list += (list.empty() ? "" : "\n") + name;
    ModelAccess::set_metadata(model, key, std::move(list));
    return;
  }
  if (known == classes ||
      !std::is_permutation(known.begin(), known.end(), classes.begin(), classes.end())) {
    return;
  }
  fail(ErrorCode::mismatch, "the classes of the data are not in the order of the model's, which ",
       "begins with ", quoted(known[0]), "; open the data with the names of class_names(model)");
}

}  // namespace fit
}  // namespace ondine
