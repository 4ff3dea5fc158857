-- The store's tables. One transaction a run: a run is here whole or not at all.
-- All times are integer nanoseconds (`_ns`), all memory is bytes (`_bytes`).
-- start_ns and t_ns count from the beginning of the pass they belong to; passes have clocks of their own.

CREATE TABLE runs (
    run_id VARCHAR PRIMARY KEY, label VARCHAR, source VARCHAR NOT NULL, source_kind VARCHAR NOT NULL,
    source_sha256 VARCHAR NOT NULL UNIQUE, model VARCHAR, weights VARCHAR, device VARCHAR, device_name VARCHAR,
    dtype VARCHAR, attention VARCHAR, cache VARCHAR, logits VARCHAR, batch_size INTEGER, prompt_tokens INTEGER,
    new_tokens INTEGER, ranks INTEGER NOT NULL, captured_unix_ns BIGINT, loaded_unix_ns BIGINT NOT NULL,
    os VARCHAR, python_version VARCHAR, torch_version VARCHAR, transformers_version VARCHAR,
    phasescope_version VARCHAR NOT NULL, trace_engine VARCHAR, trace_engine_version VARCHAR,
    raw_events BIGINT NOT NULL, loaded_events BIGINT NOT NULL, excluded_events BIGINT NOT NULL,
    architecture JSON, manifest JSON,
    CHECK (raw_events = loaded_events + excluded_events)
);
COMMENT ON TABLE runs IS 'One loaded run: a bundle, or the traces of one job.';
COMMENT ON COLUMN runs.run_id IS 'Identifier of the run: the bundle''s own, else the source name and the start of its sha256.';
COMMENT ON COLUMN runs.label IS 'Name given by the person who captured or loaded it.';
COMMENT ON COLUMN runs.source IS 'File or folder name it was loaded from, without its path.';
COMMENT ON COLUMN runs.source_kind IS 'bundle, chrome_json, perfetto or instruments.';
COMMENT ON COLUMN runs.source_sha256 IS 'sha256 over the bytes of the source files; the same bytes are one run.';
COMMENT ON COLUMN runs.model IS 'Model as it was named at capture; NULL where a trace does not tell.';
COMMENT ON COLUMN runs.weights IS 'real, or random (exact shapes with random weights); NULL when not known.';
COMMENT ON COLUMN runs.device IS 'mps, cuda or cpu; NULL when not known.';
COMMENT ON COLUMN runs.device_name IS 'Name of the chip or GPU.';
COMMENT ON COLUMN runs.dtype IS 'Element type of weights and activations, as PyTorch names it.';
COMMENT ON COLUMN runs.attention IS 'Attention implementation (eager, sdpa, ...).';
COMMENT ON COLUMN runs.cache IS 'Class of the KV cache.';
COMMENT ON COLUMN runs.logits IS 'all (logits for every prompt position) or last.';
COMMENT ON COLUMN runs.batch_size IS 'Sequences generated at once.';
COMMENT ON COLUMN runs.prompt_tokens IS 'Prompt tokens of each sequence.';
COMMENT ON COLUMN runs.new_tokens IS 'New tokens of each sequence: 1 from prefill, the others from decode steps.';
COMMENT ON COLUMN runs.ranks IS 'Number of ranks whose traces make up the run.';
COMMENT ON COLUMN runs.captured_unix_ns IS 'When the capture began, nanoseconds since 1970 UTC.';
COMMENT ON COLUMN runs.loaded_unix_ns IS 'When it was loaded into this store, nanoseconds since 1970 UTC.';
COMMENT ON COLUMN runs.os IS 'Operating system of the captured machine.';
COMMENT ON COLUMN runs.python_version IS 'Python of the capture.';
COMMENT ON COLUMN runs.torch_version IS 'PyTorch of the capture.';
COMMENT ON COLUMN runs.transformers_version IS 'transformers of the capture.';
COMMENT ON COLUMN runs.phasescope_version IS 'phasescope that loaded the run.';
COMMENT ON COLUMN runs.trace_engine IS 'Trace processor engine: native or wasm; NULL when no trace was loaded.';
COMMENT ON COLUMN runs.trace_engine_version IS 'Version that the trace processor reports.';
COMMENT ON COLUMN runs.raw_events IS 'Events in the source: objects with a ph, or rows of an Instruments table. raw = loaded + excluded.';
COMMENT ON COLUMN runs.loaded_events IS 'Events that are in this store.';
COMMENT ON COLUMN runs.excluded_events IS 'Events left out, each with a reason in table quality.';
COMMENT ON COLUMN runs.architecture IS 'Architecture facts of the model from its configuration (layers, heads, sizes).';
COMMENT ON COLUMN runs.manifest IS 'The bundle''s manifest as it was written.';

