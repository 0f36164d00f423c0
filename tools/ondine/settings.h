// Values of options that hold several settings: "flip,crop=4,scale=0.9:1.1".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ondine/augment.h>
#include <ondine/preprocess.h>

namespace ondine::cli {

// "HEIGHTxWIDTH", both positive. Throws Error(mismatch) naming the option.
ImageSize parse_size(const std::string& text, const std::string& option);

// "scale=1/255,mean=0.5:0.4:0.3,std=...,resize=224x224,layout=nhwc,type=uint8,input=NAME"
// "mel=40,rate=8000,window=256,hop=128,low=0,high=4000,offset=1e-6,scale=1,mean=...,std=..."
Preprocess parse_preprocess(const std::string& text);

// "flip,flip-vertical,crop=4,rotate=10,scale=0.9:1.1,color=0.2,cutout=8,mixup=0.2"
// "time-shift=0.1,noise=0.05"
Augmentation parse_augmentation(const std::string& text);

}  // namespace ondine::cli
