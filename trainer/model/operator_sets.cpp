#include "trainer/model/operator_sets.h"

#include <algorithm>
#include <iterator>

#include <ondine/operator_set.h>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "graph/check/operator_set.h"
#include "graph/print/format.h"
#include "graph/resolve/link_functions.h"
#include "proto/import_operator_set.h"
#include "trainer/model/assemble.h"
#include "trainer/model/load_checked.h"

namespace ondine {
namespace {

using Files = std::vector<std::shared_ptr<const MappedFile>>;

std::string name_of(const std::filesystem::path& file) {
  return "operator set " + quoted(file.filename().string());
}

// Adds what the import found to `findings`; what is invalid is left out.
graph::OperatorSetDef read(const std::filesystem::path& file, const Limits& limits,
                           graph::Findings& findings, Files& files) {
  LeftOut left_out;
  graph::OperatorSetDef def = load_operator_set(file, limits, left_out);
  for (const Error& error : left_out.errors) findings.add(error);
  for (const Error& error : left_out.tolerable) findings.warn(error);
  std::move(left_out.files.begin(), left_out.files.end(), std::back_inserter(files));
  return def;
}

std::vector<graph::AvailableSet> read_all(const LoadOptions& options,
                                          std::vector<std::string>& warnings, Files& files) {
  std::vector<graph::AvailableSet> sets;
  for (const std::filesystem::path& file : options.operator_sets) {
    with_context(
        [&] {
          graph::Findings findings(trainer::rigor_of(options));
          graph::OperatorSetDef def = read(file, options.limits, findings, files);
          if (findings.empty()) {
            check_operator_set(def, {}, graph::Undefined::ignored, trainer::all_operators(),
                               options.limits, findings);
          }
          findings.throw_if_any();
          for (const std::string& text : findings.warnings()) {
            warnings.push_back(text + ", in " + name_of(file));
          }
          sets.push_back({name_of(file), std::move(def)});
        },
        [&] { return name_of(file); });
  }
  return sets;
}

OperatorSetInfo describe(const graph::OperatorSetDef& def) {
  OperatorSetInfo info;
  info.domain = def.domain;
  info.version = def.version;
  info.ir_version = def.ir_version;
  info.ir_prerelease = def.ir_prerelease;
  info.ir_build_metadata = def.ir_build_metadata;
  info.doc = def.doc;
  for (const graph::OperatorDef& one : def.operators) {
    info.operators.push_back({one.name, one.since_version, one.stable, one.doc});
  }
  for (const graph::FunctionDef& one : def.functions) {
    OperatorSetFunction& function = info.functions.emplace_back();
    function.name = one.name;
    function.overload = one.overload;
    function.inputs = one.inputs;
    function.outputs = one.outputs;
    function.attributes = one.attributes;
    for (const graph::Attribute& attribute : one.defaults) {
      function.attributes.push_back(graph::printed_attribute(attribute));
    }
    for (const graph::OpsetImport& import : one.opsets) {
      function.imports.emplace_back(import.domain, import.version);
    }
    function.nodes = one.nodes.size();
    function.doc = one.doc;
  }
  return info;
}

}  // namespace

void trainer::link_operator_sets(graph::ModelDef& model, const LoadOptions& options,
                                 std::vector<std::string>& warnings, Files& files) {
  if (options.operator_sets.empty()) return;
  Files opened;
  const auto sets = read_all(options, warnings, opened);
  graph::Findings findings;
  link_functions(model, sets, all_operators(), graph::LinkFrom::graphs, findings);
  findings.throw_if_any();
  std::move(opened.begin(), opened.end(), std::back_inserter(files));
}

void trainer::link_operator_sets(graph::ModelDef& model, const LoadOptions& options,
                                 std::vector<std::string>& warnings) {
  Files files;
  link_operator_sets(model, options, warnings, files);
}

bool is_operator_set(const std::filesystem::path& file) {
  return guard_memory("look at the file", [&] {
    try {
      return is_operator_set_file(file);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::io && error.code() != ErrorCode::not_found) throw;
      return false;
    }
  });
}

OperatorSetInfo operator_set_info(const std::filesystem::path& file, const Limits& limits) {
  return guard_memory("describe the operator set", [&] {
    return with_context(
        [&] {
          graph::Findings findings;
          Files files;
          const graph::OperatorSetDef def = read(file, limits, findings, files);
          findings.throw_if_any();
          return describe(def);
        },
        [&] { return name_of(file); });
  });
}

std::vector<std::string> check_operator_set(const std::filesystem::path& file,
                                            const LoadOptions& options) {
  return guard_memory("check the operator set", [&] {
    LoadOptions strict = options;
    strict.strict = true;
    graph::Findings findings;
    findings.collect([&] {
      Files files;
      const graph::OperatorSetDef def = read(file, options.limits, findings, files);
      if (!findings.empty()) return;
      // Functions of other documents that those of this one call.
      graph::ModelDef linked;
      linked.functions = def.functions;
      std::vector<std::string> warnings;
      link_functions(linked, read_all(strict, warnings, files), trainer::all_operators(),
                     graph::LinkFrom::functions, findings);
      check_operator_set(def, std::span(linked.functions).subspan(def.functions.size()),
                         graph::Undefined::finding, trainer::all_operators(), options.limits,
                         findings);
    });
    return findings.texts();
  });
}

}  // namespace ondine
