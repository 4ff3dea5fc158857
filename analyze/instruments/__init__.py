"""Reading of Instruments recordings as `xctrace export` writes them: XML tables and a table of contents."""
