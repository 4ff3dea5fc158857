-- Time from the begin of a launch to the begin of its kernel: median per phase; clock skew (negative) stays out.
SELECT coalesce(phase, 'outside') AS phase, median(launch_delay_ns) FILTER (launch_delay_ns >= 0) AS median_delay_ns, count(*) AS kernels
FROM kernels
WHERE run_id = $run_id AND pass = $pass AND kind NOT IN ('memcpy', 'memset') AND launch_delay_ns IS NOT NULL
GROUP BY ALL
