#include <limits>

#include "core/byte_order.h"
#include "core/message.h"
#include "core/packed_elements.h"
#include "onnx_schema.pb.h"
#include "proto/export/parts.h"

namespace ondine {
namespace {

void count_inline(std::uint64_t bytes, Exporter& exporter) {
  constexpr std::uint64_t most = std::numeric_limits<std::int32_t>::max();
  exporter.inline_bytes += bytes;
  if (bytes > most || exporter.inline_bytes > most) {
    fail(ErrorCode::limit, "a model file cannot hold 2 GiB of tensors: put large ones into ",
         "external data");
  }
}

void export_strings(const Tensor& tensor, Exporter& exporter, onnx::TensorProto& out) {
  for (const auto& text : tensor.values<std::string>()) {
    count_inline(text.size(), exporter);
    out.add_string_data(text);
  }
}

}  // namespace

FileForm::FileForm(const Tensor& tensor, std::vector<std::byte>& storage) {
  // The tensor keeps them.
  if (const auto packed = packed_elements(tensor)) {
    bytes_ = packed->bytes;
    return;
  }
  held_.emplace(tensor);
  const std::span elements(static_cast<const std::byte*>(held_->data()), tensor.bytes());
  if (is_packed(tensor.dtype())) {
    storage.resize(packed_size(tensor.dtype(), tensor.size()));
    pack(tensor.dtype(), elements, storage);
    bytes_ = storage;
  } else if (!other_byte_order || number_width(tensor.dtype()) == 1) {
    bytes_ = elements;
  } else {
    storage.assign(elements.begin(), elements.end());
    swap_numbers(storage, tensor.dtype());
    bytes_ = storage;
  }
}

void export_tensor(const std::string& name, const Tensor& tensor, Exporter& exporter,
                   onnx::TensorProto& out) {
  if (!name.empty()) out.set_name(name);
  out.set_data_type(static_cast<std::int32_t>(tensor.dtype()));
  for (const std::int64_t dim : tensor.shape()) out.add_dims(dim);
  if (tensor.size() == 0) return;
  if (tensor.dtype() == DType::string) return export_strings(tensor, exporter, out);
  const std::uint64_t bytes = packed_size(tensor.dtype(), tensor.size());
  if (exporter.external_from && bytes >= *exporter.external_from) {
    out.set_data_location(onnx::TensorProto::EXTERNAL);
    exporter.external.push_back({tensor, &out});
    return;
  }
  count_inline(bytes, exporter);
  std::vector<std::byte> storage;
  const FileForm form(tensor, storage);
  out.set_raw_data(form.bytes().data(), form.bytes().size());
}

void export_sparse(const graph::SparseTensorDef& sparse, Exporter& exporter,
                   onnx::SparseTensorProto& out) {
  export_tensor(sparse.name, sparse.values, exporter, *out.mutable_values());
  export_tensor("", sparse.indices, exporter, *out.mutable_indices());
  for (const std::int64_t dim : sparse.dims) out.add_dims(dim);
}

}  // namespace ondine
