// A model that can be trained: state variables seeded from initializers, and the methods of the
// standard's training model (initialize, train_step and infer) with eval_step besides.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <ondine/error.h>
#include <ondine/export.h>
#include <ondine/external_data.h>
#include <ondine/fusion.h>
#include <ondine/limits.h>
#include <ondine/plan.h>
#include <ondine/precision.h>
#include <ondine/results.h>
#include <ondine/value.h>

namespace ondine {

// When a training step's new values take the place of the old ones.
enum class UpdatePolicy : std::uint8_t {
  // All at once after everything was evaluated; a step that fails changes nothing.
  atomic,
  // Each variable in its own memory as soon as nothing reads its old value any more. Same results
  // in less memory; a step that fails leaves some variables updated, and no other call may run
  // while a step does.
  immediate,
};

struct LoadOptions {
  Limits limits = {};
  // Threads that a call may use, the caller's included. Results have the same bits for any number.
  int threads = 1;
  Precision precision = Precision::float32;
  // Seed of the random state until initialize() is called.
  std::uint64_t seed = 0;
  // Graph rewriting between loading and planning; off only to look for defects.
  bool optimize = true;
  // Fusions to leave out. The environment variable ONDINE_NO_FUSION adds to them: names of
  // fusions_from_name, separated by commas.
  std::vector<Fusion> no_fusion = {};
  UpdatePolicy updates = UpdatePolicy::atomic;
  // Bound of PlanInfo's bytes together: cheap values are computed again rather than kept until a
  // call fits. Error(limit) that says how much is needed when it cannot.
  std::optional<std::uint64_t> memory_budget = {};
  // Time limit of loading, and of every call until set_deadline: Error(limit) when it takes longer.
  std::optional<std::chrono::milliseconds> deadline = {};
  // Flag that cancels loading, and every call until set_cancel_flag.
  std::shared_ptr<const CancelFlag> cancel = {};
  // Gives the external data of a model that is loaded from bytes; a checksum in the model is then
  // not compared. Not used for files.
  ExternalDataReader external_data = {};
  // Whether what Model::warnings() lists is an error instead.
  bool strict = false;
  // Operator-set documents whose functions the model may call. Those that it calls become functions
  // of the model and of what it exports. Functions of the model itself and operators of the library
  // come first (docs/operator-sets.md).
  std::vector<std::filesystem::path> operator_sets = {};
};

// The names of all fusions.
ONDINE_API std::vector<std::string> fusion_names();

enum class StateRole : std::uint8_t {
  weight,           // an initializer that the main graph reads and a training step updates
  optimizer_state,  // a floating point initializer that only algorithm graphs read
  counter,          // an integer initializer of an algorithm graph
  constant,         // bound by an initialization only: no step changes it
};
ONDINE_API const char* to_string(StateRole role) noexcept;

struct StateInfo {
  std::string name;
  StateRole role = StateRole::weight;
  DType dtype = DType::undefined;
  Shape shape;
};

// A graph input or output. `type` as in "tensor(float)[N, 3]".
struct PortInfo {
  std::string name;
  std::string type;
  DType dtype = DType::undefined;  // of tensors
  // Dims of tensors of known rank; -1 where one may differ from call to call.
  std::optional<std::vector<std::int64_t>> dims;
  bool has_default = false;  // may be left out of the feeds
};

struct AlgorithmInfo {
  std::vector<PortInfo> inputs;      // of the combined graph, main inputs first
  std::vector<PortInfo> outputs;     // of the algorithm graph: what a step returns by default
  std::vector<std::string> updates;  // names of the state variables that a step assigns
};

// Stages of a model on its way from its file to a call. Without training information the stages
// from `gradient` on are those of inference.
enum class Stage : std::uint8_t {
  model,      // as it was loaded
  graph,      // the main graph, functions inlined and types known
  training,   // main and algorithm graph combined
  gradient,   // with derivatives as nodes
  optimized,  // after all passes
  plan,       // as it is executed, with the dims that the model declares
};
// The enumerator's name. Static storage.
ONDINE_API const char* to_string(Stage stage) noexcept;
// The inverse. Error(not_found) that lists the names for any other text.
ONDINE_API Stage stage_from_name(std::string_view name);

// Where training stands; kept in checkpoints.
struct TrainingCursor {
  std::uint64_t epoch = 0;
  std::uint64_t shuffle_seed = 0;
  std::uint64_t position = 0;  // examples already seen in this epoch
};

using Property = std::variant<std::int64_t, double, std::string>;
using Properties = std::vector<std::pair<std::string, Property>>;

struct RestoreReport {
  std::filesystem::path file;  // the generation that was loaded
  std::string note;            // why a newer one was passed over; empty when none was
  TrainingCursor cursor;
  Properties properties;
};

struct ExportOptions {
  // Tensors of at least this many bytes go to one file beside the model, NAME.HASH.data; the data
  // file of an earlier export to NAME is removed.
  std::optional<std::uint64_t> external_data_from = {};
};

// Memory of one call with given input shapes, known before it runs.
struct PlanInfo {
  std::uint64_t arena_bytes = 0;     // peak of intermediate values
  std::uint64_t constant_bytes = 0;  // constants and folded values
  std::uint64_t state_bytes = 0;     // state variables, and their next values while a step runs
  std::size_t nodes = 0;
};

struct ProfileEntry {
  std::string op;
  std::uint64_t calls = 0;
  double seconds = 0;
};

// Called before and after nodes of a running call, at most about every 10 ms, on the thread of the
// call. Return false to stop: the call throws Error(cancelled) and changes nothing.
using ProgressCallback = std::function<bool(double fraction)>;
// Called with a warning (Model::warnings), on the thread of the call that found it. It may call
// const methods of the model.
using WarningCallback = std::function<void(const std::string& warning)>;

// Not copyable. infer(), eval_step() and the other const methods may run in any number of threads
// at once, also while one thread trains: each call then sees one version of the state. The
// non-const methods are for one thread at a time: a step, an evaluation or a setter that must not
// run beside a call which is running is an Error(mismatch). Every method that throws leaves the
// model as it was.
class ONDINE_API Model {
 public:
  static Model load(const std::filesystem::path& file, const LoadOptions& options = {});
  // The bytes are not needed afterwards. External data comes from LoadOptions::external_data;
  // Error(invalid_model) for a model that has some when there is no such function.
  static Model load(std::span<const std::byte> bytes, const LoadOptions& options = {});
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  // A model of its own with the present state, seed, step counts, learning rate, metadata and
  // options; frozen weights are shared. Callbacks are left out. Not while another thread trains.
  Model clone() const;