CREATE TABLE passes (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, status VARCHAR NOT NULL, reason VARCHAR, detail JSON
);
COMMENT ON TABLE passes IS 'The passes of a run: one execution of the workload for one kind of evidence.';
COMMENT ON COLUMN passes.run_id IS 'Run.';
COMMENT ON COLUMN passes.pass IS 'clean, profiled, memory, metal, ...; `trace` for a trace that another tool wrote.';
COMMENT ON COLUMN passes.status IS 'measured, unsupported, empty, refused, failed or not_attempted.';
COMMENT ON COLUMN passes.reason IS 'Why it is not measured, in a sentence.';
COMMENT ON COLUMN passes.detail IS 'What the manifest says of the pass (warm-up, repeats, environment, clock brackets).';

CREATE TABLE phases (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, rank INTEGER NOT NULL, repeat INTEGER NOT NULL,
    phase VARCHAR NOT NULL, step INTEGER NOT NULL, start_ns BIGINT, dur_ns BIGINT, cpu_ns BIGINT,
    tokens BIGINT, cached_tokens BIGINT, sequences INTEGER, prefill_tokens BIGINT, decode_tokens BIGINT,
    name VARCHAR, source VARCHAR NOT NULL, thread_id INTEGER
);
COMMENT ON TABLE phases IS 'One occurrence of a phase in a pass. N new tokens are 1 prefill and N-1 decode steps.';
COMMENT ON COLUMN phases.run_id IS 'Run.';
COMMENT ON COLUMN phases.pass IS 'Pass. Only times of pass clean are latencies to quote; the others explain.';
COMMENT ON COLUMN phases.rank IS 'Rank of the process, 0 for a single one.';
COMMENT ON COLUMN phases.repeat IS 'Repeat of the workload inside the pass, from 0.';
COMMENT ON COLUMN phases.phase IS 'prefill, decode, mixed (both in one step, or not to be told apart), draft (a draft model''s work), idle (a step with no work), unknown, or a name from the user''s rules.';
COMMENT ON COLUMN phases.step IS '0 for prefill of our engine, 1 and on for its cached decode calls; for foreign traces the order of occurrence from 0.';
COMMENT ON COLUMN phases.start_ns IS 'Begin, from the beginning of the pass.';
COMMENT ON COLUMN phases.dur_ns IS 'Wall time; in passes clean and profiled of our engine the device is synchronised at both ends.';
COMMENT ON COLUMN phases.cpu_ns IS 'CPU time of the whole process during the phase.';
COMMENT ON COLUMN phases.tokens IS 'Tokens that the call processed, over the batch; NULL when not known.';
COMMENT ON COLUMN phases.cached_tokens IS 'Tokens in the KV cache after it, of one sequence for our engine, summed over sequences for servers; NULL when not known.';
COMMENT ON COLUMN phases.sequences IS 'Sequences (requests) in the call; NULL when not known.';
COMMENT ON COLUMN phases.prefill_tokens IS 'Prompt tokens among tokens, for servers that mix phases.';
COMMENT ON COLUMN phases.decode_tokens IS 'Generated tokens among tokens, for servers that mix phases.';
COMMENT ON COLUMN phases.name IS 'Name of the range or timer that gave it.';
COMMENT ON COLUMN phases.source IS 'How it was recognised: timer, annotation, rule name of the grammar, inferred, or whole_trace.';
COMMENT ON COLUMN phases.thread_id IS 'Thread whose range it is (threads.thread_id); NULL for timers.';

