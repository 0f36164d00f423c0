#include <algorithm>

#include "core/deferred.h"
#include "core/message.h"
#include "core/out_of_memory.h"
#include "graph/evaluate/text_bytes.h"
#include "trainer/model/model_impl.h"

namespace ondine {

std::size_t Model::Impl::require_variable(std::string_view name) const {
  const std::size_t index = state.find(name);
  if (index == state.size())
    fail(ErrorCode::not_found, "there is no state variable ", quoted(name));
  return index;
}

void Model::Impl::own_mapped(const trainer::Function& step) {
  bool changed = false;
  const trainer::StateStore::Draft draft(state);
  for (const trainer::Update& update : step.updates) {
    if (!state.is_initial(update.variable)) continue;
    const Tensor& initial = state.variable(update.variable).initial;
    std::shared_ptr<const MappedFile> file = mapped_file_of(initial);
    if (file == nullptr) continue;
    const std::span bytes(static_cast<const std::byte*>(initial.data()), initial.bytes());
    const auto copy = [bytes, file = std::move(file)](std::span<std::byte> memory) {
      std::ranges::copy(bytes, memory.begin());
      file->release(bytes);
    };
    auto elements = std::make_shared<DeferredElements>(bytes.size(), copy);
    state.replace(update.variable,
                  Tensor::share(initial.dtype(), initial.shape(), std::move(elements)));
    changed = true;
  }
  if (changed) state.commit();
}

std::vector<StateInfo> Model::state() const {
  return guard_memory("describe the model", [&] {
    std::vector<StateInfo> infos;
    for (std::size_t i = 0; i < impl_->state.size(); ++i) {
      const trainer::Variable& variable = impl_->state.variable(i);
      infos.push_back(
          {variable.name, variable.role, variable.initial.dtype(), variable.initial.shape()});
    }
    return infos;
  });
}

Tensor Model::get_state(std::string_view name) const {
  return guard_memory("copy the state", [&] {
    const auto scope = impl_->use(trainer::Use::read, "copy the state");
    const std::size_t index = impl_->require_variable(name);
    return impl_->state.read()[index].clone();
  });
}

void Model::set_state(std::string_view name, const Tensor& value) {
  guard_memory("set the state", [&] {
    const NamedValue one{name, value};
    set_state(std::span(&one, 1));
  });
}

void Model::set_state(std::span<const NamedValue> values) {
  guard_memory("set the state", [&] {
    const auto scope = impl_->use(trainer::Use::write, "set the state");
    const trainer::StateStore::Draft draft(impl_->state);
    for (const auto& [name, value] : values) {
      const std::size_t index = impl_->require_variable(name);
      const Tensor& initial = impl_->state.variable(index).initial;
      const Tensor& tensor = value.tensor();
      if (tensor.dtype() != initial.dtype() || !(tensor.shape() == initial.shape())) {
        fail(ErrorCode::mismatch, "state variable ", quoted(name), " is a ", initial.dtype(),
             initial.shape(), ", not a ", tensor.dtype(), tensor.shape());
      }
      impl_->set_next(index, tensor);
    }
    impl_->state.commit();
  });
}

std::vector<float> Model::parameters() const {
  return guard_memory("copy the parameters", [&] {
    std::vector<float> flat;
    const auto present = impl_->state.read();
    for (std::size_t i = 0; i < impl_->state.size(); ++i) {
      if (!impl_->is_parameter(i)) continue;
      const auto values = present[i].values<float>();
      flat.insert(flat.end(), values.begin(), values.end());
    }
    return flat;
  });
}

void Model::set_parameters(std::span<const float> flat) {
  guard_memory("set the parameters", [&] {
    std::size_t total = 0;
    for (std::size_t i = 0; i < impl_->state.size(); ++i) {
      if (impl_->is_parameter(i)) {
        total += static_cast<std::size_t>(impl_->state.variable(i).initial.size());
      }
    }
    if (flat.size() != total) {
      fail(ErrorCode::mismatch, "the model has ", total, " parameters, ", flat.size(),
           " values were given");
    }
    const auto scope = impl_->use(trainer::Use::write, "set the parameters");
    const trainer::StateStore::Draft draft(impl_->state);
    for (std::size_t i = 0; i < impl_->state.size(); ++i) {
      if (!impl_->is_parameter(i)) continue;
      const auto target = impl_->state.next(i).mutable_values<float>();
      std::copy_n(flat.begin(), target.size(), target.begin());
      flat = flat.subspan(target.size());
    }
    impl_->state.commit();
  });
}

void Model::Impl::set_next(std::size_t index, const Tensor& value) {
  if (value.dtype() == DType::string) {
    // Its length may grow from step to step: what it takes is charged anew.
    Value copy = value.clone(runtime.budget);
    graph::charge_new_text({}, {&copy, 1}, runtime.budget);
    state.replace(index, copy.tensor());
    return;
  }
  Tensor& next = state.next(index);
  std::copy_n(static_cast<const std::byte*>(value.data()), value.bytes(),
              static_cast<std::byte*>(next.mutable_data()));
}

bool Model::Impl::is_parameter(std::size_t index) const {
  const trainer::Variable& variable = state.variable(index);
  return variable.role == StateRole::weight && variable.initial.dtype() == DType::float32;
}

const char* to_string(StateRole role) noexcept {
  switch (role) {
    case StateRole::weight:
      return "weight";
    case StateRole::optimizer_state:
      return "optimizer state";
    case StateRole::counter:
      return "counter";
    case StateRole::constant:
      return "constant";
  }
  return "constant";
}

}  // namespace ondine