  // Resets every state variable to its initializer, then evaluates the initialization graphs in
  // order and assigns what they are bound to. Random state: this seed, step 0.
  void initialize(std::uint64_t seed = 0);

  // One step of training_info `algorithm`: evaluates main and algorithm graph on the feeds and
  // assigns all updates at once. Returns the algorithm's outputs, or `fetches` when given (outputs
  // of main or algorithm graph).
  Results train_step(Feeds feeds, std::size_t algorithm = 0, Fetches fetches = {});
  // Trains a step like train_step, without allocating once warm: `results` names the wanted
  // outputs. A tensor of the right dtype and shape that is already there is overwritten, anything
  // else is replaced.
  void train_step_into(Feeds feeds, std::size_t algorithm, std::span<NamedValue> results);

  // Outputs of `algorithm` for a batch (loss, accuracy, ...) with the present state, in evaluation
  // mode and without updates: Dropout passes its input through, BatchNormalization uses its running
  // statistics, no derivative is computed. Takes the feeds of train_step and ignores those that
  // only updates need. Returns the algorithm's outputs that depend on no Gradient or optimizer and
  // are no updates, or `fetches` when given; Error(mismatch) when there are none.
  Results eval_step(Feeds feeds, std::size_t algorithm = 0, Fetches fetches = {}) const;

  // The derivatives that `algorithm` takes by state variables, under the variables' names: those of
  // the next train_step with these feeds, in training mode and before clipping, without updating
  // anything. The factor of a loss scale is divided out, so that derivatives by float16 and
  // bfloat16 variables are float32; what overflows with it is infinite. Takes the feeds of
  // train_step and ignores those that only updates need. Error(mismatch) when there are none, and
  // for several derivatives by one variable.
  Results gradients(Feeds feeds, std::size_t algorithm = 0) const;

  // Evaluates the main graph with the present state. All outputs, or `fetches`.
  Results infer(Feeds feeds, Fetches fetches = {}) const;

  // The learning rate of later steps. It is the input or state variable that prepare wrote or, in
  // other models, the one named learning_rate or lr or read as R by an optimizer of the standard;
  // Error(mismatch) that says what was looked for when there is none or more than one.
  // An input: the default that steps use when it is not fed, not kept by checkpoints or exports;
  // learning_rate() is an Error(mismatch) when it has none. A state variable: its value, which is
  // kept. `rate` must be finite. Not while plan() runs in another thread.
  float learning_rate(std::size_t algorithm = 0) const;
  void set_learning_rate(float rate, std::size_t algorithm = 0);

