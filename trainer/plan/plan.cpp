#include "trainer/plan/plan.h"

#include <algorithm>

#include "core/message.h"
#include "core/system/pages.h"
#include "trainer/plan/planner.h"
#include "trainer/plan/rewrite/batch_parts.h"
#include "trainer/plan/rewrite/compact.h"
#include "trainer/plan/rewrite/join_repeats.h"
#include "trainer/plan/rewrite/recompute.h"
#include "trainer/plan/rewrite/roundable.h"
#include "trainer/plan/rewrite/specialize.h"

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

// A plan, and what the graph was before.
class Draft {
 public:
  // Originals and options must outlive it.
  Draft(Graph graph, const OriginalNodes& originals, const PlanOptions& options, CommitScope scope)
      : Draft(Planner(std::move(graph), originals, options, scope), originals, options, scope) {}

  Graph graph() const {
    Graph graph = plan.graph;
    graph.nodes.resize(plan.nodes.size());
    for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
      graph.nodes[former_[i]] = *plan.nodes[i].node;
    }
    return graph;
  }

  // Drafts a graph that was made from graph().
  Draft next(Graph lean) const { return next(std::move(lean), scope_); }
  Draft next(Graph lean, CommitScope scope) const {
    return {Planner(std::move(lean), *originals_, *options_, scope, kernels_), *originals_,
            *options_, scope};
  }

  // Drafts the same graph with other options.
  Draft with(const PlanOptions& options) const {
    return {Planner(graph(), *originals_, options, scope_), *originals_, options, scope_};
  }

  const PlanOptions& options() const noexcept { return *options_; }

  Plan plan;

 private:
  Draft(Planner planner, const OriginalNodes& originals, const PlanOptions& options,
        CommitScope scope)
      : plan(planner.run()),
        former_(planner.take_former()),
        kernels_(planner.take_kernels()),
        originals_(&originals),
        options_(&options),
        scope_(scope) {}

  std::vector<std::size_t> former_;  // by node of the plan: its position in the graph
  SharedKernels kernels_;
  const OriginalNodes* originals_;
  const PlanOptions* options_;
  CommitScope scope_;
};

// Whether the plan meets the budget, where needed by streaming constants. If not, total_bytes is
// what it needs at least.
bool meets_budget(Plan& plan, const PlanOptions& options) {
  const std::uint64_t budget = *options.memory_budget;
  if (plan.total_bytes <= budget) return true;
  std::vector<StreamedConstant> streamed = find_streamed(plan, options.files);
  if (streamed.empty()) return false;
  const std::uint64_t bytes = bytes_of(streamed);
  const std::uint64_t least = least_bytes(streamed, plan.nodes.size());
  const std::uint64_t others = plan.total_bytes - bytes;
  std::uint64_t resident = least;
  if (others + least <= budget) {
    // The rest of the room is for plans of other shapes.
    const std::uint64_t room = least + (budget - others - least) / 8 * 7;
    plan.streaming = stream(std::move(streamed), plan.nodes.size(), room);
    resident = plan.streaming->resident_bytes;
  }
  plan.constant_bytes -= bytes - resident;
  plan.total_bytes = others + resident;
  return plan.streaming.has_value();
}

// Less and less is kept, from `goal` bytes of the arena on, until accept(plan) holds; nothing where
// it never does.
template <class Accept>
std::optional<Plan> recomputed(const Draft& draft, std::uint64_t goal, Accept accept) {
  for (int attempt = 0; attempt < 6; ++attempt) {
    Graph lean = draft.graph();
    recompute_values(lean, draft.options().targets, {.goal = goal, .costly = true});
    Plan plan = draft.next(std::move(lean)).plan;
    place(plan);
    if (accept(plan)) return plan;
    goal = attempt < 4 ? goal * 7 / 8 : 0;
  }
  return std::nullopt;
}

