"""Runtimes that each get one thing wrong."""
