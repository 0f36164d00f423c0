// Operator-set documents: header, operators and functions.
#include <algorithm>

#include "graph/check/operator_set.h"
#include "graph/check/rules.h"

namespace ondine::graph {
namespace {

bool is_identifier(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && letter(name[0]) &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

// Whether the standard published an operator, or a new version of it, with this opset version.
bool is_published(std::string_view domain, std::string_view name, std::int64_t version) {
  return std::ranges::any_of(all_signatures(), [&](const Signature& row) {
    return row.domain() == domain && row.name == name && row.since_version == version;
  });
}

class OperatorSetCheck {
 public:
  OperatorSetCheck(const OperatorSetDef& set, Findings& findings)
      : set_(set), findings_(findings), newest_(newest_version(set.domain)) {}

  void run() {
    header();
    for (const OperatorDef& one : set_.operators) declaration(one);
    std::set<std::string_view> seen;
    for (const FunctionDef& one : set_.functions) function(one, seen);
  }

 private:
  template <class... Parts>
  void reject(const Parts&... parts) {
    findings_.add(ErrorCode::invalid_model, parts...);
  }

  std::string domain() const { return quoted(std::string(spelled_domain(set_.domain))); }

  void header() {
    constexpr std::string_view magic = "ONNXOPSET";
    if (set_.magic != magic) {
      reject("magic is ", quoted(set_.magic), ", that of an operator set is '", magic, "'");
    }
    check_ir_version(set_.ir_version, findings_);
    if (set_.version < 1) {
      reject("opset_version is ", set_.version, ", versions of operator sets count from 1");
    }
    if (newest_ > 0 && set_.version > newest_) {
      findings_.add(ErrorCode::unsupported, "opset_version of ", domain(), " is ", set_.version,
                    ", the newest supported is version ", newest_);
    }
  }

  // The names of operators and functions should be C identifiers.
  void name(const std::string& text, std::string_view what) {
    if (!text.empty() && !is_identifier(text)) {
      findings_.warn(ErrorCode::invalid_model, what, " ", quoted(text),
                     " has a name that is no C identifier");
    }
  }

  void declaration(const OperatorDef& one) {
    if (one.name.empty()) return reject("an operator has no op_type");
    name(one.name, "operator");
    if (!operators_.insert(one.name).second) {
      reject("operator ", quoted(one.name), " is declared twice");
    }
    if (one.since_version < 1 || one.since_version > set_.version) {
      reject("operator ", quoted(one.name), " has since_version ", one.since_version,
             ", it must be from 1 to the opset_version, ", set_.version);
    } else if (newest_ > 0 && !is_published(set_.domain, one.name, one.since_version)) {
      reject("operator ", quoted(one.name), " has since_version ", one.since_version, ", version ",
             one.since_version, " of ", domain(), " did not introduce it");
    }
  }

  void function(const FunctionDef& one, std::set<std::string_view>& seen) {
    name(one.name, "function");
    if (canonical_domain(one.domain) != set_.domain) {
      reject("function ", quoted(one.name), " is of ",
             quoted(std::string(spelled_domain(canonical_domain(one.domain)))),
             ", the operator set is ", domain());
    }
    if (operators_.contains(one.name) && seen.insert(one.name).second) {
      reject("function ", quoted(one.name), " has the name of an operator of the set");
    }
  }

  const OperatorSetDef& set_;
  Findings& findings_;
  const std::int64_t newest_;  // 0 unless the standard defines the domain
  std::set<std::string_view> operators_;
};

}  // namespace

void check_operator_set(const OperatorSetDef& set, std::span<const FunctionDef> others,
                        Undefined undefined, const Catalogue& catalogue, const Limits& limits,
                        Findings& findings) {
  OperatorSetCheck(set, findings).run();
  // A model of these functions alone.
  ModelDef model;
  model.functions = set.functions;
  model.functions.insert(model.functions.end(), others.begin(), others.end());
  CheckContext context{model, catalogue, limits, findings, FunctionTable(model.functions)};
  if (!check_limits(context)) return;
  check_function_imports(set.functions, findings);
  context.function_attributes = FunctionAttributes(context.functions);
  check_functions(context);
  check_calls(context);
  const bool report = undefined == Undefined::finding;
  context.missing.report(std::vector<bool>(model.functions.size(), report), findings);
}

}  // namespace ondine::graph
