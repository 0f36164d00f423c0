// A file that is no ONNX model is called what it is.
#include "proto/recognize.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <string>

using namespace ondine;

namespace {

std::string kind_of(const std::string& bytes) {
  const char* kind = other_format(std::as_bytes(std::span(bytes)));
  return kind == nullptr ? "" : kind;
}

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
}

TEST_CASE("zip archives are told apart by the files in them") {
  CHECK(kind_of(zip_of("net/constants.pkl")) ==
        "a TorchScript archive; torch.onnx.export writes ONNX");
  CHECK(kind_of(zip_of("archive/data.pkl")) ==
        "a PyTorch checkpoint; torch.onnx.export writes ONNX");
  CHECK(kind_of(zip_of("model.weights.h5")) == "a Keras archive");
  CHECK(kind_of(zip_of("readme")) == "a zip archive, as PyTorch and Keras write");
}

TEST_CASE("what servers and repositories deliver instead of a file is recognized") {
  const std::string html = "an HTML page, as servers send instead of a file";
  CHECK(kind_of("<!DOCTYPE html><html lang=\"en\">") == html);
  CHECK(kind_of("\n\n  <HTML>\n<head>") == html);
  CHECK(kind_of("\xef\xbb\xbf<!doctype HTML>") == html);
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
}
