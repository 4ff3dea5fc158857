"""Capture: the instrumented engine, its passes and devices, and the bundle format."""
