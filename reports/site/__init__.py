"""The parts of a published site: what is on it, and the ledger of what has been written."""
