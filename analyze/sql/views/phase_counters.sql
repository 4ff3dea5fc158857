-- Hardware counters that tell of a limiting resource, averaged over the samples that fall into each phase.
CREATE VIEW phase_counters AS
WITH tracks AS (SELECT DISTINCT track FROM counters WHERE unit = 'percent' OR regexp_matches(track, '%|pct')),
known AS (
    SELECT t.track, min(l.resource) AS resource, any_value(l.source) AS source
    FROM tracks t
    JOIN limiter_counters l ON regexp_matches(t.track, l.track_pattern)
    GROUP BY t.track
    HAVING count(DISTINCT l.resource) = 1
),
placed AS (
    SELECT
        c.run_id, c.pass, c.rank, c.track, c.value,
        if(p.start_ns + p.dur_ns > c.t_ns, p.phase, NULL) AS phase,
        {'repeat': p.repeat, 'step': p.step} AS call
    FROM (SELECT * FROM counters SEMI JOIN known USING (track)) c
    ASOF JOIN (SELECT * FROM phases WHERE start_ns IS NOT NULL AND dur_ns IS NOT NULL) p
        ON c.run_id = p.run_id AND c.pass = p.pass AND c.rank = p.rank AND c.t_ns >= p.start_ns
)
SELECT
    p.run_id, p.pass, p.rank, p.phase, k.resource, p.track,
    count(p.value) AS samples,
    count(DISTINCT p.call) FILTER (p.value IS NOT NULL) AS calls,
    avg(p.value) AS mean_percent,
    quantile_cont(p.value, 0.95) AS p95_percent,
    k.source
FROM placed p
JOIN known k USING (track)
WHERE p.phase IS NOT NULL
GROUP BY ALL;
COMMENT ON VIEW phase_counters IS 'Hardware counters of memory and arithmetic in each phase, in per cent of the peak. No row where none were recorded.';
COMMENT ON COLUMN phase_counters.run_id IS 'Run.';
COMMENT ON COLUMN phase_counters.pass IS 'Pass that recorded them.';
COMMENT ON COLUMN phase_counters.rank IS 'Rank.';
COMMENT ON COLUMN phase_counters.phase IS 'Phase, by time.';
COMMENT ON COLUMN phase_counters.resource IS 'memory or compute (limiter_counters).';
COMMENT ON COLUMN phase_counters.track IS 'Counter.';
COMMENT ON COLUMN phase_counters.samples IS 'Samples inside the phase.';
COMMENT ON COLUMN phase_counters.calls IS 'Calls of the phase that hold samples.';
COMMENT ON COLUMN phase_counters.mean_percent IS 'Mean of the samples.';
COMMENT ON COLUMN phase_counters.p95_percent IS '95th percentile of the samples.';
COMMENT ON COLUMN phase_counters.source IS 'Who defines the counter.';
