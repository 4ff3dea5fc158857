-- Energy of the Neural Engine while the model generates, against an idle machine (pass energy; 1 mJ a second is 1 mW).
WITH windows AS (
    SELECT
        w->>'name' AS name,
        TRY_CAST(w->>'$.energy_mj.ane_mj' AS DOUBLE) AS ane_mj,
        TRY_CAST(w->>'$.energy_mj.gpu_mj' AS DOUBLE) AS gpu_mj,
        TRY_CAST(w->>'dur_ns' AS DOUBLE) / 1e9 AS seconds
    FROM passes, LATERAL (SELECT unnest(CAST(detail->'windows' AS JSON[])) AS w) u
    WHERE run_id = $run_id AND pass = 'energy' AND status = 'measured'
)
SELECT
    any_value(ane_mj / seconds) FILTER (name = 'generation') AS generation_ane_mw,
    any_value(ane_mj / seconds) FILTER (name = 'prefill') AS prefill_ane_mw,
    any_value(ane_mj / seconds) FILTER (name = 'idle') AS idle_ane_mw,
    any_value(gpu_mj / seconds) FILTER (name = 'generation') AS generation_gpu_mw,
    any_value(seconds) FILTER (name = 'generation') AS generation_s
FROM windows
