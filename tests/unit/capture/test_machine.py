import json
import platform
import re
from dataclasses import asdict

import psutil
import torch

from capture.machine import machine_facts, software_versions


def test_facts_without_the_name_of_the_host(monkeypatch):
    node = "analytical-engine"
    monkeypatch.setattr(platform, "node", lambda: node)
    facts = machine_facts()
    assert facts.cores == psutil.cpu_count()
    assert facts.memory_bytes == psutil.virtual_memory().total
    assert facts.processor
    assert platform.machine() in facts.os
    assert node not in json.dumps(asdict(facts))


def test_of_a_linux_kernel_only_the_version_is_kept(monkeypatch):
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "release", lambda: "6.8.12-somebodys-cloud-17")
    assert re.fullmatch(r"Linux 6\.8 \w+", machine_facts().os)


def test_versions():
    versions = software_versions()
    assert versions["python"] == platform.python_version()
    assert versions["torch"] == torch.__version__
