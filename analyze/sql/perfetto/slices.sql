-- Trace processor's slices with what they are drawn on (run inside trace processor). A GPU slice is one whose track
-- is a GPU's: render stages that PyTorch 2.15 writes for kernels.
SELECT
    s.id AS id, s.ts AS ts, s.dur AS dur, coalesce(s.category, '') AS category, coalesce(s.name, '') AS name,
    coalesce(s.arg_set_id, -1) AS arg_set_id, t.type AS track_type, coalesce(t.name, '') AS track_name, s.track_id AS track_id,
    th.tid AS tid, coalesce(th.name, '') AS thread_name, coalesce(p.pid, pp.pid) AS pid,
    coalesce(p.name, pp.name, '') AS process_name, g.id IS NOT NULL AS on_gpu, g.hw_queue_id AS hw_queue_id,
    coalesce(extract_arg(t.dimension_arg_set_id, 'gpu'), extract_arg(t.dimension_arg_set_id, 'ugpu'), 0) AS gpu
FROM slice s
JOIN track t ON t.id = s.track_id
LEFT JOIN thread_track tt ON tt.id = s.track_id
LEFT JOIN thread th ON th.utid = tt.utid
LEFT JOIN process p ON p.upid = th.upid
LEFT JOIN process_track pt ON pt.id = s.track_id
LEFT JOIN process pp ON pp.upid = pt.upid
LEFT JOIN gpu_slice g ON g.id = s.id
ORDER BY s.id
