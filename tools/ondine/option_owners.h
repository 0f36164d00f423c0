// Options that only some choices of another option read.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "ondine/command.h"

namespace ondine::cli {

class OptionOwners {
 public:
  // `option` applies to these values of `selector`, such as "--optimizer".
  void add(const Option& option, const char* selector, std::initializer_list<const char*> owners);

  // Throws WrongUsage for an option that was given and does not apply to `chosen`: "--momentum does
  // not apply to sgd; use --optimizer momentum".
  void check(const std::string& selector, const std::string& chosen) const;

 private:
  struct Rule {
    Option option;
    std::string selector;
    std::vector<std::string> owners;
  };

  std::vector<Rule> rules_;
};

}  // namespace ondine::cli
