-- Share of the wall time in which work ran: on the device where its rows are attributed, else in operators when the CPU is the device.
-- The call of prefill with the lowest share against the 95th percentile of the decode steps.
-- Rows of a recording that failed one of its gates (metal_trust) are left out.
WITH shares AS (
    SELECT
        b.pass, b.phase,
        if(b.device_idle_ns IS NOT NULL, 'device rows', 'operators') AS basis,
        if(b.device_idle_ns IS NOT NULL, b.wall_ns - b.device_idle_ns, b.operator_ns) / b.wall_ns AS share
    FROM phase_breakdown b
    JOIN runs r USING (run_id)
    LEFT JOIN device_extent e USING (run_id, pass, rank, repeat, phase, step)
    ANTI JOIN (SELECT run_id, pass, rank FROM metal_trust WHERE run_id = $run_id AND verdict = 'not established') t USING (run_id, pass, rank)
    WHERE b.run_id = $run_id AND b.phase IN ('prefill', 'decode') AND b.wall_ns > 0
        AND ((b.device_idle_ns IS NOT NULL AND e.synchronised) OR (r.device = 'cpu' AND b.operator_ns IS NOT NULL))
),
by_basis AS (
    SELECT
        basis, pass,
        median(share) FILTER (phase = 'prefill') AS prefill_busy_share,
        median(share) FILTER (phase = 'decode') AS decode_busy_share,
        quantile_cont(share, 0.05) FILTER (phase = 'decode') AS decode_p5_share,
        quantile_cont(share, 0.95) FILTER (phase = 'decode') AS decode_p95_share,
        count(*) FILTER (phase = 'prefill') AS prefill_calls,
        count(*) FILTER (phase = 'decode') AS decode_steps,
        min(share) FILTER (phase = 'prefill') AS prefill_lowest_share,
        max(share) FILTER (phase = 'prefill') AS prefill_highest_share
    FROM shares
    GROUP BY ALL
)
SELECT * FROM by_basis
WHERE prefill_calls > 0 AND decode_steps > 0
ORDER BY basis, pass = 'metal' DESC, pass
LIMIT 1
