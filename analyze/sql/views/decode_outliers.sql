-- Decode steps of the clean pass that lie over 5 MAD from the median, after the trend with cached tokens is taken out, and
-- what the run knows of the difference. MAD: median of the absolute deviations from the median.
CREATE VIEW decode_outliers AS
WITH measured AS (
    SELECT
        p.run_id, p.repeat, p.step, p.cached_tokens, p.dur_ns, p.cpu_ns,
        p.dur_ns - coalesce(t.slope_ns_per_token * (p.cached_tokens - t.first_cached_tokens), 0) AS level_ns
    FROM phases p
    LEFT JOIN decode_trend t ON t.run_id = p.run_id AND t.verdict IN ('slower', 'faster')
    WHERE p.pass = 'clean' AND p.phase = 'decode'
),
centre AS (
    SELECT run_id, median(level_ns) AS median_ns, median(cpu_ns) AS median_cpu_ns, count(DISTINCT repeat) AS repeats
    FROM measured GROUP BY run_id
),
spread AS (
    SELECT m.run_id, median(abs(m.level_ns - c.median_ns)) AS mad_ns
    FROM measured m JOIN centre c USING (run_id)
    GROUP BY m.run_id
),
far AS (
    SELECT m.*, c.median_ns, c.median_cpu_ns, c.repeats, s.mad_ns
    FROM measured m
    JOIN centre c USING (run_id)
    JOIN spread s USING (run_id)
    WHERE abs(m.level_ns - c.median_ns) > 5 * s.mad_ns AND s.mad_ns > 0
),
counted AS (SELECT *, count(*) OVER (PARTITION BY run_id, step) AS in_repeats FROM far),
ran AS (
    SELECT run_id, step, max(verdict) FILTER (verdict = 'differs') AS verdict, any_value(extra) AS extra, any_value(missing) AS missing
    FROM step_audit
    WHERE pass = 'profiled' AND phase = 'decode'
    GROUP BY ALL
)
SELECT
    c.run_id, c.repeat, c.step, c.cached_tokens, c.dur_ns, c.median_ns, c.mad_ns,
    (c.level_ns - c.median_ns) / c.mad_ns AS deviation_mad,
    c.cpu_ns, c.median_cpu_ns, c.in_repeats, c.repeats,
    concat_ws('; ',
        CASE WHEN c.in_repeats = c.repeats AND c.repeats > 1 THEN 'in every repeat'
             ELSE format('in {} of {} repeats', c.in_repeats, c.repeats) END,
        CASE
            WHEN c.cpu_ns IS NULL OR c.median_cpu_ns IS NULL THEN NULL
            WHEN c.dur_ns > c.median_ns AND c.cpu_ns - c.median_cpu_ns < 0.5 * (c.dur_ns - c.median_ns)
                THEN 'the process used the CPU for less than half of the added time: it waited'
            WHEN c.dur_ns > c.median_ns THEN 'the process worked on the CPU for most of the added time'
        END,
        CASE
            WHEN r.verdict = 'differs' THEN 'in the profiled pass this step ran' || coalesce(' also ' || r.extra, '')
                || if(r.extra IS NOT NULL AND r.missing IS NOT NULL, ' and', '') || coalesce(' without ' || r.missing, '')
            WHEN r.run_id IS NOT NULL THEN 'in the profiled pass this step ran the same operators as most'
        END
    ) AS difference
FROM counted c
LEFT JOIN ran r USING (run_id, step);
COMMENT ON VIEW decode_outliers IS 'Decode steps of the clean pass over 5 MAD away from the median of all, the trend with cached tokens taken out, with what was different. No rows where the MAD is 0.';
COMMENT ON COLUMN decode_outliers.run_id IS 'Run.';
COMMENT ON COLUMN decode_outliers.repeat IS 'Repeat of the clean pass.';
COMMENT ON COLUMN decode_outliers.step IS 'Step.';
COMMENT ON COLUMN decode_outliers.cached_tokens IS 'Tokens in the cache after it.';
COMMENT ON COLUMN decode_outliers.dur_ns IS 'Wall time.';
COMMENT ON COLUMN decode_outliers.median_ns IS 'Median wall time of all decode steps, brought to the first step''s cached tokens where there is a trend.';
COMMENT ON COLUMN decode_outliers.mad_ns IS 'Median absolute deviation from it.';
COMMENT ON COLUMN decode_outliers.deviation_mad IS 'How many MAD away; negative for a faster step.';
COMMENT ON COLUMN decode_outliers.cpu_ns IS 'CPU time of the process during the step.';
COMMENT ON COLUMN decode_outliers.median_cpu_ns IS 'Median of it over all decode steps.';
COMMENT ON COLUMN decode_outliers.in_repeats IS 'Repeats in which this step is an outlier.';
COMMENT ON COLUMN decode_outliers.repeats IS 'Repeats of the clean pass.';
COMMENT ON COLUMN decode_outliers.difference IS 'What the run knows of it, in words: in how many repeats, whether the process worked or waited, what the same step ran in the profiled pass.';
