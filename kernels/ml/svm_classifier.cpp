// svm_classifier.cpp — one machine per pair of classes: s_ij = sum c K(x, v) + rho > 0 is a vote
// for i, else for j; the label is the class with most votes. Scores: s_ij of all pairs ([-s, s] for
// two classes), or with prob_a and prob_b the probabilities of the classes that fit the pairs'
// logistic(-(a s + b)) best. Without vectors_per_class: a linear score for each class.
#include <algorithm>
#include <cmath>

#include "core/checked.h"
#include "core/stop.h"
#include "kernels/common/op.h"
#include "kernels/ml/svm.h"

namespace ondine::kernels::ops {
namespace {

ClassLabels labels_of(const NodeView& node) {
  return {node, "classlabels_ints", "classlabels_strings"};
}

std::uint64_t pairs_of(std::size_t classes) { return elements_of(classes, classes - 1) / 2; }

struct Form {
  bool vectors;
  bool probabilities;
  std::size_t columns;

  Form(const NodeView& node, std::size_t classes) {
    const auto counts = node.attr_ints("vectors_per_class");
    vectors = std::any_of(counts.begin(), counts.end(), [](auto n) { return n != 0; });
    probabilities = vectors && !node.attr_floats("prob_a").empty();
    columns = !vectors || probabilities || classes == 2
                  ? classes
                  : row_length(static_cast<std::int64_t>(pairs_of(classes)));
  }
};

void infer(InferContext& context) {
  const ClassLabels labels = labels_of(context);
  infer_classifier(context, labels, Form(context, labels.count()).columns);
}

// Class probabilities p from pairwise ones, r[i, j] = P(i | i or j): the minimum of sum_i (sum_j
// r_ji p_i - r_ij p_j)^2 (Wu, Lin, Weng 2004, second method, their iteration).
void couple(std::span<const double> r, std::span<double> p, std::span<double> scratch) {
  const std::size_t k = p.size();
  const auto q = scratch.first(k * k);
  const auto qp = scratch.subspan(k * k, k);
  for (std::size_t i = 0; i < k; ++i) {
    q[i * k + i] = 0;
    checkpoint(4 * static_cast<std::int64_t>(k));
    for (std::size_t j = 0; j < k; ++j) {
      if (i == j) continue;
      q[i * k + i] += r[j * k + i] * r[j * k + i];
      q[i * k + j] = -r[j * k + i] * r[i * k + j];
    }
  }
  std::fill(p.begin(), p.end(), 1.0 / static_cast<double>(k));
  const std::size_t rounds = std::max<std::size_t>(100, k);
  for (std::size_t round = 0; round < rounds; ++round) {
    double pqp = 0;
    for (std::size_t i = 0; i < k; ++i) {
      qp[i] = 0;
      checkpoint(2 * static_cast<std::int64_t>(k));
      for (std::size_t j = 0; j < k; ++j) qp[i] += q[i * k + j] * p[j];
      pqp += p[i] * qp[i];
    }
    double error = 0;
    for (const double x : qp) error = std::max(error, std::abs(x - pqp));
    if (error < 0.005 / static_cast<double>(k)) break;
    for (std::size_t i = 0; i < k; ++i) {
      const double step = (pqp - qp[i]) / q[i * k + i];
      const double scale = 1 + step;
      p[i] += step;
      checkpoint(8 * static_cast<std::int64_t>(k));
      pqp = (pqp + step * (step * q[i * k + i] + 2 * qp[i])) / (scale * scale);
      for (std::size_t j = 0; j < k; ++j) {
        qp[j] = (qp[j] + step * q[i * k + j]) / scale;
        p[j] /= scale;
      }
    }
  }
}

struct Machine {
  SvmKernel kernel;
  PostTransform transform;
  std::size_t classes;
  std::size_t features;
  Form form;
  std::vector<float> coefficients, rho, a, b, vectors;
  std::vector<std::size_t> starts{0};  // of each class's vectors, and their number

