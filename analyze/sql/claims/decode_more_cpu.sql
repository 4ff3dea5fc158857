-- CPU time of the process as per cent of one core, and how much more decode used than prefill, by repeat of the clean pass.
WITH repeats AS (
    SELECT
        repeat,
        100.0 * sum(cpu_ns) FILTER (phase = 'prefill') / nullif(sum(dur_ns) FILTER (phase = 'prefill'), 0) AS prefill,
        100.0 * sum(cpu_ns) FILTER (phase = 'decode') / nullif(sum(dur_ns) FILTER (phase = 'decode'), 0) AS decode
    FROM phases
    WHERE run_id = $run_id AND pass = 'clean' AND cpu_ns IS NOT NULL
    GROUP BY repeat
)
SELECT
    median(prefill) AS prefill_cpu_percent,
    median(decode) AS decode_cpu_percent,
    median(decode - prefill) AS difference_percent,
    quantile_cont(decode - prefill, 0.05) AS least_difference_percent,
    quantile_cont(decode - prefill, 0.95) AS most_difference_percent,
    count(decode - prefill) AS repeats,
    (SELECT min(cpu_percent) FROM clean_cpu WHERE run_id = $run_id AND busy_elsewhere) AS busy_cpu_percent
FROM repeats
