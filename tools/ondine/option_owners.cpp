#include "ondine/option_owners.h"

#include <algorithm>

namespace ondine::cli {

void OptionOwners::add(const Option& option, const char* selector,
                       std::initializer_list<const char*> owners) {
  rules_.push_back({option, selector, {owners.begin(), owners.end()}});
}

void OptionOwners::check(const std::string& selector, const std::string& chosen) const {
  for (const auto& [option, of, owners] : rules_) {
    const bool applies = std::find(owners.begin(), owners.end(), chosen) != owners.end();
    if (of != selector || applies || !option.given()) continue;
    std::string list;
    for (std::size_t i = 0; i < owners.size(); ++i) {
      list += (i == 0 ? "" : i + 1 == owners.size() ? " or " : ", ") + owners[i];
    }
    throw WrongUsage(option.name() + " does not apply to " + chosen + "; use " + selector + " " +
                     list);
  }
}

}  // namespace ondine::cli
