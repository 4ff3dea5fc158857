-- Energy of the Neural Engine while the model generates, against an idle machine (pass energy; 1 mJ a second is 1 mW).
SELECT
    any_value(energy_mj * 1e9 / dur_ns) FILTER (counter = 'ane' AND work = 'generation') AS generation_ane_mw,
    any_value(energy_mj * 1e9 / dur_ns) FILTER (counter = 'ane' AND work = 'prefill') AS prefill_ane_mw,
    any_value(energy_mj * 1e9 / dur_ns) FILTER (counter = 'ane' AND work = 'idle') AS idle_ane_mw,
    any_value(energy_mj * 1e9 / dur_ns) FILTER (counter = 'gpu' AND work = 'generation') AS generation_gpu_mw,
    any_value(dur_ns / 1e9) FILTER (counter = 'gpu' AND work = 'generation') AS generation_s
FROM energy
WHERE run_id = $run_id AND NOT derived
