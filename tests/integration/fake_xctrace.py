"""A stand-in for Apple's xctrace, with the real one's ways of failing. Not a recorder: its tables are made up.

`install(folder, **behaviour)` writes an `xcrun` and an `xctrace` there. Behaviours, as published of the real ones:
stub: xcrun prints what the command-line tools print. version_exit: exit code of `xctrace version`.
record_exit: exit code of record (54 came with whole recordings). no_trace: record leaves nothing.
refuses: record fails before it launches anything. hangs: record never returns.
toc_exit, toc_cut: of `export --toc`. exit: exit code of each table's export (133 came after whole XML).
cut: tables that come out cut. cut_once: only at the first try. own_rows: GPU rows of the recorded process.
"""

import itertools
import json
import os
import sys
from pathlib import Path

STUB = (
    "xcode-select: error: tool 'xctrace' requires Xcode, but active developer directory "
    "'/Library/Developer/CommandLineTools' is a command line tools instance"
)
TOC = """<?xml version="1.0"?>

<trace-toc><run number="1"><info><target>
<device uuid="00008103-000123456789001E" model="MacBook Air" name="Jane's MacBook" os-version="26.3" platform="macOS"/>
<process type="launched" name="python3.11" pid="{pid}" arguments="-m capture.launched_worker metal /private/tmp/s"
 environment="HF_TOKEN=hf_secret" return-exit-status="0" termination-reason="exit(0)"><environment><var>x=jane</var>
</environment></process></target><summary><start-date>2026-03-30T15:16:25.137-07:00</start-date>
<duration>1.3</duration><template-name>Metal System Trace</template-name><recording-mode>Deferred</recording-mode>
<intruments-recording-settings><value>Counter Set: (null)</value></intruments-recording-settings></summary></info>
<processes><process name="Secret Browser" pid="7" path="/Users/jane/Applications/x"/></processes>
<data>{tables}</data></run></trace-toc>
"""
COLUMNS = (("start", "start-time"), ("duration", "duration"), ("process", "process"))


def table(schema: str, rows: str, columns: tuple[tuple[str, str], ...] = COLUMNS) -> str:
    cols = "".join(
        f"<col><mnemonic>{m}</mnemonic><name>{m}</name><engineering-type>{t}</engineering-type></col>"
        for m, t in columns
    )
    return (
        "<?xml version=\"1.0\"?>\n<trace-query-result>\n<node xpath='//trace-toc[1]/run[1]/data[1]/table[1]'>"
        f'<schema name="{schema}">{cols}</schema>{rows}</node></trace-query-result>\n'
    )


def gpu_rows(pid: int, own_rows: int) -> str:
    browser = '<process id="2" fmt="Secret Browser (7)"><pid id="3" fmt="7">7</pid></process>'
    own = f'<process id="{{}}" fmt="python3.11 ({pid})"><pid id="{{}}" fmt="{pid}">{pid}</pid></process>'
    rows = [f"<row><start-time>1</start-time><duration>5</duration>{browser}</row>"]
    for number in range(own_rows):
        process = own.format(4, 5) if not number else '<process ref="4"/>'
        rows.append(f"<row><start-time>{10 * (number + 1)}</start-time><duration>5</duration>{process}</row>")
    return "\n".join(rows)


def main(how: dict, arguments: list[str]) -> int:
    if arguments == ["version"]:
        print(
            "xctrace version 26.0 (17A5295f)" if not how.get("version_exit") else "You have not agreed to the license"
        )
        return how.get("version_exit", 0)
    if arguments[0] == "record":
        return record(how, arguments[1:])
    return export(how, arguments[1:])


def record(how: dict, arguments: list[str]) -> int:
    import subprocess

    if how.get("refuses"):
        print("Selected counter profile is not supported on target device", file=sys.stderr)
        return how["refuses"]
    split = arguments.index("--")
    worker = arguments[split + 1 :]
    assert arguments[split - 1] == "--launch"
    environment = dict(e.split("=", 1) for o, e in itertools.pairwise(arguments) if o == "--env")
    trace = Path(arguments[arguments.index("--output") + 1])
    with open(arguments[arguments.index("--target-stdout") + 1], "wb") as out:
        child = subprocess.Popen(worker, stdin=subprocess.DEVNULL, stdout=out, env=environment)
    if how.get("hangs"):
        import time

        time.sleep(600)
    child.wait()
    if not how.get("no_trace"):
        trace.mkdir()
        (trace / "pid").write_text(str(child.pid))
        (trace / "environment").write_text(json.dumps(environment))
    return how.get("record_exit", 0)


def export(how: dict, arguments: list[str]) -> int:
    trace = Path(arguments[arguments.index("--input") + 1])
    pid = int((trace / "pid").read_text())
    if "--toc" in arguments:
        offered = how.get("offers", ["time-info", "metal-gpu-intervals", "metal-gpu-state-intervals", "kdebug"])
        text = TOC.format(pid=pid, tables="".join(f'<table schema="{name}"/>' for name in offered))
        print(text[: len(text) // 2] if how.get("toc_cut") else text)
        return how.get("toc_exit", 0)
    schema = arguments[arguments.index("--xpath") + 1].split('@schema="')[1].split('"')[0]
    if schema == "metal-gpu-intervals":
        text = table(schema, gpu_rows(pid, how.get("own_rows", 2)))
    elif schema == "time-info":
        timebase = "<timebase-info><numerator>125</numerator><denominator>3</denominator></timebase-info>"
        columns = (("mabs-epoch", "uint64"), ("timebase-info", "timebase-info"))
        text = table(schema, f"<row><uint64>24</uint64>{timebase}</row>", columns)
    else:
        text = table(schema, "")
    tries = trace / f"tries-{schema}"
    seen = int(tries.read_text()) if tries.exists() else 0
    tries.write_text(str(seen + 1))
    cut = schema in how.get("cut", []) or (schema in how.get("cut_once", []) and not seen)
    sys.stdout.write(text[: len(text) - 40] if cut else text)
    return how.get("exit", {}).get(schema, 0)


def install(folder: Path, **how: object) -> None:
    """Put the two commands into `folder`, which the test puts first in PATH."""
    folder.mkdir(exist_ok=True)
    here = Path(__file__).resolve()
    xctrace = folder / "xctrace"
    if how.get("stub"):
        (folder / "xcrun").write_text(f'#!/bin/sh\necho "{STUB}" >&2\nexit 72\n')
    else:
        (folder / "xcrun").write_text(f'#!/bin/sh\n[ "$2" = xctrace ] && echo {xctrace}\n')
    xctrace.write_text(
        f"#!{sys.executable}\nimport json, sys\nsys.path.insert(0, {str(here.parent)!r})\nimport fake_xctrace\n"
        f"sys.exit(fake_xctrace.main(json.loads({json.dumps(how)!r}), sys.argv[1:]))\n"
    )
    for path in (folder / "xcrun", xctrace):
        os.chmod(path, 0o755)
