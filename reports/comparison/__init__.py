"""How a comparison is shown: in words, as text, as JSON, as a page."""
