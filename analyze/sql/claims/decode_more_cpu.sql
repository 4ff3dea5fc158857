-- CPU time of the process as per cent of one core, in the clean pass.
SELECT
    100.0 * sum(cpu_ns) FILTER (phase = 'prefill') / nullif(sum(dur_ns) FILTER (phase = 'prefill' AND cpu_ns IS NOT NULL), 0) AS prefill_cpu_percent,
    100.0 * sum(cpu_ns) FILTER (phase = 'decode') / nullif(sum(dur_ns) FILTER (phase = 'decode' AND cpu_ns IS NOT NULL), 0) AS decode_cpu_percent,
    count(*) FILTER (phase = 'prefill' AND cpu_ns IS NOT NULL) AS prefill_calls,
    count(*) FILTER (phase = 'decode' AND cpu_ns IS NOT NULL) AS decode_steps
FROM phases
WHERE run_id = $run_id AND pass = 'clean'