Plan fit_budget(const Draft& draft, std::uint64_t without) {
  const Plan& plain = draft.plan;
  const PlanOptions& options = draft.options();
  const std::uint64_t excess = plain.total_bytes - *options.memory_budget;
  std::uint64_t least = plain.total_bytes;
  auto plan =
      recomputed(draft, plain.arena_bytes - std::min<std::uint64_t>(excess, plain.arena_bytes),
                 [&](Plan& lean) {
                   if (meets_budget(lean, options)) return true;
                   least = std::min(least, lean.total_bytes);
                   return false;
                 });
  if (plan) return *std::move(plan);
  fail(ErrorCode::limit, "the memory budget of ", *options.memory_budget,
       " bytes does not suffice: with recomputation",
       plain.total_bytes < without ? " and weights read from their file in turns" : "",
       " the call needs ", least, ", without ", without);
}

struct LargestValue {
  std::size_t bytes = 0;
  std::string_view name;
};
LargestValue largest_value(const Plan& plan) {
  LargestValue largest;
  for (std::size_t i = 0; i < plan.graph.values.size(); ++i) {
    const std::size_t at = plan.buffer_of[i];
    if (at == no_buffer || plan.buffers[at].kind != BufferKind::arena) continue;
    const std::size_t bytes = plan.buffers[at].bytes;
    if (bytes > largest.bytes) largest = {bytes, plan.graph.values[i].name};
  }
  return largest;
}

// The plan, or where its values need more than Limits::arena_bytes one that computes some again.
Plan fit_limit(Draft draft) {
  const Plan& plain = draft.plan;
  const std::uint64_t limit = draft.options().limits->arena_bytes;
  if (plain.arena_bytes <= limit) return std::move(draft.plan);
  const auto [bytes, name] = largest_value(plain);
  std::uint64_t least = plain.arena_bytes;
  if (bytes <= limit) {
    auto plan = recomputed(draft, limit, [&](const Plan& lean) {
      least = std::min<std::uint64_t>(least, lean.arena_bytes);
      return lean.arena_bytes <= limit;
    });
    if (plan) return *std::move(plan);
  }
  fail(ErrorCode::limit, "the call needs ", least, " bytes for its values, ", limit,
       " are allowed; the largest is ", quoted(name), " with ", bytes);
}

// Smaller arenas are not worth a second plan.
constexpr std::size_t small_arena = std::size_t{16} << 20;
// Values of fewer bytes stay in the caches anyway.
constexpr std::size_t cached_arena = std::size_t{4} << 20;
// The share of a call's memory traffic that computing values again may add.
constexpr std::uint64_t max_share_of_traffic = 20;

std::uint64_t cheap_traffic(const Graph& graph) {
  std::uint64_t traffic = 0;
  for (const Node& node : graph.nodes) traffic += traffic_of(node, graph);
  return traffic / max_share_of_traffic;
}

// Under a lower precision values are stored in it where what reads them takes it.
void round_results(Draft& draft, RoundedResult which) {
  const PlanOptions& options = draft.options();
  if (options.precision == Precision::float32) return;
  Graph lean = draft.graph();
  const BindOptions bind{*options.limits, options.threads, options.precision};
  // Once: who reads a constant rounds it or not, also where results are computed again.
  const bool constants = which == RoundedResult::where_read && options.rounded != nullptr &&
                         round_constants(lean, *options.rounded, bind);
  const bool results = round_results(lean, options.targets, which, bind);
  if (constants || results) draft = draft.next(std::move(lean));
}

// Joins repeats into one pass, with the same bits, if that takes no more memory.
void join_repeats(Draft& draft) {
  const auto has_repeat = [](const auto& each) { return each.node->op->repeats != nullptr; };
  if (std::ranges::none_of(draft.plan.nodes, has_repeat)) return;
  Graph lean = draft.graph();
  if (!trainer::join_repeats(lean, draft.options().targets)) return;
  Draft joined = draft.next(std::move(lean));
  if (joined.plan.total_bytes <= draft.plan.total_bytes) draft = std::move(joined);
}

// Under a lower precision values that wait for the backward pass are kept in it. Which ones does
// not depend on a budget.
void store_in_lower_precision(Draft& draft) {
  const PlanOptions& options = draft.options();
  if (options.precision == Precision::float32 || draft.plan.arena_bytes < small_arena) return;
  Graph lean = draft.graph();
  recompute_values(lean, options.targets, {.max_traffic = cheap_traffic(lean)});
  if (!compact_values(lean, options.targets,
                      {*options.limits, options.threads, options.precision})) {
    return;
  }
  Draft compacted = draft.next(std::move(lean));
  if (compacted.plan.total_bytes < draft.plan.total_bytes) draft = std::move(compacted);
}

