#include "graph/resolve/link_functions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "graph/check/location.h"
#include "graph/contract/opsets.h"
#include "graph/contract/signature.h"
#include "graph/ir/fingerprint.h"
#include "graph/ir/walk.h"

namespace ondine::graph {
namespace {

constexpr std::int64_t functions_ir = 8;  // the first IR version of models with functions

using Key = std::tuple<std::string, std::string, std::string>;  // domain, name, overload

Key key_of(const FunctionDef& function) {
  return {std::string(canonical_domain(function.domain)), function.name, function.overload};
}

bool same(const FunctionDef& a, const FunctionDef& b) {
  const auto digest = [](const FunctionDef& function) {
    ModelDef model;
    model.functions = {function};
    return fingerprint(model, {});
  };
  return digest(a) == digest(b);
}

class Linker {
 public:
  Linker(ModelDef& model, std::span<const AvailableSet> sets, const Catalogue& catalogue,
         Findings& findings)
      : model_(model), sets_(sets), catalogue_(catalogue), findings_(findings) {
    for (std::size_t i = 0; i < sets.size(); ++i) {
      const OperatorSetDef& def = sets[i].def;
      Version& version = domains_[def.domain][def.version];
      version.sets.push_back(i);
      for (const FunctionDef& function : def.functions) add(function, i, version);
    }
    for (std::size_t i = 0; i < model.functions.size(); ++i) {
      own_.emplace(key_of(model.functions[i]), i);
    }
  }

  std::vector<std::size_t> run(LinkFrom from) {
    if (from == LinkFrom::functions) {
      for (const auto& [key, index] : own_) visit_own(index);
    } else {
      visit(model_.graph.nodes, model_.opsets);
      for (const TrainingInfoDef& info : model_.training) {
        if (info.initialization) visit(info.initialization->nodes, model_.opsets);
        if (info.algorithm) visit(info.algorithm->nodes, model_.opsets);
      }
    }
    while (!pending_.empty()) {
      const FunctionDef* function = pending_.back();
      pending_.pop_back();
      visit(function->nodes, function->opsets);
    }
    finish();
    return {used_.begin(), used_.end()};
  }

 private:
  struct Entry {
    const FunctionDef* function = nullptr;
    std::size_t set = 0;
    std::int64_t version = 0;
  };
  // Contents of the documents of one domain and version.
  struct Version {
    std::map<Key, Entry> functions;
    std::vector<std::size_t> sets;
  };
  using Versions = std::map<std::int64_t, Version, std::greater<>>;

  void add(const FunctionDef& function, std::size_t set, Version& version) {
    const auto [entry, fresh] = version.functions.try_emplace(
        key_of(function), Entry{&function, set, sets_[set].def.version});
    if (fresh || entry->second.set == set || same(*entry->second.function, function)) return;
    findings_.add(ErrorCode::invalid_model, describe(function), " differs in ",
                  sets_[entry->second.set].name, " and ", sets_[set].name,
                  ", which both are version ", sets_[set].def.version);
  }

  void visit_own(std::size_t index) {
    if (visited_.insert(index).second) pending_.push_back(&model_.functions[index]);
  }

  void visit(const std::vector<NodeDef>& nodes, const std::vector<OpsetImport>& imports) {
    for_each_node(nodes, [&](const NodeDef& node) { bind(node, imports); });
  }

  void bind(const NodeDef& node, const std::vector<OpsetImport>& imports) {
    const std::string_view domain = canonical_domain(node.domain);
    const Key key{std::string(domain), node.op, *node.overload};
    if (const auto own = own_.find(key); own != own_.end()) return visit_own(own->second);
    if (node.overload->empty() && catalogue_.find(domain, node.op) != nullptr) return;
    const auto versions = domains_.find(domain);
    if (versions == domains_.end()) return;
    if (const auto found = find(key, versions->second, imports)) {
      take(key, *found, node);
    } else {
      report(node, versions->second, imports);
    }
  }

