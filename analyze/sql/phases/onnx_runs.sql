-- ONNX Runtime: a model_run for each forward, and the first [batch, tokens] input of integers among its nodes.
WITH forwards AS (
    SELECT op_id, rank, thread_id, start_ns, start_ns + dur_ns AS end_ns
    FROM ops
    WHERE run_id = $run_id AND pass = $pass AND name = 'model_run' AND layer = 'operator'
),
inputs AS (
    SELECT
        rank, start_ns,
        regexp_extract(args, '"int64"\s*:\s*\[\s*(\d{1,9})\s*,\s*(\d{1,9})\s*\]', ['batch', 'tokens']) AS shape
    FROM ops
    WHERE run_id = $run_id AND pass = $pass AND suffix(name, '_kernel_time') AND contains(args, 'input_type_shape')
),
first_inputs AS (
    SELECT f.op_id, arg_min(i.shape, i.start_ns) AS shape
    FROM inputs i
    ASOF JOIN forwards f ON i.rank = f.rank AND i.start_ns >= f.start_ns
    WHERE i.shape.batch <> '' AND i.start_ns < f.end_ns
    GROUP BY f.op_id
)
SELECT f.rank, f.thread_id, f.start_ns, f.end_ns, s.shape.batch::BIGINT AS batch, s.shape.tokens::BIGINT AS tokens
FROM forwards f
LEFT JOIN first_inputs s USING (op_id)
ORDER BY f.rank, f.start_ns
