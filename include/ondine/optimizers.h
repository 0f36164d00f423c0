// The optimizers that prepare writes into a model, and the weight decay of parameters.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace ondine {

// Optimizers, by the update that they write (docs/optimizers.md). learning_rate is the default of
// the input "learning_rate"; weight_decay adds weight_decay * w to the gradient of each parameter w
// with Sgd, Momentum, Nesterov, Adagrad and Adam; the others take learning_rate * weight_decay * w
// off the parameter itself. PrepareOptions::decayed says which parameters decay.
struct Sgd {
  float learning_rate = 0.01F;
  float weight_decay = 0;
};
struct Momentum {
  float learning_rate = 0.01F;
  float momentum = 0.9F;  // in [0, 1)
  float weight_decay = 0;
};
struct Nesterov {
  float learning_rate = 0.01F;
  float momentum = 0.9F;  // in [0, 1)
  float weight_decay = 0;
};
struct Adagrad {
  float learning_rate = 0.01F;
  float epsilon = 1e-8F;  // positive
  float weight_decay = 0;
};
struct Adam {
  float learning_rate = 0.001F;
  float beta1 = 0.9F;     // in [0, 1)
  float beta2 = 0.999F;   // in [0, 1)
  float epsilon = 1e-8F;  // positive
  float weight_decay = 0;
};
struct AdamW {
  float learning_rate = 0.001F;
  float beta1 = 0.9F;     // in [0, 1)
  float beta2 = 0.999F;   // in [0, 1)
  float epsilon = 1e-8F;  // positive
  float weight_decay = 0;
};
// Chen et al. 2023. One state for each element.
struct Lion {
  float learning_rate = 0.0001F;
  float beta1 = 0.9F;   // in [0, 1)
  float beta2 = 0.99F;  // in [0, 1)
  float weight_decay = 0;
};
// Shazeer and Stern 2018, without a first moment. A matrix has a state for each row and column.
struct Adafactor {
  float learning_rate = 0.01F;
  float weight_decay = 0;
};
// Jordan et al. 2024, scaled as by Liu et al. 2025: hidden matrices and convolutions; parameters of
// other kinds, embeddings and the last layer follow AdamW. Error(mismatch) if all do.
struct Muon {
  float learning_rate = 0.001F;
  float momentum = 0.95F;  // in [0, 1)
  float beta1 = 0.9F;      // in [0, 1), of AdamW, as the two below
  float beta2 = 0.999F;    // in [0, 1)
  float epsilon = 1e-8F;   // positive
  float weight_decay = 0;
};
// AdamW without a schedule (Defazio et al. 2024). The parameters are the averages that exports and
// evaluation take; a step computes loss and gradient at other points, with more nodes. Parameters
// are float32 or float64. Error(mismatch) together with averages, privacy, accumulation or
// quantization-aware training.
struct ScheduleFree {
  float learning_rate = 0.0025F;
  float beta1 = 0.9F;     // in [0, 1)
  float beta2 = 0.999F;   // in [0, 1)
  float epsilon = 1e-8F;  // positive
  float weight_decay = 0;
};
// AdamW whose moments take a byte each, in blocks with a scale (after Dettmers et al. 2022).
// Needs ai.onnx 9.
struct AdamW8 {
  float learning_rate = 0.001F;
  float beta1 = 0.9F;     // in [0, 1)
  float beta2 = 0.999F;   // in [0, 1)
  float epsilon = 1e-8F;  // positive
  float weight_decay = 0;
};
// AdamW in a space of `rank` dims for each matrix whose dims both exceed it (GaLore, Zhao et al.
// 2024): the singular vectors of a gradient, taken anew every `every` steps. Other parameters
// follow AdamW; Error(mismatch) if all do. Needs ai.onnx 11.
struct GaLore {
  float learning_rate = 0.001F;
  std::uint16_t rank = 128;   // positive
  std::uint16_t every = 200;  // positive
  float scale = 0.25F;        // of steps of these matrices, positive
  float beta1 = 0.9F;         // in [0, 1)
  float beta2 = 0.999F;       // in [0, 1)
  float weight_decay = 0;
};
// Gradients of these matrices scaled by column, or row, as AdamW would in a random space of `rank`
// dims (APOLLO, Zhu et al. 2024). Otherwise as GaLore.
struct Apollo {
  float learning_rate = 0.001F;
  std::uint16_t rank = 128;   // positive
  std::uint16_t every = 200;  // positive
  float scale = 1;            // of steps of these matrices, positive
  float beta1 = 0.9F;         // in [0, 1)
  float beta2 = 0.999F;       // in [0, 1)
  float weight_decay = 0;
};
// Descent along a random direction, whose slope two losses give, without derivatives (MeZO,
// Malladi et al. 2023): a step takes the memory of inference. Dropout and BatchNormalization stay
// as in inference. Parameters are float32 or float64. Error(mismatch) together with privacy or a
// loss scale.
struct Mezo {
  float learning_rate = 1e-6F;
  float distance = 1e-3F;  // factor of the normal numbers at which losses are taken, positive
  float weight_decay = 0;
};
using Optimizer = std::variant<Sgd, Momentum, Nesterov, Adagrad, Adam, AdamW, Lion, Adafactor, Muon,
                               ScheduleFree, AdamW8, GaLore, Apollo, Mezo>;

// Which parameters the optimizer's weight decay acts on.
enum class DecayedParameters : std::uint8_t {
  // All; but in a transformer, a model with attention, those of two or more dims, which leaves out
  // norms and biases, unless these alone train.
  automatic,
  all,
  matrices,  // those of two or more dims
};

// The weight decay of the parameters that a pattern matches, times `scale`, whatever `decayed` says
// of them. If several match a parameter, the scales multiply.
struct DecayGroup {
  std::string pattern;  // as in PrepareOptions::train
  float scale = 1;      // not negative
};

}  // namespace ondine
