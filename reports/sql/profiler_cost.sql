-- What the profiler costs: the median call of the profiled pass over the median call of the clean one.
SELECT
    phase,
    median(dur_ns) FILTER (pass = 'clean') AS clean_ns,
    median(dur_ns) FILTER (pass = 'profiled') AS profiled_ns,
    median(dur_ns) FILTER (pass = 'profiled') / median(dur_ns) FILTER (pass = 'clean') AS ratio
FROM phases
WHERE run_id = $run_id AND pass IN ('clean', 'profiled')
GROUP BY phase
HAVING ratio IS NOT NULL
ORDER BY phase = 'prefill' DESC, phase
