# SPDX-License-Identifier: Apache-2.0
"""A slow runtime for training models on top of onnx.reference, in double precision."""
