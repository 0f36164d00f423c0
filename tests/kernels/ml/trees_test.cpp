#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/kernels/common/numbers.h"
#include "tests/kernels/text/texts.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Int64s = std::vector<std::int64_t>;
using Floats = std::vector<float>;
using Strings = std::vector<std::string>;

const double not_a_number = std::numeric_limits<double>::quiet_NaN();

// Two trees of three and five nodes on two features.
struct Arrays {
  Int64s trees{0, 0, 0, 1, 1, 1, 1, 1};
  Int64s nodes{0, 1, 2, 0, 1, 2, 3, 4};
  Int64s features{0, 0, 0, 1, 0, 0, 0, 0};
  Strings modes{"BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_GT", "BRANCH_LT", "LEAF", "LEAF", "LEAF"};
  Floats values{0.5F, 0, 0, 1, 2, 0, 0, 0};
  Int64s yes{1, 0, 0, 1, 3, 0, 0, 0};
  Int64s no{2, 0, 0, 2, 4, 0, 0, 0};
  Int64s missing{0, 0, 0, 1, 0, 0, 0, 0};
  Int64s vote_trees{0, 0, 1, 1, 1, 1};
  Int64s vote_nodes{1, 2, 2, 3, 4, 4};
  Int64s votes{0, 1, 0, 1, 0, 1};
  Floats weights{1, 2, 4, 8, 16, -32};

  graph::Attributes attributes(const std::string& prefix) const {
    return {{"nodes_treeids", trees},          {"nodes_nodeids", nodes},
            {"nodes_featureids", features},    {"nodes_modes", modes},
            {"nodes_values", values},          {"nodes_truenodeids", yes},
            {"nodes_falsenodeids", no},        {"nodes_missing_value_tracks_true", missing},
            {prefix + "_treeids", vote_trees}, {prefix + "_nodeids", vote_nodes},
            {prefix + "_ids", votes},          {prefix + "_weights", weights}};
  }

  bool holds(std::size_t i, double x) const {
    if (std::isnan(x)) return missing[i] != 0;
    const double v = values[i];
    const std::string& mode = modes[i];
    if (mode == "BRANCH_LEQ") return x <= v;
    if (mode == "BRANCH_LT") return x < v;
    if (mode == "BRANCH_GTE") return x >= v;
    if (mode == "BRANCH_GT") return x > v;
    if (mode == "BRANCH_EQ") return x == v;
    return x != v;
  }
  // The weights that target `id` gets from x.
  std::vector<double> votes_for(std::int64_t id, const std::vector<double>& x) const {
    std::vector<double> out;
    for (const std::int64_t tree : {0, 1}) {
      std::int64_t at = 0;
      const auto index = [&] {
        for (std::size_t i = 0;; ++i) {
          if (trees[i] == tree && nodes[i] == at) return i;
        }
      };
      while (modes[index()] != "LEAF") {
        const std::size_t i = index();
        at = holds(i, x[static_cast<std::size_t>(features[i])]) ? yes[i] : no[i];
      }
      for (std::size_t k = 0; k < votes.size(); ++k) {
        if (vote_trees[k] == tree && vote_nodes[k] == at && votes[k] == id) {
          out.push_back(weights[k]);
        }
      }
    }
    return out;
  }
};

const std::vector<std::vector<double>> rows{{0, 0},
                                            {1, 2},
                                            {3, 2},
                                            {0.5, 1},
                                            {not_a_number, 0},
                                            {0, not_a_number},
                                            {2, 3},
                                            {-1, not_a_number}};

Tensor matrix(DType dtype) {
  std::vector<double> flat;
  for (const auto& row : rows) flat.insert(flat.end(), row.begin(), row.end());
  return numbers({static_cast<std::int64_t>(rows.size()), 2}, flat, dtype);
}

OpCase ml(const std::string& op, const Tensor& x, graph::Attributes attributes,
          std::size_t outputs = 1, std::int64_t version = 3) {
  return {.op = op,
          .inputs = {x},
          .attributes = std::move(attributes),
          .outputs = outputs,
          .domain = "ai.onnx.ml",
          .version = version};
}

}  // namespace

