CREATE VIEW metal_gates AS
WITH recordings AS (
    SELECT r.*, s.own_rows, s.verdict AS captured,
           (p.detail ->> '$.probe.dispatches')::BIGINT AS probe_dispatches,
           (p.detail ->> '$.probe.start_ns')::BIGINT + r.pass_start_ns AS probe_start_ns,
           (p.detail ->> '$.probe.dur_ns')::BIGINT AS probe_dur_ns
    FROM instruments_recordings r
    JOIN metal_share s USING (run_id, pass, rank)
    LEFT JOIN passes p ON p.run_id = r.run_id AND p.pass = r.pass
), probe AS (
    SELECT r.run_id, r.pass, r.rank, count(DISTINCT m.encoder_id) AS seen
    FROM recordings r
    JOIN kernels k ON k.run_id = r.run_id AND k.pass = r.pass AND k.rank = r.rank AND k.kind = 'metal'
     AND k.start_ns >= r.probe_start_ns AND k.start_ns + k.dur_ns <= r.probe_start_ns + r.probe_dur_ns
    JOIN metal_gpu_intervals m ON m.run_id = k.run_id AND m.pass = k.pass AND m.rank = k.rank
     AND m.kernel_id = k.kernel_id AND m.pid = r.target_pid
    GROUP BY ALL
), spans AS (
    SELECT run_id, pass, rank, phase, sum(span_ns) AS span_ns, sum(wall_ns) AS wall_ns FROM metal_bursts GROUP BY ALL
), walls AS (
    SELECT run_id, pass, phase, median(dur_ns) AS wall_ns FROM phases
    WHERE source = 'timer' AND phase IN ('prefill', 'decode') GROUP BY ALL
), gates AS (
    SELECT run_id, pass, rank, 'process captured' AS gate, own_rows::DOUBLE AS measured, NULL::DOUBLE AS expected,
           NULL::DOUBLE AS tolerance,
           CASE captured WHEN 'captured' THEN true WHEN 'not captured' THEN false END AS good
    FROM recordings
    UNION ALL
    -- A pass's own marks beside rows whose clock is not joined with it are not on one clock at all.
    SELECT run_id, pass, rank, 'clocks joined', clock_uncertainty_ns, 0, 100000,
        CASE WHEN clock_uncertainty_ns IS NOT NULL THEN clock_uncertainty_ns <= 100000
             WHEN EXISTS (FROM phases p WHERE p.run_id = recordings.run_id AND p.pass = recordings.pass) THEN false END
    FROM recordings
    UNION ALL
    SELECT r.run_id, r.pass, r.rank, 'probe dispatches', CASE WHEN r.probe_start_ns IS NOT NULL THEN coalesce(p.seen, 0) END,
           r.probe_dispatches, 0,
           CASE WHEN r.probe_start_ns IS NOT NULL THEN coalesce(p.seen, 0) = r.probe_dispatches END
    FROM recordings r LEFT JOIN probe p USING (run_id, pass, rank)
    UNION ALL
    SELECT b.run_id, b.pass, b.rank, 'union is the state table''s active time', b.busy_ns, b.state_active_ns, 0.001,
           abs(b.busy_ns - b.state_active_ns) <= 0.001 * b.state_active_ns
    FROM metal_busy b WHERE b.scope = 'all'
    UNION ALL
    SELECT run_id, pass, rank, 'GPU span of ' || phase || ' is its timer', span_ns, wall_ns, 0.01,
           abs(span_ns - wall_ns) <= 0.01 * wall_ns
    FROM spans
    UNION ALL
    SELECT r.run_id, r.pass, r.rank, m.phase || ' as fast as in pass clean', m.wall_ns, c.wall_ns, 0.1,
           abs(m.wall_ns - c.wall_ns) <= 0.1 * c.wall_ns
    FROM recordings r
    JOIN walls m ON m.run_id = r.run_id AND m.pass = r.pass
    LEFT JOIN walls c ON c.run_id = m.run_id AND c.pass = 'clean' AND c.phase = m.phase
)
SELECT run_id, pass, rank, gate,
       CASE good WHEN true THEN 'holds' WHEN false THEN 'does not hold' ELSE 'not established' END AS verdict,
       measured, expected, tolerance
FROM gates;
COMMENT ON VIEW metal_gates IS 'Trust before use: what must hold before anything is claimed from the GPU rows of a recording.';
COMMENT ON COLUMN metal_gates.run_id IS 'Run.';
COMMENT ON COLUMN metal_gates.pass IS 'Pass.';
COMMENT ON COLUMN metal_gates.rank IS 'Rank.';
COMMENT ON COLUMN metal_gates.gate IS 'What must hold.';
COMMENT ON COLUMN metal_gates.verdict IS 'holds, does not hold, or not established (what it needs is not there).';
COMMENT ON COLUMN metal_gates.measured IS 'Rows of the process; the uncertainty of the join in ns; encoders that came back in the probe; or a time in ns.';
COMMENT ON COLUMN metal_gates.expected IS 'What it is held against: dispatches handed over, or the other time in ns.';
COMMENT ON COLUMN metal_gates.tolerance IS 'How far apart they may be: absolute for counts and the clock, a share of expected for times.';