// Layers that compute every sample by itself may run for a part of the batch at a time.
void compute_in_parts(Draft& draft) {
  const PlanOptions& options = draft.options();
  const Plan& plan = draft.plan;
  if (plan.arena_bytes < cached_arena) return;
  const auto has_batch = [&](const auto& each) { return computes_batch(*each.node, plan.graph); };
  if (std::ranges::none_of(plan.nodes, has_batch)) return;
  Graph lean = draft.graph();
  if (!split_batch(lean, options.targets)) return;
  Draft split = draft.next(std::move(lean));
  if (split.plan.total_bytes < draft.plan.total_bytes) draft = std::move(split);
}

// Without a budget what costs little to compute again is not kept either.
Draft without_cheap_values(Draft draft) {
  if (draft.plan.arena_bytes < small_arena) return draft;
  Graph lean = draft.graph();
  const Recomputation cheap{.max_traffic = cheap_traffic(lean)};
  if (!recompute_values(lean, draft.options().targets, cheap)) return draft;
  Draft next = draft.next(std::move(lean));
  return next.plan.total_bytes < draft.plan.total_bytes ? std::move(next) : std::move(draft);
}

// In bfloat16 what is rounded, and with it the bits, must not depend on the budget.
bool recomputes_later(const PlanOptions& options) {
  return options.memory_budget.has_value() || options.precision != Precision::float32;
}

Draft improved(Draft draft) {
  compute_in_parts(draft);
  round_results(draft, RoundedResult::where_read);
  store_in_lower_precision(draft);
  return recomputes_later(draft.options()) ? std::move(draft)
                                           : without_cheap_values(std::move(draft));
}

// While the commit section runs, new readers of variables wait and nothing stops the call: it is
// longer than it must be only where that saves so much of the arena.
constexpr std::size_t least_share_by_commits = 16;

Draft with_commits(Draft draft) {
  if (!draft.options().commit_last || draft.plan.arena_bytes < small_arena) return draft;
  Draft extended = draft.next(draft.graph(), CommitScope::all);
  const std::size_t bytes = draft.plan.arena_bytes;
  const bool saves = extended.plan.arena_bytes <= bytes - bytes / least_share_by_commits &&
                     extended.plan.total_bytes < draft.plan.total_bytes;
  return saves ? std::move(extended) : std::move(draft);
}

Plan choose_plan(const std::shared_ptr<const Graph>& graph, std::span<const Type> inputs,
                 const PlanOptions& options) {
  const std::span<const ValueId> outputs = options.outputs.value_or(graph->outputs);
  const OriginalNodes originals(graph);
  const CommitScope scope = options.commit_last ? CommitScope::updates : CommitScope::none;
  // What is rounded, and with it the bits, must not depend on the workspaces of threads.
  PlanOptions choosing = options;
  if (options.precision != Precision::float32) choosing.threads = 1;
  Draft draft = with_commits(
      improved({specialize(*graph, inputs, outputs, *options.limits), originals, choosing, scope}));
  if (!options.memory_budget && recomputes_later(options)) {
    draft = without_cheap_values(std::move(draft));
  }
  // Rounds values that are computed again, too: the bits are the same whether or not they are.
  round_results(draft, RoundedResult::where_rounded);
  join_repeats(draft);
  if (choosing.threads != options.threads) draft = draft.with(options);
  place(draft.plan);
  if (!options.memory_budget) return fit_limit(std::move(draft));
  const std::uint64_t without = draft.plan.total_bytes;
  if (meets_budget(draft.plan, options)) return fit_limit(std::move(draft));
  Plan plan = fit_budget(draft, without);
  if (plan.arena_bytes <= options.limits->arena_bytes) return plan;
  return fit_limit(std::move(draft));
}

}  // namespace

Plan make_plan(const std::shared_ptr<const Graph>& graph, std::span<const Type> inputs,
               const PlanOptions& options) {
  Plan plan = choose_plan(graph, inputs, options);
  // Plans that were not chosen leave freed memory, which would otherwise lie beside the arena.
  if (plan.arena_bytes >= small_arena) return_freed_memory();
  return plan;
}

}  // namespace ondine::trainer
