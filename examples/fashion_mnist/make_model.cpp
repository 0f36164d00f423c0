// Writes the network of this example: make_cnn OUT.onnx
#include <iostream>

#include "common/cnn.h"

int main(int argc, char** argv) try {
  if (argc != 2) throw std::invalid_argument("usage: make_cnn OUT.onnx");
  example::make_cnn(10, "head").save(argv[1]);
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