TEST_CASE("TreeEnsembleRegressor aggregates leaves with every mode") {
  const Strings modes{"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                      "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
  for (const std::string& mode : modes) {
    for (const std::string aggregate : {"SUM", "AVERAGE", "MIN", "MAX"}) {
      Arrays arrays;
      arrays.modes[0] = mode;
      std::vector<double> want;
      for (const auto& row : rows) {
        for (const std::int64_t id : {0, 1}) {
          const auto votes = arrays.votes_for(id, row);
          double y = votes.empty() ? 0 : votes[0];
          for (std::size_t i = 1; i < votes.size(); ++i) {
            y = aggregate == "MIN"   ? std::min(y, votes[i])
                : aggregate == "MAX" ? std::max(y, votes[i])
                                     : y + votes[i];
          }
          want.push_back((aggregate == "AVERAGE" ? y / 2 : y) + (id == 0 ? 0.5 : -0.25));
        }
      }
      auto attributes = arrays.attributes("target");
      attributes.emplace_back("n_targets", std::int64_t{2});
      attributes.emplace_back("aggregate_function", aggregate);
      attributes.emplace_back("base_values", Floats{0.5F, -0.25F});
      for (const DType dtype : {DType::float32, DType::float64}) {
        INFO(mode << " " << aggregate << " " << to_string(dtype));
        check_close(run_op_tensor(ml("TreeEnsembleRegressor", matrix(dtype), attributes, 1, 1)),
                    numbers({8, 2}, want, DType::float32));
      }
    }
  }
}

TEST_CASE("a row has the same scores among many as alone") {
  const Strings modes{"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ"};
  for (const std::string& mode : modes) {
    for (const std::string aggregate : {"SUM", "MAX"}) {
      CAPTURE(mode, aggregate);
      Arrays arrays;
      std::replace_if(
          arrays.modes.begin(), arrays.modes.end(),
          [](const std::string& one) { return one != "LEAF"; }, mode);
      auto attributes = arrays.attributes("target");
      attributes.emplace_back("n_targets", std::int64_t{2});
      attributes.emplace_back("aggregate_function", aggregate);
      std::vector<double> x, want;
      for (std::size_t i = 0; i < 75; ++i) {
        const auto& row = rows[i * i % rows.size()];
        x.insert(x.end(), row.begin(), row.end());
        const Tensor one = run_op_tensor(
            ml("TreeEnsembleRegressor", numbers({1, 2}, row, DType::float64), attributes));
        for (const double score : as_doubles(one)) want.push_back(score);
      }
      check_close(run_op_tensor(
                      ml("TreeEnsembleRegressor", numbers({75, 2}, x, DType::float64), attributes)),
                  numbers({75, 2}, want, DType::float32), {0, 0});
    }
  }
}

TEST_CASE("Tree ensembles take integers, doubles and no rows") {
  auto attributes = Arrays().attributes("target");
  attributes.emplace_back("n_targets", std::int64_t{2});
  const Tensor floats = numbers({2, 2}, {0, 0, 3, 2}, DType::float32);
  const Tensor want = run_op_tensor(ml("TreeEnsembleRegressor", floats, attributes));
  for (const DType dtype : {DType::int64, DType::int32}) {
    check_close(run_op_tensor(
                    ml("TreeEnsembleRegressor", numbers({2, 2}, {0, 0, 3, 2}, dtype), attributes)),
                want);
  }
  CHECK(run_op_tensor(ml("TreeEnsembleRegressor", Tensor(DType::float32, {0, 2}), attributes))
            .shape() == Shape{0, 2});
  // One target, as where nothing says how many.
  Arrays single;
  single.votes = {0, 0, 0, 0, 0, 0};
  auto one = single.attributes("target");
  const Tensor unsaid = run_op_tensor(ml("TreeEnsembleRegressor", floats, one));
  CHECK(unsaid.shape() == Shape{2, 1});
  one.emplace_back("n_targets", std::int64_t{1});
  CHECK(run_op_tensor(ml("TreeEnsembleRegressor", floats, one)).identical(unsaid));
  one.back() = {"n_targets", std::int64_t{0}};
  check_refused(ml("TreeEnsembleRegressor", floats, one), ErrorCode::invalid_model,
                "'n_targets' is 0");
  // Version 3: thresholds that a float does not hold.
  Arrays arrays;
  auto exact = arrays.attributes("target");
  std::erase_if(exact, [](const auto& a) { return a.name == "nodes_values"; });
  const double third = 1.0 / 3;
  exact.emplace_back("nodes_values_as_tensor",
                     Tensor::of<double>({8}, std::vector<double>{third, 0, 0, 1, 2, 0, 0, 0}));
  exact.emplace_back("n_targets", std::int64_t{2});
  const double above = std::nextafter(third, 1);
  const Tensor y =
      run_op_tensor(ml("TreeEnsembleRegressor", numbers({2, 2}, {third, 0, above, 0}), exact));
  CHECK(y.values<float>()[0] == 5);
  CHECK(y.values<float>()[2] == 4);
}

TEST_CASE("TreeEnsembleClassifier sums votes and takes the top class") {
  const Arrays arrays;
  std::vector<double> want;
  Int64s labels;
  Strings words;
  for (const auto& row : rows) {
    double scores[2] = {0.5, 0};
    for (const std::int64_t id : {0, 1}) {
      for (const double vote : arrays.votes_for(id, row)) scores[id] += vote;
    }
    labels.push_back(scores[1] > scores[0] ? 8 : 3);
    words.push_back(scores[1] > scores[0] ? "yes" : "no");
    for (const double s : scores) want.push_back(1 / (1 + std::exp(-s)));
  }
  auto attributes = arrays.attributes("class");
  attributes.emplace_back("base_values", Floats{0.5F, 0});
  attributes.emplace_back("post_transform", std::string("LOGISTIC"));
  auto named = attributes;
  attributes.emplace_back("classlabels_int64s", Int64s{3, 8});
  named.emplace_back("classlabels_strings", Strings{"no", "yes"});
  const auto got = run_op(ml("TreeEnsembleClassifier", matrix(DType::float32), attributes, 2, 1));
  CHECK(got[0].tensor().identical(int64s(labels)));
  check_close(got[1].tensor(), numbers({8, 2}, want, DType::float32));
  CHECK(run_op_tensor(ml("TreeEnsembleClassifier", matrix(DType::float64), named, 2))
            .identical(texts(words)));
}

TEST_CASE("TreeEnsembleClassifier with votes for one of two classes") {
  Arrays arrays;
  arrays.votes = {1, 1, 1, 1, 1, 1};
  const auto run = [&](const Floats& weights) {
    arrays.weights = weights;
    auto attributes = arrays.attributes("class");
    attributes.emplace_back("classlabels_int64s", Int64s{3, 8});
    return run_op(ml("TreeEnsembleClassifier", numbers({2, 2}, {0, 0, 3, 2}), attributes, 2));
  };
  // Probabilities: 0.25 + 0.125 and 0.5 + 0.25.
  auto got = run({0.25F, 0.5F, 0.125F, 0, 0.25F, 0});
  CHECK(got[0].tensor().identical(int64s({3, 8})));
  check_close(got[1].tensor(), numbers({2, 2}, {0.625, 0.375, 0.25, 0.75}, DType::float32));
  // Margins: -1 + 0.5 and 2 + 0.25.
  got = run({-1, 2, 0.5F, 0, 0.25F, 0});
  CHECK(got[0].tensor().identical(int64s({3, 8})));
  check_close(got[1].tensor(), numbers({2, 2}, {0.5, -0.5, -2.25, 2.25}, DType::float32));
}

TEST_CASE("Hostile tree arrays are refused") {
  const auto refused = [](auto change, const std::string& part) {
    Arrays arrays;
    change(arrays);
    auto attributes = arrays.attributes("target");
    attributes.emplace_back("n_targets", std::int64_t{2});
    check_refused(ml("TreeEnsembleRegressor", matrix(DType::float32), attributes),
                  ErrorCode::invalid_model, part);
  };
  refused([](Arrays& a) { a.yes[4] = 0; }, "leads back to itself");
  refused([](Arrays& a) { a.no[0] = 0; }, "leads back to itself");
  refused([](Arrays& a) { a.yes[0] = 77; }, "tree 0 has no node 77");
  refused([](Arrays& a) { a.no[3] = -1; }, "tree 1 has no node -1");
  refused([](Arrays& a) { a.nodes[2] = 1; }, "two nodes 1");
  refused([](Arrays& a) { a.features[0] = 2; }, "reads feature 2 of 2");
  refused([](Arrays& a) { a.features[3] = -1; }, "reads feature -1");
  refused([](Arrays& a) { a.votes[0] = 2; }, "'target_ids' has 2");
  refused([](Arrays& a) { a.vote_nodes[0] = 9; }, "tree 0 has no node 9");
  refused([](Arrays& a) { a.weights.pop_back(); }, "'target_weights' has 5");
  refused([](Arrays& a) { a.modes[0] = "BRANCH_UP"; }, "'BRANCH_UP'");
  refused([](Arrays& a) { a.values.clear(); }, "'nodes_values' has 0");
  refused([](Arrays& a) { a.yes.push_back(1); }, "'nodes_truenodeids' has 9");
  refused([](Arrays& a) { a.trees.pop_back(); }, "'nodes_treeids' has 7");
  refused([](Arrays& a) { a.nodes.push_back(5); }, "'nodes_nodeids' has 9");
  refused([](Arrays& a) { a.features.pop_back(); }, "'nodes_featureids' has 7");
  refused([](Arrays& a) { a.no.clear(); }, "'nodes_falsenodeids' has 0");
  refused([](Arrays& a) { a.missing.pop_back(); }, "'nodes_missing_value_tracks_true' has 7");
  refused([](Arrays& a) { a.vote_trees.pop_back(); }, "'target_treeids' has 5");
  refused([](Arrays& a) { a.vote_nodes.push_back(1); }, "'target_nodeids' has 7");
  refused([](Arrays& a) { a.weights.push_back(1); }, "'target_weights' has 7");
  refused([](Arrays& a) { a.votes[0] = -1; }, "'target_ids' has -1, needed: 0 to 1");
  refused([](Arrays& a) { a.vote_trees[0] = 2; }, "tree 2 has no node 1");
}

TEST_CASE("Trees without a place for missing values take NaN as a comparison that fails") {
  Arrays arrays;
  auto attributes = arrays.attributes("target");
  attributes.emplace_back("n_targets", std::int64_t{2});
  std::erase_if(attributes,
                [](const auto& a) { return a.name == "nodes_missing_value_tracks_true"; });
  arrays.missing.assign(8, 0);
  std::vector<double> want;
  for (const auto& row : rows) {
    for (const std::int64_t id : {0, 1}) {
      double y = 0;
      for (const double vote : arrays.votes_for(id, row)) y += vote;
      want.push_back(y);
    }
  }
  check_close(run_op_tensor(ml("TreeEnsembleRegressor", matrix(DType::float32), attributes)),
              numbers({8, 2}, want, DType::float32));
}

TEST_CASE("Votes of inner nodes do not count") {
  Arrays arrays;
  const auto run = [&] {
    auto attributes = arrays.attributes("target");
    attributes.emplace_back("n_targets", std::int64_t{2});
    return run_op_tensor(ml("TreeEnsembleRegressor", matrix(DType::float32), attributes));
  };
  const Tensor want = run();
  arrays.vote_trees.push_back(1);
  arrays.vote_nodes.push_back(0);
  arrays.votes.push_back(1);
  arrays.weights.push_back(100);
  check_close(run(), want);
}

namespace {

graph::Attributes ensemble(DType dtype) {
  return {
      {"tree_roots", Int64s{0, 3}},
      {"nodes_modes", numbers({4}, {0, 6, 6, 3}, DType::uint8)},
      {"nodes_splits", numbers({4}, {11, 0, 0, 2}, dtype)},
      {"nodes_featureids", Int64s{0, 0, 0, 1}},
      {"nodes_truenodeids", Int64s{1, 0, 1, 0}},
      {"nodes_trueleafs", Int64s{0, 1, 1, 1}},
      {"nodes_falsenodeids", Int64s{2, 2, 3, 3}},
      {"nodes_falseleafs", Int64s{1, 0, 1, 1}},
      {"leaf_weights", numbers({4}, {1, 10, 1000, 100}, dtype)},
      {"leaf_targetids", Int64s{0, 1, 2, 0}},
      {"membership_values", numbers({8}, {1.5, 4, 8, 9, not_a_number, 12, 7, not_a_number}, dtype)},
      {"n_targets", std::int64_t{3}}};
}

void replace(graph::Attributes& attributes, const std::string& name, graph::Attribute::Data data) {
  std::erase_if(attributes, [&](const auto& a) { return a.name == name; });
  attributes.emplace_back(name, std::move(data));
}

}  // namespace

TEST_CASE("TreeEnsemble tests membership and aggregates in every dtype") {
  for (const DType dtype : {DType::float32, DType::float64, DType::float16}) {
    INFO(to_string(dtype));
    const Tensor x =
        numbers({5, 2}, {1.5, 0, 3.5, 3, not_a_number, not_a_number, 12, 0, 7, 3}, dtype);
    // Tree 0: leaf 0 for a member of the first set, 1 of the second, 3 for none, 2 above 11 or
    // missing. Tree 1: leaf 0 above 2, else 3.
    const std::vector<double> sums{101, 0, 0, 101, 0, 0, 100, 0, 1000, 100, 0, 1000, 1, 10, 0};
    check_close(run_op_tensor(ml("TreeEnsemble", x, ensemble(dtype), 1, 5)),
                numbers({5, 3}, sums, dtype));
    auto attributes = ensemble(dtype);
    replace(attributes, "aggregate_function", std::int64_t{0});
    std::vector<double> halves = sums;
    for (double& value : halves) value /= 2;
    check_close(run_op_tensor(ml("TreeEnsemble", x, attributes, 1, 5)),
                numbers({5, 3}, halves, dtype));
    replace(attributes, "aggregate_function", std::int64_t{2});
    check_close(run_op_tensor(ml("TreeEnsemble", x, attributes, 1, 5)),
                numbers({5, 3}, {1, 0, 0, 1, 0, 0, 100, 0, 1000, 100, 0, 1000, 1, 10, 0}, dtype));
    replace(attributes, "aggregate_function", std::int64_t{3});
    check_close(
        run_op_tensor(ml("TreeEnsemble", x, attributes, 1, 5)),
        numbers({5, 3}, {100, 0, 0, 100, 0, 0, 100, 0, 1000, 100, 0, 1000, 1, 10, 0}, dtype));
  }
}

TEST_CASE("TreeEnsemble refuses hostile arrays") {
  const auto refused = [](const std::string& name, graph::Attribute::Data data,
                          const std::string& part, ErrorCode code = ErrorCode::invalid_model) {
    auto attributes = ensemble(DType::float32);
    replace(attributes, name, std::move(data));
    check_refused(ml("TreeEnsemble", iota({1, 2}), attributes, 1, 5), code, part);
  };
  refused("nodes_falsenodeids", Int64s{2, 0, 3, 3}, "leads back to itself");
  refused("nodes_falsenodeids", Int64s{2, 2, 4, 3}, "'nodes_falsenodeids' has 4");
  refused("nodes_truenodeids", Int64s{4, 0, 1, 0}, "'nodes_truenodeids' has 4");
  refused("tree_roots", Int64s{-1}, "'tree_roots' has -1");
  refused("leaf_targetids", Int64s{0, 1, 2, 3}, "'leaf_targetids' has 3");
  refused("nodes_featureids", Int64s{0, 0, 0, 2}, "reads feature 2 of 2");
  refused("nodes_modes", numbers({4}, {0, 6, 7, 3}, DType::uint8), "'nodes_modes' has 7");
  refused("membership_values", numbers({1}, {1}, DType::float32), "fewer sets");
  refused("membership_values", numbers({5}, {1, not_a_number, 2, not_a_number, 3}, DType::float32),
          "more sets");
  refused("leaf_weights", numbers({4}, {1, 2, 3, 4}), "has dtype double", ErrorCode::mismatch);
  refused("post_transform", std::int64_t{5}, "'post_transform' is 5");
  refused("aggregate_function", std::int64_t{4}, "'aggregate_function' is 4");
}
