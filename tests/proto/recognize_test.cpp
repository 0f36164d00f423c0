// A file that is no ONNX model is called what it is.
#include "proto/recognize.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <string>

#include "tests/proto/wire.h"

using namespace ondine;
using test::Wire;

namespace {

std::string kind_of(const std::string& bytes) {
  const char* kind = other_format(std::as_bytes(std::span(bytes)));
  return kind == nullptr ? "" : kind;
}

std::string kind_of(const Wire& message) { return kind_of(message.text()); }

std::string zip_of(const std::string& name) {
  const std::string header("PK\x03\x04\x14\0\0\0\0\0", 10);
  return header + std::string(400, '\x01') + "PK\x01\x02" + name;
}

}  // namespace

TEST_CASE("other formats of models are recognized by their signatures") {
  CHECK(kind_of(std::string("\x1c\0\0\0TFL3\x14\0", 10)) == "a TensorFlow Lite model");
  CHECK(kind_of(std::string("\x40\0\0\0\0\0\0\0{\"w\":{\"dtype\":\"F32\"}}", 29)) ==
        "a safetensors file");
  CHECK(kind_of("\x89HDF\r\n\x1a\n....") == "an HDF5 file");
  CHECK(kind_of("\x1f\x8b\x08....") == "a gzip archive");
  CHECK(kind_of("\x93NUMPY\x01") == "a NumPy array");
  CHECK(kind_of(std::string("\x10\0\0\0ORTM", 8)) == "a model in the format of ONNX Runtime");
  CHECK(kind_of("\x80\x02}q") == "a Python pickle, as older PyTorch writes");
  CHECK(kind_of("%PDF-1.7") == "a PDF document");
}

TEST_CASE("zip archives are told apart by the files in them") {
  CHECK(kind_of(zip_of("net/constants.pkl")) ==
        "a TorchScript archive; torch.onnx.export writes ONNX");
  CHECK(kind_of(zip_of("archive/data.pkl")) ==
        "a PyTorch checkpoint; torch.onnx.export writes ONNX");
  CHECK(kind_of(zip_of("model.weights.h5")) == "a Keras archive");
  CHECK(kind_of(zip_of("w.npy")) == "a NumPy archive (.npz)");
  // The directory of a large archive is at its end; names within its files say nothing.
  const std::string filling(std::size_t{1} << 18, '\x01');
  CHECK(kind_of(zip_of("w.npy") + filling) == "a zip archive, as PyTorch and Keras write");
  CHECK(kind_of(zip_of(filling + "w.npy")) == "a NumPy archive (.npz)");
  CHECK(kind_of(zip_of("readme")) == "a zip archive, as PyTorch and Keras write");
}

TEST_CASE("what servers and repositories deliver instead of a file is recognized") {
  const std::string html = "an HTML page, as servers send instead of a file";
  CHECK(kind_of("<!DOCTYPE html><html lang=\"en\">") == html);
  CHECK(kind_of("\n\n  <HTML>\n<head>") == html);
  CHECK(kind_of("\xef\xbb\xbf<!doctype HTML>") == html);
  CHECK(kind_of("<HEAD>") == html);
  CHECK(kind_of("<html") == html);
  CHECK(kind_of("<htm") == "an XML text");
  const std::string pointer = kind_of(
      "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8"
      "f32b1258daaa5e2ca24d17e2393\nsize 12345\n");
  CHECK_THAT(pointer, Catch::StartsWith("a Git LFS pointer"));
}

TEST_CASE("texts are told apart") {
  CHECK(kind_of("{\"error\": 404}") == "a JSON text");
  CHECK(kind_of("<?xml version=\"1.0\"?>") == "an XML text");
  CHECK(kind_of("<\n  ir_version: 8,\n  opset_import: [\"\" : 17]\n>\n") ==
        "the text form of an ONNX model");
  CHECK(kind_of("hello") == "a text");
  CHECK(kind_of(" [1, 2]") == "a JSON text");
  CHECK(kind_of("\t\r\n ") == "a text");
  CHECK(kind_of("<" + std::string(245, ' ') + "ir_version") == "the text form of an ONNX model");
  CHECK(kind_of("<" + std::string(246, ' ') + "ir_version") == "an XML text");
  CHECK(kind_of(std::string(256, 'a') + '\x01') == "a text");
  CHECK(kind_of(std::string(255, 'a') + '\x01').empty());
  CHECK(kind_of("a\x1f").empty());
}

TEST_CASE("a TensorProto is recognized with its numbers packed and one by one") {
  const auto tensor = [](const Wire& data) {
    return kind_of(Wire().number(1, 2).number(2, 1).raw(data.text()));
  };
  const std::string name = "a TensorProto";
  CHECK(tensor(Wire()) == name);
  CHECK(tensor(Wire().fixed32(4, 1).fixed32(4, 2)) == name);
  CHECK(tensor(Wire().packed_fixed<float>(4, {1, 2})) == name);
  CHECK(tensor(Wire().fixed64(10, 1).fixed64(10, 2)) == name);
  CHECK(tensor(Wire().packed_fixed<double>(10, {1, 2})) == name);
  CHECK(tensor(Wire().number(5, 1).number(5, 2)) == name);
  CHECK(tensor(Wire().packed(5, {1, 2})) == name);
  CHECK(tensor(Wire().number(14, 0)) == name);
  CHECK(tensor(Wire().block(9, "12345678")) == name);
}