CREATE TABLE threads (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, rank INTEGER NOT NULL, thread_id INTEGER NOT NULL,
    pid VARCHAR, tid VARCHAR, process_name VARCHAR, thread_name VARCHAR
);
COMMENT ON TABLE threads IS 'Threads of the trace. Original ids are text, since they may exceed any integer.';
COMMENT ON COLUMN threads.run_id IS 'Run.';
COMMENT ON COLUMN threads.pass IS 'Pass.';
COMMENT ON COLUMN threads.rank IS 'Rank.';
COMMENT ON COLUMN threads.thread_id IS 'Small number given at loading, unique in a run.';
COMMENT ON COLUMN threads.pid IS 'Process id as the trace wrote it.';
COMMENT ON COLUMN threads.tid IS 'Thread id as the trace wrote it.';
COMMENT ON COLUMN threads.process_name IS 'Name of the process from the trace''s metadata.';
COMMENT ON COLUMN threads.thread_name IS 'Name of the thread from the trace''s metadata.';

CREATE TABLE ops (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, rank INTEGER NOT NULL, op_id BIGINT NOT NULL, parent_id BIGINT,
    depth INTEGER NOT NULL, thread_id INTEGER NOT NULL, layer VARCHAR NOT NULL, name VARCHAR NOT NULL, category VARCHAR,
    start_ns BIGINT NOT NULL, dur_ns BIGINT NOT NULL, self_ns BIGINT NOT NULL, role VARCHAR, repeat INTEGER, phase VARCHAR,
    step INTEGER, correlation_id BIGINT, external_id BIGINT, shapes VARCHAR, args VARCHAR
);
COMMENT ON TABLE ops IS 'Host-side slices: operators, runtime calls, Python frames and annotations.';
COMMENT ON COLUMN ops.run_id IS 'Run.';
COMMENT ON COLUMN ops.pass IS 'Pass.';
COMMENT ON COLUMN ops.rank IS 'Rank.';
COMMENT ON COLUMN ops.op_id IS 'Number of the slice, unique in a run.';
COMMENT ON COLUMN ops.parent_id IS 'op_id of the enclosing slice of the same thread and layer; NULL at the top.';
COMMENT ON COLUMN ops.depth IS 'Enclosing slices of the same thread and layer.';
COMMENT ON COLUMN ops.thread_id IS 'Thread (threads.thread_id).';
COMMENT ON COLUMN ops.layer IS 'operator (operators and runtime calls), python (frames), annotation (named ranges). Nesting and self time stay inside a layer.';
COMMENT ON COLUMN ops.name IS 'Name as the trace wrote it.';
COMMENT ON COLUMN ops.category IS 'Category as the trace wrote it (cpu_op, cuda_runtime, user_annotation, python_function, ...).';
COMMENT ON COLUMN ops.start_ns IS 'Begin, from the beginning of the pass.';
COMMENT ON COLUMN ops.dur_ns IS 'Duration. On MPS this is the time to encode work, never GPU time.';
COMMENT ON COLUMN ops.self_ns IS 'Duration less the time covered by its children of the same thread and layer.';
COMMENT ON COLUMN ops.role IS 'What the call does: launch (starts kernels or a graph), copy (copies or sets memory), synchronisation (waits for the device; also a copy that held the host up until earlier work was done), runtime (another call of the runtime or driver), operator; NULL outside layer operator and for ranges that mark phases.';
COMMENT ON COLUMN ops.repeat IS 'Repeat of that phase (phases.repeat); NULL outside every phase.';
COMMENT ON COLUMN ops.phase IS 'Phase in whose range it starts, by time and thread; NULL outside every phase.';
COMMENT ON COLUMN ops.step IS 'Step of that phase.';
COMMENT ON COLUMN ops.correlation_id IS 'Correlation id of a launch; joins kernels of the same rank.';
COMMENT ON COLUMN ops.external_id IS 'PyTorch''s External id.';
COMMENT ON COLUMN ops.shapes IS 'Input shapes as JSON, where recorded.';
COMMENT ON COLUMN ops.args IS 'All arguments of the event as JSON text.';

