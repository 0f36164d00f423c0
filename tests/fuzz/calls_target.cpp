// Bytes -> a sequence of calls of <ondine/c.h>, with handles that are NULL, freed or of another
// kind among the right ones: errors with a code and a text, never ONDINE_INTERNAL, and no handle is
// left.
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ondine/build.h>
#include <ondine/c.h>

#include "tests/fuzz/choices.h"
#include "tests/fuzz/try_model.h"

namespace {

using namespace ondine;

// A classifier and a regression, as bytes.
const std::vector<std::vector<std::byte>>& networks() {
  static const std::vector<std::vector<std::byte>> all = [] {
    std::vector<std::vector<std::byte>> made;
    for (const DType label : {DType::int64, DType::float32}) {
      ModelBuilder b("net");
      b.input("x", DType::float32, {"N", 2});
      const std::int64_t classes = label == DType::int64 ? 3 : 1;
      b.node("MatMul", {"x", b.initializer("w", Tensor(DType::float32, {2, classes}))}, {}, "y");
      b.output("y", DType::float32, {"N", classes});
      made.push_back(b.bytes());
    }
    return made;
  }();
  return all;
}

enum Pool : std::uint8_t { error, value, values, model, dataset, batches, trainer, cancel, pools };

class World {
 public:
  explicit World(std::span<const std::uint8_t> bytes) : choices_(bytes) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() {
    for (const Pool pool : {trainer, batches, dataset, model, values, value, cancel}) {
      for (void* const handle : all_[pool]) free_handle(pool, handle);
    }
  }

  test::Choices* operator->() noexcept { return &choices_; }

  // One of this kind, now and then of another kind, freed, NULL or no handle at all.
  template <class Handle>
  Handle* any(Pool pool) {
    if (choices_.once_in(16)) pool = static_cast<Pool>(choices_.below(pools));
    if (choices_.once_in(32)) return reinterpret_cast<Handle*>(choices_.below(4096));  // NOLINT
    if (all_[pool].empty() || choices_.once_in(32)) return nullptr;
    return static_cast<Handle*>(choices_.pick(all_[pool]));
  }
  void keep(Pool pool, void* handle) {
    if (handle != nullptr) all_[pool].push_back(handle);
  }
  void free_any() {
    const auto pool = static_cast<Pool>(choices_.below(pools));
    free_handle(pool, any<void>(pool));
  }
  // The call's error, if any, is a good one.
  bool good(ondine_error* given) {
    if (given == nullptr) return true;
    const int code = ondine_error_code(given);
    const std::string message = ondine_error_message(given);
    ondine_error_free(given);
    if (code <= 0 || code > ONDINE_INVALID_OPTION || code == ONDINE_INTERNAL || message.empty()) {
      throw test::Fault("code " + std::to_string(code) + ": " + message);
    }
    return false;
  }

 private:
  static void free_handle(Pool pool, void* handle) {
    switch (pool) {
      case value:
        return ondine_value_free(static_cast<ondine_value*>(handle));
      case values:
        return ondine_values_free(static_cast<ondine_values*>(handle));
      case model:
        return ondine_model_free(static_cast<ondine_model*>(handle));
      case dataset:
        return ondine_dataset_free(static_cast<ondine_dataset*>(handle));
      case batches:
        return ondine_batches_free(static_cast<ondine_batches*>(handle));
      case trainer:
        return ondine_trainer_free(static_cast<ondine_trainer*>(handle));
      case cancel:
        return ondine_cancel_free(static_cast<ondine_cancel*>(handle));
      default:
        return ondine_error_free(static_cast<ondine_error*>(handle));
    }
  }

