# SPDX-License-Identifier: Apache-2.0
"""Makes the cases. Needs onnx and torch."""
