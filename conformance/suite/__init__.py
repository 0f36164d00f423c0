# SPDX-License-Identifier: Apache-2.0
"""Reads cases, runs programs on them and judges what they wrote. Needs nothing but Python."""