  test::Choices choices_;
  std::array<std::vector<void*>, pools> all_;
};

// Calls `make` with a place for a handle, which must stay NULL after an error.
template <class Handle, class Make>
void make(World& world, Pool pool, Make&& make) {
  Handle* handle = nullptr;
  const bool made = world.good(make(&handle));
  if (!made && handle != nullptr) throw test::Fault("an error and a handle");
  world.keep(pool, handle);
}

template <class Call>
void text(World& world, Call&& call) {
  char* text = nullptr;
  const bool made = world.good(call(&text));
  if (!made && text != nullptr) throw test::Fault("an error and a text");
  if (made && text == nullptr) throw test::Fault("neither an error nor a text");
  ondine_free(text);
}

constexpr const char* names[] = {"x", "label", "y", "w", "loss", "", "none"};
const char* name(World& world) { return names[world->below(std::size(names))]; }

constexpr ondine_option prepared[][4] = {
    {{"loss", "softmax-cross-entropy"}, {"optimizer", "adam"}, {nullptr, nullptr}},
    {{"loss", "mse"}, {"learning-rate", "0.1"}, {nullptr, nullptr}},
    {{"loss", "mse"}, {"accumulate", "2"}, {nullptr, nullptr}},
    {{"loss", "mse"}, {"momentum", "x"}, {nullptr, nullptr}},
    {{nullptr, nullptr}}};
constexpr ondine_option trained[][3] = {{{"epochs", "2"}, {"batch-size", "2"}, {nullptr, nullptr}},
                                        {{"validation-split", "0.5"}, {nullptr, nullptr}},
                                        {{"epochs", "0"}, {nullptr, nullptr}},
                                        {{nullptr, nullptr}}};
constexpr ondine_option tuned[][3] = {{{"epochs", "1"}, {"refit", "never"}, {nullptr, nullptr}},
                                      {{"epochs", "2"}, {"lora", "1"}, {nullptr, nullptr}},
                                      {{"epochs", "1"}, {"folds", "2"}, {nullptr, nullptr}},
                                      {{"warmup", "0.5"}, {nullptr, nullptr}}};

alignas(16) constexpr std::array<std::uint8_t, 256> memory{};

void make_tensor(World& world) {
  const auto dtype = static_cast<int>(world->below(28));
  const std::size_t rank = world->below(4);
  std::array<std::int64_t, 4> dims{};
  for (std::int64_t& dim : dims)
    dim = static_cast<std::int64_t>(world->below(4)) - (world->once_in(64) ? 5 : 0);
  const void* const data = world->once_in(8) ? nullptr : memory.data();
  make<ondine_value>(world, value, [&](ondine_value** to) {
    return ondine_tensor_new(dtype, rank, dims.data(), data, to);
  });
}

// Sets a feed that fits the networks.
void make_feed(World& world) {
  const auto rows = static_cast<std::int64_t>(world->below(4));
  static constexpr float numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  static constexpr std::int64_t classes[8] = {0, 1, 2, 0, 1, 2, 0, 1};
  auto* const list = world.any<ondine_values>(values);
  const std::int64_t wide[] = {rows, 2};
  const std::int64_t narrow[] = {rows, 1};
  if (world->once_in(2)) {
    world.good(ondine_values_set_tensor(list, "x", ONDINE_FLOAT32, 2, wide, numbers));
  } else if (world->once_in(2)) {
    world.good(ondine_values_set_tensor(list, "label", ONDINE_INT64, 1, wide, classes));
  } else {
    world.good(ondine_values_set_tensor(list, "label", ONDINE_FLOAT32, 2, narrow, numbers));
  }
}

void make_model(World& world) {
  const auto& bytes = world->pick(networks());
  const ondine_option* const options = prepared[world->below(std::size(prepared))];
  make<ondine_model>(world, model, [&](ondine_model** to) {
    return ondine_prepare_bytes(bytes.data(), bytes.size(), options, nullptr, to, nullptr);
  });
}

void call_model(World& world) {
  auto* const called = world.any<ondine_model>(model);
  auto* const feeds = world.any<ondine_values>(values);
  const std::size_t algorithm = world->once_in(8) ? world->below(4) : 0;
  const char* const wanted[] = {name(world), nullptr};
  const char* const* const fetches = world->once_in(4) ? wanted : nullptr;
  make<ondine_values>(world, values, [&](ondine_values** to) {
    switch (world->below(4)) {
      case 0:
        return ondine_model_train_step(called, feeds, algorithm, fetches, to);
      case 1:
        return ondine_model_eval_step(called, feeds, algorithm, fetches, to);
      case 2:
        return ondine_model_gradients(called, feeds, algorithm, to);
      default:
        return ondine_model_infer(called, feeds, fetches, to);
    }
  });
}

void change_model(World& world) {
  auto* const called = world.any<ondine_model>(model);
  float rate = 0;
  switch (world->below(8)) {
    case 0:
      world.good(ondine_model_initialize(called, world->byte()));
      break;
    case 1:
      world.good(ondine_model_set_learning_rate(called, world->below(2), 0.5F));
      break;
    case 2:
      world.good(ondine_model_set_state(called, world.any<ondine_values>(values)));
      break;
    case 3:
      world.good(ondine_model_set_threads(called, static_cast<int>(world->below(3))));
      break;
    case 4:
      world.good(ondine_model_set_cancel(called, world.any<ondine_cancel>(cancel)));
      break;
    case 5:
      world.good(ondine_model_set_parameters(called, nullptr, world->below(8)));
      break;
    case 6:
      world.good(ondine_model_get_learning_rate(called, world->below(2), &rate));
      break;
    default:
      make<ondine_model>(world, model,
                         [&](ondine_model** to) { return ondine_model_clone(called, to); });
  }
}

void describe(World& world) {
  const auto* const called = world.any<ondine_model>(model);
  switch (world->below(4)) {
    case 0:
      return text(world, [&](char** to) { return ondine_model_describe(called, to); });
    case 1:
      return text(world, [&](char** to) {
        return ondine_model_plan(called, world.any<ondine_values>(values),
                                 static_cast<std::int64_t>(world->below(3)) - 1, nullptr, to);
      });
    case 2:
      return text(world, [&](char** to) {
        return ondine_dataset_describe(world.any<ondine_dataset>(dataset), to);
      });
    default:
      return text(world, [&](char** to) {
        return ondine_evaluate(called, world.any<ondine_dataset>(dataset), nullptr, to);
      });
  }
}

void use_data(World& world) {
  auto* const list = world.any<ondine_values>(values);
  auto* const data = world.any<ondine_dataset>(dataset);
  switch (world->below(4)) {
    case 0:
      return make<ondine_dataset>(world, dataset, [&](ondine_dataset** to) {
        return ondine_dataset_from_values(list, world->once_in(4) ? list : nullptr, nullptr, to);
      });
    case 1:
      return make<ondine_dataset>(
          world, dataset, [&](ondine_dataset** to) { return ondine_dataset_validation(data, to); });
    case 2:
      return make<ondine_batches>(world, batches, [&](ondine_batches** to) {
        return ondine_batches_new(data, world->below(4), 1, 0, 1, world.any<ondine_model>(model),
                                  static_cast<std::int64_t>(world->below(3)) - 1, to);
      });
    default:
      return make<ondine_values>(world, values, [&](ondine_values** to) {
        return ondine_batches_next(world.any<ondine_batches>(batches), to);
      });
  }
}

void use_trainer(World& world) {
  auto* const called = world.any<ondine_trainer>(trainer);
  const auto free_trainer = [](void* user, const char*) {
    ondine_trainer_free(static_cast<ondine_trainer*>(user));
    return 0;
  };
  switch (world->below(4)) {
    case 0:
      return make<ondine_trainer>(world, trainer, [&](ondine_trainer** to) {
        const ondine_option* const options = trained[world->below(std::size(trained))];
        return ondine_trainer_new(world.any<ondine_model>(model), options, to);
      });
    case 1:
      world.good(ondine_trainer_on_epoch(called, free_trainer, called));
      return;
    default:
      return text(world, [&](char** to) {
        return ondine_trainer_fit(called, world.any<ondine_dataset>(dataset),
                                  world->once_in(4) ? world.any<ondine_dataset>(dataset) : nullptr,
                                  to);
      });
  }
}

void tune(World& world) {
  const auto& bytes = world->pick(networks());
  auto* const data = world.any<ondine_dataset>(dataset);
  if (world->once_in(4)) {
    void* made = nullptr;
    std::size_t size = 0;
    const char* const kind = world->once_in(2) ? "mlp" : nullptr;
    if (world.good(ondine_new_network(kind, data, nullptr, &made, &size, nullptr)) !=
        (made != nullptr)) {
      throw test::Fault("an error and a network, or neither");
    }
    ondine_free(made);
    return;
  }
  ondine_finetune_run run{};
  if (world->once_in(2)) {
    run.bytes = bytes.data();
    run.size = bytes.size();
  }
  if (world->once_in(4)) run.model = world.any<ondine_model>(model);
  if (world->once_in(4)) run.validation = world.any<ondine_dataset>(dataset);
  run.dataset = data;
  run.options = tuned[world->below(std::size(tuned))];
  if (world->once_in(4)) {
    run.on_epoch = [](void* user, const char*) {
      ondine_dataset_free(static_cast<ondine_dataset*>(user));
      return 1;
    };
    run.user = data;
  }
  make<ondine_model>(world, model,
                     [&](ondine_model** to) { return ondine_finetune(&run, to, nullptr); });
}

void use_values(World& world) {
  auto* const list = world.any<ondine_values>(values);
  auto* const one = world.any<ondine_value>(value);
  const ondine_value* const two[] = {one, world.any<ondine_value>(value)};
  const std::size_t number = world->below(4);
  const auto make_value = [&](auto&& call) { make<ondine_value>(world, value, call); };
  switch (world->below(9)) {
    case 0:
      return make<ondine_values>(world, values,
                                 [](ondine_values** to) { return ondine_values_new(to); });
    case 1:
      world.good(ondine_values_set(list, name(world), one));
      return;
    case 2:
      return make_value([&](auto** to) { return ondine_values_at(list, number, to); });
    case 3:
      return make_value([&](auto** to) { return ondine_value_sequence(two, number % 3, to); });
    case 4:
      return make_value([&](auto** to) { return ondine_value_map(two[1], two, number % 3, to); });
    case 5:
      return make_value([&](auto** to) { return ondine_value_optional(one, to); });
    case 6:
      return make_value([&](auto** to) { return ondine_value_element(one, number, to); });
    case 7:
      return make_value([&](auto** to) { return ondine_value_keys(one, to); });
    default:
      return make<ondine_cancel>(world, cancel,
                                 [](ondine_cancel** to) { return ondine_cancel_new(to); });
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  {
    World world({data, size});
    for (int calls = 0; calls < 300 && !world->empty(); ++calls) {
      constexpr void (*all[])(World&) = {
          make_tensor, make_feed, make_feed, make_model,  call_model, call_model, change_model,
          describe,    use_data,  use_data,  use_trainer, use_values, use_values, tune};
      if (world->once_in(24)) {
        world.free_any();
      } else {
        all[world->below(std::size(all))](world);
      }
    }
  }
  if (ondine_live_handles() != 0) throw test::Fault("handles are left");
  return 0;
}
