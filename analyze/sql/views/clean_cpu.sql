-- On device cpu a thread that computes is on a core all the time: clearly less means that something else had the machine.
CREATE VIEW clean_cpu AS
WITH repeats AS (
    SELECT run_id, phase, repeat, 100.0 * sum(cpu_ns) / sum(dur_ns) AS cpu_percent
    FROM phases
    WHERE pass = 'clean' AND phase IN ('prefill', 'decode') AND dur_ns > 0 AND cpu_ns IS NOT NULL
    GROUP BY run_id, phase, repeat
)
SELECT
    run_id, phase,
    median(cpu_percent) AS cpu_percent,
    coalesce(any_value(device) = 'cpu' AND median(cpu_percent) < 80, false) AS busy_elsewhere
FROM repeats
JOIN runs USING (run_id)
GROUP BY run_id, phase;
COMMENT ON VIEW clean_cpu IS 'How much CPU time the process had in the clean pass, and whether other work had the machine. Every comparison, report and claim goes by this.';
COMMENT ON COLUMN clean_cpu.run_id IS 'Run.';
COMMENT ON COLUMN clean_cpu.phase IS 'prefill or decode.';
COMMENT ON COLUMN clean_cpu.cpu_percent IS 'CPU time of the process over wall time, per cent of one core: the median over the repeats.';
COMMENT ON COLUMN clean_cpu.busy_elsewhere IS 'On device cpu, under 80 % of one core: the clean times are not the run''s own. Never on another device, whose host may wait.';
