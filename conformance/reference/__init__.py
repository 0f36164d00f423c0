"""A slow runtime for training models on top of onnx.reference, in double precision."""
