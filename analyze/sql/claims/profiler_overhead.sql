-- The median call of the profiled pass over the median call of the clean one, and over those of the slowest and the fastest
-- clean repeat.
WITH repeats AS (
    SELECT phase, repeat, median(dur_ns) AS ns
    FROM phases
    WHERE run_id = $run_id AND pass = 'clean'
    GROUP BY ALL
),
spread AS (
    SELECT phase, max(ns) AS slowest_ns, min(ns) AS fastest_ns, count(*) AS repeats FROM repeats GROUP BY phase
),
compared AS (
    SELECT
        phase,
        median(dur_ns) FILTER (pass = 'profiled') AS profiled_ns,
        median(dur_ns) FILTER (pass = 'clean') AS clean_ns,
        profiled_ns / clean_ns AS ratio
    FROM phases
    WHERE run_id = $run_id AND pass IN ('clean', 'profiled')
    GROUP BY phase
)
SELECT
    any_value(ratio) FILTER (phase = 'prefill') AS prefill_ratio,
    any_value(profiled_ns / slowest_ns) FILTER (phase = 'prefill') AS prefill_least_ratio,
    any_value(profiled_ns / fastest_ns) FILTER (phase = 'prefill') AS prefill_most_ratio,
    any_value(ratio) FILTER (phase = 'decode') AS decode_ratio,
    any_value(profiled_ns / slowest_ns) FILTER (phase = 'decode') AS decode_least_ratio,
    any_value(profiled_ns / fastest_ns) FILTER (phase = 'decode') AS decode_most_ratio,
    min(repeats) AS clean_repeats,
    any_value(profiled_ns) FILTER (phase = 'prefill') AS prefill_profiled_ns,
    any_value(clean_ns) FILTER (phase = 'prefill') AS prefill_clean_ns,
    any_value(profiled_ns) FILTER (phase = 'decode') AS decode_profiled_ns,
    any_value(clean_ns) FILTER (phase = 'decode') AS decode_clean_ns,
    (SELECT min(cpu_percent) FROM clean_cpu WHERE run_id = $run_id AND busy_elsewhere) AS busy_cpu_percent
FROM compared
JOIN spread USING (phase)
WHERE phase IN ('prefill', 'decode')