  std::vector<PortInfo> inputs() const;   // of the main graph
  std::vector<PortInfo> outputs() const;  // of the main graph
  std::size_t algorithm_count() const;
  AlgorithmInfo algorithm(std::size_t index) const;

  std::vector<StateInfo> state() const;
  // A copy of the present value. Error(not_found) for an unknown name.
  Tensor get_state(std::string_view name) const;
  // dtype and shape must be the variable's.
  void set_state(std::string_view name, const Tensor& value);
  // All at once or, with an Error, none.
  void set_state(std::span<const NamedValue> values);
  // All float32 variables of role weight, one after the other in the order of state().
  std::vector<float> parameters() const;
  // Error(mismatch) unless the size is that of parameters().
  void set_parameters(std::span<const float> flat);

  // Written so that a crash at any moment leaves the old or the new file (docs/checkpoints.md).
  void save_checkpoint(const std::filesystem::path& file, const TrainingCursor& cursor = {},
                       const Properties& properties = {}) const;
  RestoreReport restore_checkpoint(const std::filesystem::path& file);
  void export_inference(const std::filesystem::path& file, const ExportOptions& = {}) const;
  void export_training(const std::filesystem::path& file, const ExportOptions& = {}) const;
  // Bytes of the files that these functions write. Error(limit) from 2 GiB on.
  std::vector<std::byte> export_inference() const;
  std::vector<std::byte> export_training() const;

  // Violations of the standard that do not keep the model from being used, a line each: a dim of
  // -1 in a declared type (taken as unknown); a shape of an output or value_info, or a size of a
  // dimension variable, that inference or a call contradicts (ignored); a missing shape of an input
  // or output; the same entry twice; unknown keys of external data. Calls may add to it. Empty with
  // LoadOptions::strict.
  std::vector<std::string> warnings() const;

  // The model's metadata, names and texts. What prepare writes (prepare.h) is among it.
  std::vector<std::pair<std::string, std::string>> metadata() const;

  std::uint64_t seed() const;
  std::uint64_t steps() const;  // training steps since load or initialize, over all algorithms
  // SHA-256 of the canonical model without the values of state variables, in hexadecimal.
  std::string fingerprint() const;
  // Bytes of the tensors whose elements the fingerprint includes: it takes as long as reading them.
  std::uint64_t fingerprint_bytes() const;

  // The setters below are not for use while another call runs.
  void set_threads(int threads);
  void set_progress(ProgressCallback callback);
  // Instead of asking for warnings(): called at once with each that is known, and later with each
  // that a call finds. An empty callback for none.
  void set_warning_callback(WarningCallback callback);
  // Checked before and after nodes and between loop iterations; nullptr for none.
  void set_cancel_flag(std::shared_ptr<const CancelFlag> flag);
  // Every call that takes longer fails with Error(limit).
  void set_deadline(std::optional<std::chrono::milliseconds> per_call);

  // Plans without running. algorithm: an index, or nothing for infer. `fetches` as in the call.
  PlanInfo plan(Feeds feeds, std::optional<std::size_t> algorithm, Fetches fetches = {}) const;
  // The plan of a call, node by node. Error(mismatch) for a dim that is not given and for
  // shapes that do not fit the model, Error(not_found) for an unknown input or algorithm.
  PlanReport plan_report(const PlanRequest& request = {}) const;
  void set_profiling(bool on);
  std::vector<ProfileEntry> profile() const;  // since it was switched on, longest first

  // The printed form of a stage; `algorithm` matters from `training` on. Error(mismatch) for an
  // algorithm that the model does not have, and for `training` in a model that has none.
  std::string inspect(Stage stage, std::size_t algorithm = 0) const;
  // Printed form of the stage with this name.
  std::string inspect(std::string_view stage, std::size_t algorithm = 0) const {
    return inspect(stage_from_name(stage), algorithm);
  }

 private:
  struct Impl;
  friend struct ModelAccess;
  explicit Model(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// All findings on a model, one line each; empty when it loads with LoadOptions::strict, which the
// check implies.
ONDINE_API std::vector<std::string> check_model(const std::filesystem::path& file,
                                                const LoadOptions& options = {});

}  // namespace ondine
