"""Analyze: reading traces and bundles into the store, and the SQL that answers from it."""
