-- CPU time of the whole process as per cent of one core, and operators and launches for each token processed.
WITH clean AS (
    SELECT phase, median(100.0 * cpu_ns / dur_ns) AS clean_cpu_percent
    FROM phases
    WHERE run_id = $run_id AND pass = 'clean' AND dur_ns > 0
    GROUP BY phase
), traced AS (
    SELECT phase,
        median(cpu_percent) AS traced_cpu_percent,
        sum(operators) / nullif(sum(tokens), 0) AS operators_per_token,
        avg(operators) AS operators_per_call,
        sum(launches) / nullif(sum(tokens), 0) AS launches_per_token,
        avg(launches) AS launches_per_call,
        avg(kernels) AS kernels_per_call
    FROM phase_breakdown
    WHERE run_id = $run_id AND pass <> 'clean'
    GROUP BY phase
)
SELECT * FROM clean FULL JOIN traced USING (phase)
ORDER BY array_position(['prefill', 'decode', 'mixed'], phase) NULLS LAST, phase
