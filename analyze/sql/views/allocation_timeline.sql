CREATE VIEW allocation_timeline AS
WITH read AS (
    SELECT
        run_id, pass, rank, t_ns,
        TRY(json_extract_string(args, ['$.Bytes', '$."Total Allocated"', '$."Total Reserved"', '$."Device Type"', '$."Device Id"', '$."Ev Idx"'])) AS a
    FROM instants
    WHERE name = '[memory]' AND t_ns IS NOT NULL
),
typed AS (
    SELECT
        run_id, pass, rank, t_ns,
        TRY_CAST(a[1] AS BIGINT) AS change_bytes,
        TRY_CAST(a[2] AS BIGINT) AS allocated_bytes,
        TRY_CAST(a[3] AS BIGINT) AS reserved_bytes,
        -- numbers of c10::DeviceType (torch/headeronly/core/DeviceType.h)
        CASE a[4] WHEN '0' THEN 'cpu' WHEN '1' THEN 'cuda' WHEN '6' THEN 'hip' WHEN '12' THEN 'xpu' WHEN '13' THEN 'mps' ELSE 'type ' || coalesce(a[4], '?') END
            || if(TRY_CAST(a[5] AS BIGINT) >= 0, ':' || a[5], '') AS device,
        TRY_CAST(a[6] AS BIGINT) AS event_number
    FROM read
)
SELECT
    a.run_id, a.pass, a.rank, a.device, a.t_ns, a.change_bytes,
    sum(a.change_bytes) OVER (PARTITION BY a.run_id, a.pass, a.rank, a.device ORDER BY a.t_ns, a.event_number ROWS UNBOUNDED PRECEDING)::BIGINT
        AS since_start_bytes,
    a.allocated_bytes,
    CASE WHEN a.device NOT LIKE 'cpu%' THEN a.reserved_bytes END AS reserved_bytes,
    a.event_number,
    if(p.start_ns + p.dur_ns > a.t_ns, p.repeat, NULL) AS repeat,
    if(p.start_ns + p.dur_ns > a.t_ns, p.phase, NULL) AS phase,
    if(p.start_ns + p.dur_ns > a.t_ns, p.step, NULL) AS step
FROM typed a
ASOF LEFT JOIN (SELECT * FROM phases WHERE start_ns IS NOT NULL) p
    ON a.run_id = p.run_id AND a.pass = p.pass AND a.rank = p.rank AND a.t_ns >= p.start_ns;
COMMENT ON VIEW allocation_timeline IS 'Allocations and releases that PyTorch''s profiler recorded, on the same clock as samples of the same pass.';
COMMENT ON COLUMN allocation_timeline.run_id IS 'Run.';
COMMENT ON COLUMN allocation_timeline.pass IS 'Pass.';
COMMENT ON COLUMN allocation_timeline.rank IS 'Rank.';
COMMENT ON COLUMN allocation_timeline.device IS 'Device whose memory it is: cpu, cuda:N, mps:N, ...';
COMMENT ON COLUMN allocation_timeline.t_ns IS 'Time, from the beginning of the pass.';
COMMENT ON COLUMN allocation_timeline.change_bytes IS 'Bytes allocated; negative for released ones.';
COMMENT ON COLUMN allocation_timeline.since_start_bytes IS 'Sum of the changes since the trace began: what the trace added to memory.';
COMMENT ON COLUMN allocation_timeline.allocated_bytes IS 'Bytes in tensors on the device after it, as the profiler states it; on cpu PyTorch counts from where the profiler began.';
COMMENT ON COLUMN allocation_timeline.reserved_bytes IS 'Bytes that the allocator holds on the device; NULL on cpu, which reserves none.';
COMMENT ON COLUMN allocation_timeline.event_number IS 'PyTorch''s number of the event (Ev Idx), which orders those of one instant.';
COMMENT ON COLUMN allocation_timeline.repeat IS 'Repeat of the phase, by time; NULL outside every phase.';
COMMENT ON COLUMN allocation_timeline.phase IS 'Phase in which it happened, by time; NULL outside every phase.';
COMMENT ON COLUMN allocation_timeline.step IS 'Step of that phase.';
