CREATE VIEW metal_bursts AS
WITH seen AS (
    SELECT k.run_id, k.pass, k.rank, k.repeat, k.phase, k.step, k.start_ns, k.start_ns + k.dur_ns AS end_ns, k.dur_ns,
           m.start_latency_ns,
           max(k.start_ns + k.dur_ns) OVER w AS covered_ns
    FROM kernels k LEFT JOIN metal_gpu_intervals m USING (run_id, pass, rank, kernel_id)
    WHERE k.kind = 'metal' AND k.phase IS NOT NULL
    WINDOW w AS (PARTITION BY k.run_id, k.pass, k.rank, k.repeat, k.phase, k.step ORDER BY k.start_ns, k.start_ns + k.dur_ns
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), totals AS (
    SELECT run_id, pass, rank, repeat, phase, step, count(*) AS rows, sum(dur_ns)::BIGINT AS sum_ns,
           sum(greatest(end_ns - greatest(start_ns, coalesce(covered_ns, start_ns)), 0))::BIGINT AS busy_ns,
           max(end_ns) - min(start_ns) AS span_ns,
           count(*) FILTER (covered_ns IS NULL OR start_ns > covered_ns) AS bursts,
           median(start_ns - covered_ns) FILTER (start_ns > covered_ns) AS median_gap_ns,
           max(start_ns - covered_ns) FILTER (start_ns > covered_ns) AS longest_gap_ns,
           median(start_latency_ns) AS median_start_latency_ns
    FROM seen GROUP BY ALL
)
SELECT p.run_id, p.pass, p.rank, p.repeat, p.phase, p.step, p.tokens, p.dur_ns AS wall_ns, t.rows, t.sum_ns, t.busy_ns,
       p.dur_ns - t.busy_ns AS idle_ns, t.span_ns, t.busy_ns / nullif(p.dur_ns, 0) AS busy_share, t.bursts,
       t.bursts / nullif(p.tokens, 0) AS bursts_per_token, t.busy_ns / nullif(t.bursts, 0) AS mean_burst_ns,
       t.median_gap_ns, t.longest_gap_ns, t.median_start_latency_ns
FROM phases p JOIN totals t USING (run_id, pass, rank, repeat, phase, step);
COMMENT ON VIEW metal_bursts IS 'GPU bursts and the gaps between them for each phase and step of the captured process: dense in prefill, a picket fence in decode.';
COMMENT ON COLUMN metal_bursts.run_id IS 'Run.';
COMMENT ON COLUMN metal_bursts.pass IS 'Pass.';
COMMENT ON COLUMN metal_bursts.rank IS 'Rank.';
COMMENT ON COLUMN metal_bursts.repeat IS 'Repeat.';
COMMENT ON COLUMN metal_bursts.phase IS 'Phase.';
COMMENT ON COLUMN metal_bursts.step IS 'Step.';
COMMENT ON COLUMN metal_bursts.tokens IS 'Tokens of the call.';
COMMENT ON COLUMN metal_bursts.wall_ns IS 'Synchronised wall time of the phase in this pass; it explains and is no latency to quote.';
COMMENT ON COLUMN metal_bursts.rows IS 'GPU rows of the captured process in it.';
COMMENT ON COLUMN metal_bursts.sum_ns IS 'Sum of their durations; never GPU time.';
COMMENT ON COLUMN metal_bursts.busy_ns IS 'Union of them.';
COMMENT ON COLUMN metal_bursts.idle_ns IS 'wall_ns less busy_ns: the GPU did nothing for this process.';
COMMENT ON COLUMN metal_bursts.span_ns IS 'From the first begin to the last end.';
COMMENT ON COLUMN metal_bursts.busy_share IS 'busy_ns of wall_ns, 0 to 1.';
COMMENT ON COLUMN metal_bursts.bursts IS 'Stretches of GPU work with a gap on either side.';
COMMENT ON COLUMN metal_bursts.bursts_per_token IS 'Bursts a token of the call.';
COMMENT ON COLUMN metal_bursts.mean_burst_ns IS 'Mean length of a burst.';
COMMENT ON COLUMN metal_bursts.median_gap_ns IS 'Median gap between two bursts; NULL for one burst.';
COMMENT ON COLUMN metal_bursts.longest_gap_ns IS 'Longest gap between two bursts; NULL for one burst.';
COMMENT ON COLUMN metal_bursts.median_start_latency_ns IS 'Median time between hand-over by the CPU and begin on the GPU: queueing, not a stall of the host.';