TEST_CASE("a field may come more often than a message has fields") {
  Wire many;
  for (int i = 0; i < 70; ++i) many.number(1, 1);
  CHECK(kind_of(Wire(many).number(2, 1).block(9, "1234")) == "a TensorProto");
  // A field may come both as single numbers and packed.
  CHECK(kind_of(Wire(many).packed(1, {2, 3}).number(2, 1).block(9, "1234")) == "a TensorProto");
  CHECK(kind_of(Wire(many).number(2, 1).block(9, "1234").fixed32(1, 1)).empty());
}

TEST_CASE("numbers of another width or kind make a message unknown") {
  const auto tensor = [](const Wire& data) {
    return kind_of(Wire().number(1, 2).number(2, 1).raw(data.text()));
  };
  CHECK(tensor(Wire().fixed64(4, 1)).empty());
  CHECK(tensor(Wire().fixed32(10, 1)).empty());
  CHECK(tensor(Wire().fixed32(5, 1)).empty());
  CHECK(tensor(Wire().number(10, 1)).empty());
  CHECK(tensor(Wire().number(9, 1)).empty());
  CHECK(tensor(Wire().block(14, "w")).empty());
  CHECK(kind_of(Wire().number(1, 2).packed(2, {1})).empty());
}

TEST_CASE("a message whose end is damaged or which has a field of no message is unknown") {
  const Wire whole = Wire().number(1, 2).number(2, 1).block(8, "weight");
  CHECK(kind_of(whole) == "a TensorProto");
  for (std::size_t cut = 1; cut < std::string("weight").size() + 2; ++cut) {
    const std::string bytes = whole.text().substr(0, whole.text().size() - cut);
    CHECK(kind_of(bytes).empty());
  }
  CHECK(kind_of(Wire(whole).raw(std::string("\x4b", 1))).empty());       // the begin of a group
  CHECK(kind_of(Wire(whole).raw(std::string("\x02\x01w", 3))).empty());  // the field 0
  CHECK(kind_of(Wire(whole).number(99, 1)).empty());
  CHECK(kind_of(Wire(whole).raw(std::string(11, '\xff'))).empty());
  CHECK(kind_of(Wire().number(1, 2).block(8, "weight")).empty());
  CHECK(kind_of(std::string()) == "a text");
}

TEST_CASE("a model and an operator set are told apart by the fields that they need") {
  const auto bytes = [](const Wire& message) { return std::string(message.text()); };
  const std::string model = bytes(Wire().number(1, 8).message(7, Wire().block(2, "g")));
  const std::string set = bytes(Wire().block(1, "magic").block(4, "org.example").number(5, 3));
  const std::string damaged = bytes(Wire().block(1, operator_set_magic).raw("\x01"));
  const auto view = [](const std::string& text) { return std::as_bytes(std::span(text)); };
  CHECK(is_model(view(model)));
  CHECK_FALSE(is_model(view(model.substr(0, model.size() - 1))));
  CHECK_FALSE(is_model(view(bytes(Wire().number(1, 8)))));
  CHECK_FALSE(is_model(view(set)));
  CHECK(is_operator_set(view(set)));
  CHECK_FALSE(is_operator_set(view(set.substr(0, set.size() - 1))));
  CHECK_FALSE(is_operator_set(view(bytes(Wire().block(1, "magic").number(5, 3)))));
  CHECK(is_operator_set(view(damaged)));
  CHECK(kind_of(damaged) == "an OperatorSetProto");
  CHECK_FALSE(is_operator_set(view(model)));
}

TEST_CASE("messages of the format are recognized by the fields that it always has") {
  struct Row {
    const char* name;
    Wire first, second;  // its needed fields
  };
  const Wire type = Wire().number(2, 1);
  for (const Row& row : {
           Row{"a SparseTensorProto", Wire().message(1, type), Wire().message(2, type)},
           Row{"a GraphProto", Wire().block(2, "g"), Wire().message(12, Wire().block(1, "y"))},
           Row{"a FunctionProto", Wire().block(1, "f"), Wire().message(9, type)},
           Row{"a NodeProto", Wire().block(2, "y"), Wire().block(4, "Relu")},
           Row{"a MapProto", Wire().number(3, 1), Wire().number(2, 7).message(5, type)},
       }) {
    INFO(row.name);
    CHECK(kind_of(row.first.text() + row.second.text()) == row.name);
    CHECK(kind_of(row.first.text()) != row.name);
    CHECK(kind_of(row.second.text()) != row.name);
  }
}
