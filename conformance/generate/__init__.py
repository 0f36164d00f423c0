"""Makes the cases. Needs onnx and torch."""
