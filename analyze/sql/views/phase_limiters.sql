-- What the shape of a phase says (roofline) beside what hardware counters say, in per cent of the peaks.
-- Rows of a recording that failed one of its gates (metal_trust) are left out.
CREATE VIEW phase_limiters AS
WITH shape AS (
    SELECT
        run_id, phase,
        if(count(DISTINCT bound) = 1, any_value(bound), NULL) AS bound,
        median(intensity) AS intensity,
        any_value(ridge_intensity) AS ridge_intensity,
        median(achieved_bytes_per_s / peak_bytes_per_s) * 100 AS bandwidth_reached_percent,
        median(achieved_flops_per_s / peak_flops_per_s) * 100 AS matrix_rate_reached_percent,
        any_value(peak_bytes_provenance) AS peak_bytes_provenance,
        any_value(peak_flops_provenance) AS peak_flops_provenance
    FROM roofline
    GROUP BY run_id, phase
),
counted AS (
    SELECT
        run_id, phase,
        max(mean_percent) FILTER (resource = 'memory') AS memory_counter_percent,
        max(mean_percent) FILTER (resource = 'compute') AS compute_counter_percent,
        arg_max(track, mean_percent) FILTER (resource = 'memory') AS memory_counter,
        arg_max(track, mean_percent) FILTER (resource = 'compute') AS compute_counter,
        min(samples) AS counter_samples
    FROM phase_counters
    ANTI JOIN (SELECT run_id, pass, rank FROM metal_trust WHERE verdict = 'not established') t USING (run_id, pass, rank)
    WHERE samples >= 5
    GROUP BY run_id, phase
)
SELECT
    run_id, phase, memory_counter_percent, compute_counter_percent, memory_counter, compute_counter, counter_samples, bound,
    intensity, ridge_intensity, bandwidth_reached_percent, matrix_rate_reached_percent, peak_bytes_provenance,
    peak_flops_provenance
FROM (SELECT DISTINCT run_id, phase FROM phases)
LEFT JOIN shape USING (run_id, phase)
LEFT JOIN counted USING (run_id, phase);
COMMENT ON VIEW phase_limiters IS 'What may limit a phase: its shape beside hardware counters. Claims say memory-bound or compute-bound only where both agree.';
COMMENT ON COLUMN phase_limiters.run_id IS 'Run.';
COMMENT ON COLUMN phase_limiters.phase IS 'Phase.';
COMMENT ON COLUMN phase_limiters.memory_counter_percent IS 'Mean of the busiest counter of memory over the phase, per cent of its peak; NULL without counters of 5 samples or more.';
COMMENT ON COLUMN phase_limiters.compute_counter_percent IS 'The same of arithmetic.';
COMMENT ON COLUMN phase_limiters.memory_counter IS 'Name of that counter of memory.';
COMMENT ON COLUMN phase_limiters.compute_counter IS 'Name of that counter of arithmetic.';
COMMENT ON COLUMN phase_limiters.counter_samples IS 'Samples of the counter that has the fewest.';
COMMENT ON COLUMN phase_limiters.bound IS 'memory or compute, what the roofline says of every step of the phase; NULL where it does not say or the steps differ.';
COMMENT ON COLUMN phase_limiters.intensity IS 'Operations for each byte, the median of the steps.';
COMMENT ON COLUMN phase_limiters.ridge_intensity IS 'Operations for each byte from which on arithmetic is the limit of this machine.';
COMMENT ON COLUMN phase_limiters.bandwidth_reached_percent IS 'Bytes a second that the clean times come to, per cent of the peak: the median of the steps.';
COMMENT ON COLUMN phase_limiters.matrix_rate_reached_percent IS 'Operations a second that the clean times come to, per cent of the peak: the median of the steps.';
COMMENT ON COLUMN phase_limiters.peak_bytes_provenance IS 'How the peak of memory bandwidth is known.';
COMMENT ON COLUMN phase_limiters.peak_flops_provenance IS 'How the peak of the matrix rate is known.';
