"""Errors that a person reads: one sentence that names the file and the way out."""


class PhasescopeError(Exception):
    """Something could not be done; its text is the one sentence shown on stderr. Exit code 1."""

    exit_code = 1


class UsageError(PhasescopeError):
    """The call itself was wrong (an unknown model word, an impossible count). Exit code 2."""

    exit_code = 2


class GateRefused(PhasescopeError):
    """A gate or `--strict` said no. Exit code 3."""

    exit_code = 3