CREATE TABLE kernels (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, rank INTEGER NOT NULL, kernel_id BIGINT NOT NULL,
    name VARCHAR NOT NULL, kind VARCHAR NOT NULL, device VARCHAR, stream VARCHAR, start_ns BIGINT NOT NULL,
    dur_ns BIGINT NOT NULL, correlation_id BIGINT, launch_op_id BIGINT, launch_delay_ns BIGINT, repeat INTEGER, phase VARCHAR,
    step INTEGER, attributed_by VARCHAR NOT NULL, bytes BIGINT, process VARCHAR, args VARCHAR
);
COMMENT ON TABLE kernels IS 'Device-side rows: the work a device did.';
COMMENT ON COLUMN kernels.run_id IS 'Run.';
COMMENT ON COLUMN kernels.pass IS 'Pass.';
COMMENT ON COLUMN kernels.rank IS 'Rank.';
COMMENT ON COLUMN kernels.kernel_id IS 'Number of the row, unique in a run.';
COMMENT ON COLUMN kernels.name IS 'Name as the trace wrote it.';
COMMENT ON COLUMN kernels.kind IS 'kernel, memcpy, memset, metal or other.';
COMMENT ON COLUMN kernels.device IS 'Device within the rank, as the trace wrote it.';
COMMENT ON COLUMN kernels.stream IS 'Stream, hardware queue or Metal channel.';
COMMENT ON COLUMN kernels.start_ns IS 'Begin, from the beginning of the pass.';
COMMENT ON COLUMN kernels.dur_ns IS 'Duration. Sums count overlapping work twice: busy time is the union.';
COMMENT ON COLUMN kernels.correlation_id IS 'Correlation id of its launch.';
COMMENT ON COLUMN kernels.launch_op_id IS 'op_id of the runtime call that launched it; many kernels share one under graphs.';
COMMENT ON COLUMN kernels.launch_delay_ns IS 'Begin less the begin of its launch; negative is clock skew and stays out of averages.';
COMMENT ON COLUMN kernels.repeat IS 'Repeat of that phase (phases.repeat).';
COMMENT ON COLUMN kernels.phase IS 'Phase that launched it.';
COMMENT ON COLUMN kernels.step IS 'Step of that phase.';
COMMENT ON COLUMN kernels.attributed_by IS 'correlation (launch and row share a correlation id), flow (an arrow joins them), external_id (row and operator share PyTorch''s External id), containment (by time, where the loop is synchronised), or unattributed.';
COMMENT ON COLUMN kernels.bytes IS 'Bytes moved, for copies and sets.';
COMMENT ON COLUMN kernels.process IS 'Process it ran for, where several share the device.';
COMMENT ON COLUMN kernels.args IS 'All arguments of the event as JSON text.';

CREATE TABLE spans (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, rank INTEGER NOT NULL, span_id BIGINT NOT NULL, kind VARCHAR NOT NULL,
    name VARCHAR NOT NULL, category VARCHAR, track VARCHAR, start_ns BIGINT NOT NULL, dur_ns BIGINT, args VARCHAR
);
COMMENT ON TABLE spans IS 'Intervals that are neither host slices nor device work.';
COMMENT ON COLUMN spans.run_id IS 'Run.';
COMMENT ON COLUMN spans.pass IS 'Pass.';
COMMENT ON COLUMN spans.rank IS 'Rank.';
COMMENT ON COLUMN spans.span_id IS 'Number of the span, unique in a run.';
COMMENT ON COLUMN spans.kind IS 'device_annotation (derived from launches, no evidence of its own), async, profiler (bookkeeping), sync, or the Instruments table it comes from.';
COMMENT ON COLUMN spans.name IS 'Name as the trace wrote it.';
COMMENT ON COLUMN spans.category IS 'Category as the trace wrote it.';
COMMENT ON COLUMN spans.track IS 'Process and thread, stream or id it was drawn on.';
COMMENT ON COLUMN spans.start_ns IS 'Begin, from the beginning of the pass.';
COMMENT ON COLUMN spans.dur_ns IS 'Duration; NULL when it was still open at the end.';
COMMENT ON COLUMN spans.args IS 'All arguments as JSON text.';