  Machine(const NodeView& node, std::size_t classes_, std::size_t features_)
      : kernel(node),
        transform(read_post_transform(node)),
        classes(classes_),
        features(features_),
        form(node, classes_),
        coefficients(node.attr_floats("coefficients")),
        rho(node.attr_floats("rho")) {
    if (!form.vectors) {
      require_count("coefficients", coefficients.size(), elements_of(classes, features));
      if (rho.empty()) fail(ErrorCode::invalid_model, "attribute 'rho' has no elements");
      return;
    }
    const auto counts = node.attr_ints("vectors_per_class");
    require_count("vectors_per_class", counts.size(), classes);
    std::int64_t total = 0;
    for (const std::int64_t count : counts) {
      if (count < 0) fail(ErrorCode::invalid_model, "attribute 'vectors_per_class' has ", count);
      total = checked_add(total, count);
      starts.push_back(row_length(total));
    }
    vectors = node.attr_floats("support_vectors");
    const auto supports = static_cast<std::uint64_t>(total);
    require_count("support_vectors", vectors.size(), elements_of(supports, features));
    require_count("coefficients", coefficients.size(), elements_of(supports, classes - 1));
    require_count("rho", rho.size(), pairs_of(classes));
    if (!form.probabilities) return;
    a = node.attr_floats("prob_a");
    b = node.attr_floats("prob_b");
    require_count("prob_a", a.size(), pairs_of(classes));
    require_count("prob_b", b.size(), pairs_of(classes));
  }

  std::size_t scratch() const {
    return form.vectors ? starts.back() + classes + rho.size() + 2 * classes * classes + classes
                        : 0;
  }

  std::size_t score(std::span<const double> x, std::span<double> scores,
                    std::span<double> scratch) const {
    if (!form.vectors) {
      for (std::size_t k = 0; k < classes; ++k) {
        checkpoint(2 * static_cast<std::int64_t>(features) + 8);
        scores[k] = rho[0] + dot(x, coefficients.data() + k * features);
      }
      return top_class(scores);
    }
    const auto values = scratch.first(starts.back());
    const auto votes = scratch.subspan(values.size(), classes);
    const auto margins = scratch.subspan(values.size() + classes, rho.size());
    const auto rest = scratch.last(2 * classes * classes + classes);
    for (std::size_t v = 0; v < values.size(); ++v) {
      checkpoint(static_cast<std::int64_t>(2 * features) + 32);
      values[v] = kernel(x, vectors.data() + v * features);
    }
    std::fill(votes.begin(), votes.end(), 0.0);
    const auto sum = [&](std::size_t row, std::size_t of) {
      double total = 0;
      checkpoint(static_cast<std::int64_t>(2 * (starts[of + 1] - starts[of])) + 8);
      for (std::size_t v = starts[of]; v < starts[of + 1]; ++v) {
        total += coefficients[row * values.size() + v] * values[v];
      }
      return total;
    };
    std::size_t pair = 0;
    for (std::size_t i = 0; i < classes; ++i) {
      for (std::size_t j = i + 1; j < classes; ++j, ++pair) {
        margins[pair] = rho[pair] + sum(j - 1, i) + sum(i, j);
        votes[margins[pair] > 0 ? i : j] += 1;
      }
    }
    if (form.probabilities) {
      const auto r = rest.first(classes * classes);
      probabilities(margins, r);
      couple(r, scores, rest.subspan(r.size()));
    } else if (classes == 2) {
      scores[1] = margins[0];
      make_pair(transform, SingleScore::margin, scores);
    } else {
      std::copy(margins.begin(), margins.end(), scores.begin());
    }
    return top_class(votes);
  }

 private:
  void probabilities(std::span<const double> margins, std::span<double> r) const {
    std::size_t pair = 0;
    for (std::size_t i = 0; i < classes; ++i) {
      for (std::size_t j = i + 1; j < classes; ++j, ++pair) {
        checkpoint(32);
        const double p = 1 / (1 + std::exp(margins[pair] * a[pair] + b[pair]));
        r[i * classes + j] = std::clamp(p, 1e-7, 1 - 1e-7);
        r[j * classes + i] = 1 - r[i * classes + j];
      }
    }
  }
};

Kernel bind(BindContext& context) {
  ClassLabels labels = labels_of(context);
  const auto features = static_cast<std::size_t>(feature_count(context));
  Machine machine(context, labels.count(), features);
  RowModel model{.columns = machine.form.columns,
                 .scratch = machine.scratch(),
                 .transform = machine.transform,
                 .score = {}};
  model.score = [machine = std::move(machine)](std::span<const double> x, std::span<double> scores,
                                               std::span<double> scratch) {
    return machine.score(x, scores, scratch);
  };
  return bind_classifier(context, std::move(labels), std::move(model));
}

}  // namespace

extern const OpDef svm_classifier{
    .name = "SVMClassifier", .domain = ml_domain, .infer = infer, .bind = bind};

}  // namespace ondine::kernels::ops
