CREATE VIEW launches AS
WITH called AS (
    SELECT run_id, pass, rank, phase, step, count(*) AS launches
    FROM ops
    WHERE role = 'launch'
    GROUP BY ALL
),
ran AS (
    SELECT
        run_id, pass, rank, phase, step,
        count(*) AS kernels,
        median(launch_delay_ns) FILTER (launch_delay_ns >= 0) AS median_delay_ns,
        count(*) FILTER (launch_delay_ns < 0) AS negative_delays
    FROM kernels
    WHERE kind IN ('kernel', 'metal', 'other') AND attributed_by <> 'unattributed'
    GROUP BY ALL
),
sized AS (
    SELECT run_id, pass, rank, phase, step, sum(tokens)::BIGINT AS tokens
    FROM phases
    GROUP BY ALL
)
SELECT
    run_id, pass, rank, phase, step,
    s.tokens,
    coalesce(c.launches, 0) AS launches,
    coalesce(r.kernels, 0) AS kernels,
    r.kernels / nullif(c.launches, 0) AS kernels_per_launch,
    c.launches / nullif(s.tokens, 0) AS launches_per_token,
    r.median_delay_ns,
    coalesce(r.negative_delays, 0) AS negative_delays
FROM called c
FULL JOIN ran r USING (run_id, pass, rank, phase, step)
LEFT JOIN sized s USING (run_id, pass, rank, phase, step)
WHERE phase IS NOT NULL;
COMMENT ON VIEW launches IS 'Launches of kernels and graphs, per phase and step, over all repeats of the pass. Copies and sets are not launches here.';
COMMENT ON COLUMN launches.run_id IS 'Run.';
COMMENT ON COLUMN launches.pass IS 'Pass.';
COMMENT ON COLUMN launches.rank IS 'Rank.';
COMMENT ON COLUMN launches.phase IS 'Phase.';
COMMENT ON COLUMN launches.step IS 'Step.';
COMMENT ON COLUMN launches.tokens IS 'Tokens processed, over all repeats; NULL when not known.';
COMMENT ON COLUMN launches.launches IS 'Runtime or driver calls that launch a kernel or a graph.';
COMMENT ON COLUMN launches.kernels IS 'Kernels that they started.';
COMMENT ON COLUMN launches.kernels_per_launch IS 'Kernels over launches; far above 1 under CUDA or HIP graphs.';
COMMENT ON COLUMN launches.launches_per_token IS 'Launches over tokens.';
COMMENT ON COLUMN launches.median_delay_ns IS 'Median time from the begin of a launch to the begin of its kernel; negative ones left out.';
COMMENT ON COLUMN launches.negative_delays IS 'Kernels that begin before their launch: the clocks of host and device differ.';
