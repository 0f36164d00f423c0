// Implementation of Model.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <shared_mutex>

#include <ondine/model.h>

#include "core/digest.h"
#include "core/hidden.h"
#include "core/random/row_scope.h"
#include "core/secure/secret_numbers.h"
#include "core/stop.h"
#include "graph/ir/document.h"
#include "trainer/model/assemble.h"
#include "trainer/model/load_checked.h"
#include "trainer/model/model_use.h"

namespace ondine {

struct DataRecord;

struct ONDINE_HIDDEN Model::Impl {
  graph::ModelDef def;
  // Guards the metadata of `def`: a training run and a checkpoint that is restored change them
  // while other threads read the model.
  mutable std::shared_mutex metadata_mutex;
  Leftovers leftovers;  // of the file that `def` is from
  LoadOptions options;
  trainer::Functions functions;
  trainer::StateStore state;
  mutable trainer::Runtime runtime;
  mutable trainer::ModelUse calls;
  mutable Sha256Digest digest{};  // see fingerprint()
  mutable std::once_flag digest_made;

  // Written by the training thread, read by inference in other threads.
  std::atomic<std::uint64_t> seed{0};
  std::atomic<std::uint64_t> steps{0};
  std::vector<std::uint64_t> algorithm_steps;

  ProgressCallback progress;
  std::shared_ptr<const CancelFlag> cancel;
  std::optional<std::chrono::milliseconds> deadline;
  bool profiling = false;
  mutable trainer::Profile profile;
  mutable std::mutex profile_mutex;
  // The functions of eval_step, by algorithm; created on first use.
  mutable std::vector<std::unique_ptr<trainer::Function>> evaluations;
  // Functions of gradients(), likewise.
  mutable std::vector<std::unique_ptr<trainer::Gradients>> gradients;
  mutable std::mutex evaluations_mutex;
  // See inference().
  mutable std::unique_ptr<trainer::Inference> made_inference;
  mutable std::mutex inference_mutex;
  // Steps fail, with what was found, when a result of one element is not finite.
  bool require_finite = false;
  std::string nonfinite;
  std::vector<Value> scratch;  // inputs of the last step; kept to reuse its memory
  std::vector<std::string> fetch_names;
  // Key of a model with noise from a cryptographic generator. Each model has its own, clones too.
  std::unique_ptr<SecretKey> secret;

  static std::unique_ptr<Impl> make(graph::ModelDef def, const LoadOptions& options,
                                    const trainer::RoundedWeights::Files& files = {});
  static std::unique_ptr<Impl> make(trainer::CheckedModel model, const LoadOptions& options);

