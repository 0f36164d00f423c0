# SPDX-License-Identifier: Apache-2.0
"""The cases, one module for each part of the standard."""
