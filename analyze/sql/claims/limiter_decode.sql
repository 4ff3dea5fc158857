-- What the shape of decode says (roofline) beside what hardware counters say, in per cent of the peaks.
-- Rows of a recording that failed one of its gates (metal_trust) are left out.
WITH shape AS (
    SELECT
        if(count(DISTINCT bound) = 1, any_value(bound), NULL) AS bound,
        median(intensity) AS intensity,
        any_value(ridge_intensity) AS ridge_intensity,
        median(achieved_bytes_per_s / peak_bytes_per_s) * 100 AS bandwidth_reached_percent,
        median(achieved_flops_per_s / peak_flops_per_s) * 100 AS matrix_rate_reached_percent,
        any_value(peak_bytes_provenance) AS peak_bytes_provenance,
        any_value(peak_flops_provenance) AS peak_flops_provenance
    FROM roofline
    WHERE run_id = $run_id AND phase = 'decode'
),
counted AS (
    SELECT
        max(mean_percent) FILTER (resource = 'memory') AS memory_counter_percent,
        max(mean_percent) FILTER (resource = 'compute') AS compute_counter_percent,
        arg_max(track, mean_percent) FILTER (resource = 'memory') AS memory_counter,
        arg_max(track, mean_percent) FILTER (resource = 'compute') AS compute_counter,
        min(samples) AS counter_samples
    FROM phase_counters
    ANTI JOIN (SELECT run_id, pass, rank FROM metal_trust WHERE run_id = $run_id AND verdict = 'not established') t USING (run_id, pass, rank)
    WHERE run_id = $run_id AND phase = 'decode' AND samples >= 5
)
SELECT counted.*, shape.* FROM shape, counted
