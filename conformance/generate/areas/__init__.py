"""The cases, one module for each part of the standard."""