  // The imported versions of a domain, the highest first.
  static std::vector<std::int64_t> imported(std::string_view domain,
                                            const std::vector<OpsetImport>& imports) {
    std::vector<std::int64_t> versions;
    for (const OpsetImport& import : imports) {
      if (canonical_domain(import.domain) == domain) versions.push_back(import.version);
    }
    std::ranges::sort(versions, std::greater());
    return versions;
  }

  static std::optional<Entry> find(const Key& key, const Versions& versions,
                                   const std::vector<OpsetImport>& imports) {
    for (const std::int64_t version : imported(std::get<0>(key), imports)) {
      const auto known = versions.find(version);
      // A version without a document may have the function.
      if (known == versions.end()) return std::nullopt;
      const auto found = known->second.functions.find(key);
      if (found != known->second.functions.end()) return found->second;
    }
    return std::nullopt;
  }

  void take(const Key& key, const Entry& entry, const NodeDef& node) {
    const auto [taken, fresh] = taken_.emplace(key, entry);
    if (fresh) {
      order_.push_back(entry);
      pending_.push_back(entry.function);
      return;
    }
    const Entry& earlier = taken->second;
    if (earlier.function == entry.function || same(*earlier.function, *entry.function)) return;
    if (!conflicts_.insert(key).second) return;
    findings_.add(ErrorCode::unsupported, describe(node), " calls ", describe(*entry.function),
                  " of version ", entry.version, " (", sets_[entry.set].name,
                  "), another node that of version ", earlier.version, " (",
                  sets_[earlier.set].name, "); a model holds one function of a name");
  }

  // Reports a node whose function no set has.
  void report(const NodeDef& node, const Versions& versions,
              const std::vector<OpsetImport>& imports) {
    const std::vector<std::int64_t> wanted = imported(canonical_domain(node.domain), imports);
    if (wanted.empty()) return;  // the check of imports says so
    const std::string domain = quoted(std::string(spelled_domain(canonical_domain(node.domain))));
    for (const std::int64_t version : wanted) {
      const auto known = versions.find(version);
      if (known == versions.end()) {
        findings_.add(ErrorCode::unsupported, describe(node), " is of operator set ", domain,
                      " version ", version, ", ", sets_[versions.begin()->second.sets[0]].name,
                      " is version ", versions.begin()->first);
        return;
      }
    }
    const Version& newest = versions.at(wanted[0]);
    const bool declared = std::ranges::any_of(newest.sets, [&](std::size_t set) {
      return std::ranges::any_of(sets_[set].def.operators,
                                 [&](const OperatorDef& one) { return one.name == node.op; });
    });
    findings_.add(declared ? ErrorCode::unsupported : ErrorCode::invalid_model, describe(node),
                  " needs ", quoted(node.op), " of ", domain, " version ", wanted[0], ", which ",
                  sets_[newest.sets[0]].name,
                  declared ? " declares without a function" : " does not have");
  }

  void finish() {
    for (const Entry& entry : order_) {
      const OperatorSetDef& set = sets_[entry.set].def;
      used_.insert(entry.set);
      model_.functions.push_back(*entry.function);
      model_.ir_version = std::max({model_.ir_version, set.ir_version, functions_ir});
      if (!Opsets(model_.opsets).version(set.domain)) {
        model_.opsets.push_back({set.domain, entry.version});
      }
    }
  }

  ModelDef& model_;
  std::span<const AvailableSet> sets_;
  const Catalogue& catalogue_;
  Findings& findings_;
  std::map<std::string, Versions, std::less<>> domains_;
  std::map<Key, std::size_t> own_;  // functions of the model
  std::set<std::size_t> visited_;   // of these
  std::map<Key, Entry> taken_;
  std::vector<Entry> order_;  // as they are appended
  std::set<Key> conflicts_;
  std::vector<const FunctionDef*> pending_;
  std::set<std::size_t> used_;
};

}  // namespace

std::vector<std::size_t> link_functions(ModelDef& model, std::span<const AvailableSet> sets,
                                        const Catalogue& catalogue, LinkFrom from,
                                        Findings& findings) {
  return Linker(model, sets, catalogue, findings).run(from);
}

}  // namespace ondine::graph
