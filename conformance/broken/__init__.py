# SPDX-License-Identifier: Apache-2.0
"""Runtimes that each get one thing wrong."""