CREATE TABLE instants (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, rank INTEGER NOT NULL, name VARCHAR NOT NULL, category VARCHAR,
    track VARCHAR, t_ns BIGINT, args VARCHAR
);
COMMENT ON TABLE instants IS 'Events without duration (allocations, marks, signposts).';
COMMENT ON COLUMN instants.run_id IS 'Run.';
COMMENT ON COLUMN instants.pass IS 'Pass.';
COMMENT ON COLUMN instants.rank IS 'Rank.';
COMMENT ON COLUMN instants.name IS 'Name as the trace wrote it.';
COMMENT ON COLUMN instants.category IS 'Category as the trace wrote it.';
COMMENT ON COLUMN instants.track IS 'Process and thread it was drawn on.';
COMMENT ON COLUMN instants.t_ns IS 'Time, from the beginning of the pass; NULL when the event has none.';
COMMENT ON COLUMN instants.args IS 'All arguments as JSON text.';

CREATE TABLE flows (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, rank INTEGER NOT NULL, flow_id VARCHAR, ph VARCHAR NOT NULL, name VARCHAR,
    category VARCHAR, track VARCHAR, t_ns BIGINT
);
COMMENT ON TABLE flows IS 'Ends of the arrows that join a launch to its kernel.';
COMMENT ON COLUMN flows.run_id IS 'Run.';
COMMENT ON COLUMN flows.pass IS 'Pass.';
COMMENT ON COLUMN flows.rank IS 'Rank.';
COMMENT ON COLUMN flows.flow_id IS 'Id that the ends of one arrow share.';
COMMENT ON COLUMN flows.ph IS 's begin, t step, f end.';
COMMENT ON COLUMN flows.name IS 'Name as the trace wrote it.';
COMMENT ON COLUMN flows.category IS 'Category (ac2g joins host launch and device work, fwdbwd forward and backward).';
COMMENT ON COLUMN flows.track IS 'Process and thread of this end.';
COMMENT ON COLUMN flows.t_ns IS 'Time of this end.';

CREATE TABLE counters (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, rank INTEGER NOT NULL, track VARCHAR NOT NULL, t_ns BIGINT NOT NULL,
    value DOUBLE, unit VARCHAR
);
COMMENT ON TABLE counters IS 'Counter samples.';
COMMENT ON COLUMN counters.run_id IS 'Run.';
COMMENT ON COLUMN counters.pass IS 'Pass.';
COMMENT ON COLUMN counters.rank IS 'Rank.';
COMMENT ON COLUMN counters.track IS 'Counter, with its process or device and its series.';
COMMENT ON COLUMN counters.t_ns IS 'Time, from the beginning of the pass.';
COMMENT ON COLUMN counters.value IS 'Value; NULL where the trace says nan or inf: a gap, not 0.';
COMMENT ON COLUMN counters.unit IS 'Unit, where the trace tells.';

CREATE TABLE trace_metadata (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, rank INTEGER NOT NULL, key VARCHAR NOT NULL, value VARCHAR
);
COMMENT ON TABLE trace_metadata IS 'What a trace says of itself: top-level keys and metadata events.';
COMMENT ON COLUMN trace_metadata.run_id IS 'Run.';
COMMENT ON COLUMN trace_metadata.pass IS 'Pass.';
COMMENT ON COLUMN trace_metadata.rank IS 'Rank.';
COMMENT ON COLUMN trace_metadata.key IS 'Key, or name of the metadata event with its process and thread.';
COMMENT ON COLUMN trace_metadata.value IS 'Value as JSON text.';

CREATE TABLE samples (
    run_id VARCHAR NOT NULL, pass VARCHAR NOT NULL, repeat INTEGER NOT NULL, phase VARCHAR NOT NULL, step INTEGER NOT NULL,
    t_ns BIGINT, kv_cache_bytes BIGINT, tensor_bytes BIGINT, driver_bytes BIGINT, recommended_max_bytes BIGINT, peak_bytes BIGINT,
    resident_bytes BIGINT, footprint_bytes BIGINT, process_cpu_percent DOUBLE
);
COMMENT ON TABLE samples IS 'Resource samples at phase edges.';
COMMENT ON COLUMN samples.run_id IS 'Run.';
COMMENT ON COLUMN samples.pass IS 'Pass.';
COMMENT ON COLUMN samples.repeat IS 'Repeat inside the pass, from 0.';
COMMENT ON COLUMN samples.phase IS 'before_prefill, after_prefill or after_decode.';
COMMENT ON COLUMN samples.step IS 'Step after which it was taken; 0 for the two around prefill.';
COMMENT ON COLUMN samples.t_ns IS 'Time, from the beginning of the pass.';
COMMENT ON COLUMN samples.kv_cache_bytes IS 'Bytes of the unique storages reachable in the cache object.';
COMMENT ON COLUMN samples.tensor_bytes IS 'Bytes in tensors that the device allocator counts; 0 on cpu means not available.';
COMMENT ON COLUMN samples.driver_bytes IS 'Bytes that the driver holds for the process (pools included); 0 on cpu means not available.';
COMMENT ON COLUMN samples.recommended_max_bytes IS 'Working set that Metal recommends, or memory of the CUDA device; NULL where there is none.';
COMMENT ON COLUMN samples.peak_bytes IS 'Peak of tensor bytes since the pass began, where the allocator tells; else NULL.';
COMMENT ON COLUMN samples.resident_bytes IS 'Resident set of the process.';
COMMENT ON COLUMN samples.footprint_bytes IS 'Physical footprint of the process (macOS); else NULL.';
COMMENT ON COLUMN samples.process_cpu_percent IS 'CPU time of the process since the sample before, as per cent of one core; NULL at the first.';

