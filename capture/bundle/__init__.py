"""The bundle: what a capture writes and the analyzer reads. Version 1, a folder or a zip of it.

    manifest.json           who, what, when, and a record for each pass with the sha256 of its files
    <pass>/<file>           the evidence of one pass

Files appear by write-then-rename and the manifest is rewritten after every pass, so that a capture killed at
any moment leaves a bundle that names what is complete and what is missing. Nothing of torch is imported here.

Other rooms import these names from here, and no module below.
"""

from capture.bundle.files import write_then_rename
from capture.bundle.manifest import (
    MANIFEST_NAME,
    SCHEMA_VERSION,
    Architecture,
    Calibration,
    Clock,
    ClockReading,
    KvLayer,
    Machine,
    Manifest,
    Model,
    PassRecord,
    Workload,
    new_run_id,
)
from capture.bundle.reader import Bundle, is_bundle, open_bundle
from capture.bundle.writer import BundleWriter, zip_bundle
from capture.errors import GateRefused, PhasescopeError, UsageError

__all__ = [
    "MANIFEST_NAME",
    "SCHEMA_VERSION",
    "Architecture",
    "Bundle",
    "BundleWriter",
    "Calibration",
    "Clock",
    "ClockReading",
    "GateRefused",
    "KvLayer",
    "Machine",
    "Manifest",
    "Model",
    "PassRecord",
    "PhasescopeError",
    "UsageError",
    "Workload",
    "is_bundle",
    "new_run_id",
    "open_bundle",
    "write_then_rename",
    "zip_bundle",
]
