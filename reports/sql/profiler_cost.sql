-- What the profiler costs: the median call of the profiled pass over the median call of the clean one, and over those of
-- the slowest and the fastest clean repeat.
WITH repeats AS (
    SELECT phase, repeat, median(dur_ns) AS ns FROM phases WHERE run_id = $run_id AND pass = 'clean' GROUP BY ALL
)
SELECT
    phase,
    median(p.dur_ns) FILTER (p.pass = 'clean') AS clean_ns,
    median(p.dur_ns) FILTER (p.pass = 'profiled') AS profiled_ns,
    profiled_ns / clean_ns AS ratio,
    profiled_ns / (SELECT max(ns) FROM repeats r WHERE r.phase = p.phase) AS least_ratio,
    profiled_ns / (SELECT min(ns) FROM repeats r WHERE r.phase = p.phase) AS most_ratio
FROM phases p
WHERE run_id = $run_id AND pass IN ('clean', 'profiled')
GROUP BY phase
HAVING ratio IS NOT NULL
ORDER BY phase = 'prefill' DESC, phase