CREATE TABLE kv_expected (
    run_id VARCHAR NOT NULL, cached_tokens BIGINT NOT NULL, computed_bytes BIGINT, reason VARCHAR
);
COMMENT ON TABLE kv_expected IS 'KV-cache bytes that the architecture asks for, per number of cached tokens.';
COMMENT ON COLUMN kv_expected.run_id IS 'Run.';
COMMENT ON COLUMN kv_expected.cached_tokens IS 'Tokens in the cache of one sequence.';
COMMENT ON COLUMN kv_expected.computed_bytes IS 'Bytes over all layers and the batch; NULL where the configuration does not tell.';
COMMENT ON COLUMN kv_expected.reason IS 'The formula with the model''s numbers, or why there is none.';

CREATE TABLE quality (
    run_id VARCHAR NOT NULL, rank INTEGER NOT NULL, reason VARCHAR NOT NULL, kind VARCHAR NOT NULL, events BIGINT NOT NULL, detail VARCHAR
);
COMMENT ON TABLE quality IS 'What was left out, repaired or must be known: raw events = loaded + excluded.';
COMMENT ON COLUMN quality.run_id IS 'Run.';
COMMENT ON COLUMN quality.rank IS 'Rank.';
COMMENT ON COLUMN quality.reason IS 'Short name of the reason.';
COMMENT ON COLUMN quality.kind IS 'excluded (not in the store), repaired (in the store, mended) or note.';
COMMENT ON COLUMN quality.events IS 'Events concerned.';
COMMENT ON COLUMN quality.detail IS 'A sentence with the place in the file where there is one.';

CREATE TABLE claims (
    run_id VARCHAR NOT NULL, claim_id VARCHAR NOT NULL, claim VARCHAR NOT NULL, verdict VARCHAR NOT NULL, evidence VARCHAR,
    numbers VARCHAR, provenance VARCHAR, sql VARCHAR, settled_by VARCHAR, UNIQUE (run_id, claim_id)
);
COMMENT ON TABLE claims IS 'Statements about the run with the evidence for them.';
COMMENT ON COLUMN claims.run_id IS 'Run.';
COMMENT ON COLUMN claims.claim_id IS 'Short name of the claim, the same in every run.';
COMMENT ON COLUMN claims.claim IS 'The statement.';
COMMENT ON COLUMN claims.verdict IS 'holds, does not hold, or not established.';
COMMENT ON COLUMN claims.evidence IS 'Kind of evidence it rests on.';
COMMENT ON COLUMN claims.numbers IS 'The numbers, as a JSON object; what is not known is not in it.';
COMMENT ON COLUMN claims.provenance IS 'How each number came to be, as a JSON object with the same keys: measured, derived, published or estimated.';
COMMENT ON COLUMN claims.sql IS 'SQL that yields them.';
COMMENT ON COLUMN claims.settled_by IS 'What would settle it, where it is open.';

CREATE TABLE store_info (key VARCHAR PRIMARY KEY, value VARCHAR NOT NULL);
COMMENT ON TABLE store_info IS 'What this store is: its schema version and the digest of its views.';
COMMENT ON COLUMN store_info.key IS 'Name.';
COMMENT ON COLUMN store_info.value IS 'Value.';