  // See Model::clone.
  std::unique_ptr<Impl> clone() const;
  graph::Properties metadata() const {
    const std::shared_lock lock(metadata_mutex);
    return def.metadata;
  }
  // Computed on first use, since that reads every constant of the model.
  const Sha256Digest& fingerprint() const;
  // Throws Error(io) when a file that holds weights was changed in place.
  void require_unchanged_files() const;
  // Where the elements of the tensor lie; nullptr where they do not lie in a file.
  std::shared_ptr<const MappedFile> mapped_file_of(const Tensor& tensor) const;
  // Gives the memory of a tensor that lies in a mapped file back to the system.
  void release_pages(const Tensor& tensor) const;
  Stop stop() const;  // for a call that begins now
  // Throws Error(mismatch) unless such a call may run now; see ModelUse.
  trainer::ModelUse::Scope use(trainer::Use use, std::string_view what) const {
    const bool in_place = options.updates == UpdatePolicy::immediate;
    if (use == trainer::Use::write && in_place) use = trainer::Use::write_alone;
    return calls.begin(use, what);
  }
  graph::CallState call_state(std::uint64_t step) const;
  void run(trainer::Executor& executor, graph::CallState& call,
           const trainer::Executor::Watch* watch = nullptr) const;
  // Fails unless all results of one element that `names` has are finite.
  void check_finite(const trainer::Function& function, const trainer::Call& selected,
                    std::span<const std::string> names, trainer::Executor& executor,
                    graph::CallState& call);
  // Runs the executor's commit section.
  void finish(trainer::Executor& executor, graph::CallState& call) const noexcept;
  void forget_plans();
  // Variables that a step updates leave the mapped file, whose pages go back to the system.
  void own_mapped(const trainer::Function& step);
  // `step`: the function of the algorithm, or its update alone (cluster/sharded_step.h).
  void run_step(const trainer::Function& step, std::span<const NamedValue> feeds,
                std::size_t algorithm, std::span<NamedValue> results);
  // Evaluates the part of a step that these rows of a batch compute and gives its results, in the
  // order of `names`. Random numbers that belong to rows are those that a step would draw for them
  // (RowScope); others are the part's own. `checked`: see check_finite(). With `early`, results are
  // given in the order in which they are computed, while others are not there yet, and an error may
  // follow.
  void run_rows(const trainer::Function& rows, Feeds feeds, std::span<const std::string> names,
                std::span<const std::string> checked, const RowRange& part,
                const std::function<void(std::size_t result, const Tensor& value)>& take,
                bool early = false);
  const trainer::Function& evaluation(std::size_t algorithm) const;
  const trainer::Gradients& gradient_function(std::size_t algorithm) const;
  // A model that trains makes it on first use.
  const trainer::Inference& inference() const;
  std::vector<trainer::Variable> variables() const;  // of the state
  // Called after a run, with what it computed.
  using Inspect = std::function<void(const trainer::Call&, trainer::Executor&, graph::CallState&)>;
  // Called after each node, with its position.
  using Watch = std::function<void(const trainer::Call&, trainer::Executor&, std::size_t)>;
  void run_once(const trainer::Function& function, Feeds feeds, std::span<const std::string> names,
                std::uint64_t step, const Inspect& inspect, const Watch& watch = {}) const;
  Results evaluate_once(const trainer::Function& function, Feeds feeds,
                        std::span<const std::string> names) const;
  Results evaluate(const trainer::Function& function, Feeds feeds,
                   std::span<const std::string> names) const;
  // Reuses the memory of `result` if its type matches.
  static void store_result(Value& result, const Value& value);
  void initialize(std::uint64_t new_seed);
  // The input or state variable that holds the learning rate.
  struct Rate {
    std::string name;
    std::size_t input = 0;     // of the algorithm's step, if it is not a variable
    std::size_t variable = 0;  // the number of variables if it is an input
  };
  Rate find_rate(std::size_t algorithm) const;
  // Throws Error(mismatch) when a planned value does not have its variable's shape.
  void check_shape(const trainer::Update& update, const graph::Graph& typed) const;
  // Copies an update that was not computed in place.
  void assign(const trainer::Function& function, const trainer::Update& update, const Value& value);
  // Copies into the next version. dtype and shape must be those of the variable.
  void set_next(std::size_t index, const Tensor& value);
  bool is_parameter(std::size_t index) const;  // a float32 weight
  std::size_t require_variable(std::string_view name) const;
  const trainer::Algorithm& require_algorithm(std::size_t index) const;
  // The model for export, with the current values of state variables.
  graph::ModelDef with_present_state() const;
  graph::ModelDef for_inference() const;  // the same without training
};

// Cancellation and deadline that end the loading of a model.
Stop stop_of(const LoadOptions& options);

// For functions of the library that are not members of Model.
struct ModelAccess {
  static Model make(graph::ModelDef def, const LoadOptions& options) {
    return Model(Model::Impl::make(std::move(def), options));
  }
  static Model make(trainer::CheckedModel model, const LoadOptions& options) {
    return Model(Model::Impl::make(std::move(model), options));
  }
  static graph::ModelDef present(const Model& model) { return model.impl_->with_present_state(); }
  static void require_finite(Model& model, bool on) { model.impl_->require_finite = on; }
  // Why the last step failed for a result that is not finite; empty if it did not.
  static const std::string& nonfinite(const Model& model) { return model.impl_->nonfinite; }
  static void set_record(Model& model, const DataRecord& record);
  static void set_metadata(Model& model, const std::string& key, std::string text) {
    const std::unique_lock lock(model.impl_->metadata_mutex);
    std::erase_if(model.impl_->def.metadata, [&](const auto& one) { return one.first == key; });
    model.impl_->def.metadata.emplace_back(key, std::move(text));
  }
  // Sets the seed of the random numbers of the steps that follow.
  static void set_seed(Model& model, std::uint64_t seed) { model.impl_->seed = seed; }
  static int threads(const Model& model) { return model.impl_->runtime.threads; }
  static const Model::Impl& impl(const Model& model) { return *model.impl_; }
  static Model::Impl& impl(Model& model) { return *model.impl_; }
  // Default outputs of eval_step; may be empty.
  static const std::vector<std::string>& evaluated(const Model& model, std::size_t algorithm) {
    return model.impl_->evaluation(algorithm).default_outputs;
  }
};

}  // namespace ondine
