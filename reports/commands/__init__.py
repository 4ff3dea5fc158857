"""One module a subcommand of `phasescope`; each holds a click command named `command`."""
