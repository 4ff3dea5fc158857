-- How much of one core the process had in the clean pass: of each repeat, then the median over the repeats.
WITH repeats AS (
    SELECT repeat, phase, 100.0 * sum(cpu_ns) / sum(dur_ns) AS cpu_percent
    FROM phases
    WHERE run_id = $run_id AND pass = 'clean' AND phase IN ('prefill', 'decode') AND dur_ns > 0
    GROUP BY repeat, phase
)
SELECT phase, median(cpu_percent) AS cpu_percent
FROM repeats
GROUP BY phase
ORDER BY phase = 'prefill' DESC
