// The workloads of bench/compare_torch.py: a model and what prepare() makes of it.
#pragma once

#include <ondine/prepare.h>

#include "bench/models/layers.h"

namespace bench {

// Each takes an input "x" of open batch size and gives class scores.
ModelBuilder mlp();           // 784-256-128-10
ModelBuilder lenet();         // conv 5x5x8, pool, conv 5x5x16, pool, fc 10; 28 x 28 x 1
ModelBuilder mobilenet_v2();  // 224 x 224 x 3, 1000 classes
ModelBuilder resnet18();      // for 32 x 32 x 3, 10 classes
ModelBuilder transformer();   // 4 encoder layers of width 256 over 128 positions, 10 classes
ModelBuilder lstm();          // 40 -> 2 x 128 over 100 steps, 10 classes

// Input "x" [N, 256] of words; scores [N * 256, 50257] of the next ones.
ModelBuilder gpt2_with_adapters();
ModelBuilder gpt2_whole();

}  // namespace bench
