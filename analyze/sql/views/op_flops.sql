-- Floating point operations of the matrix products that the trace shows: the profiler's own count where the event has one, else by
-- the profiler's formulas (torch/csrc/profiler/util.cpp, computeFlops) from the recorded shapes: 2 m n k, times the batch.
CREATE VIEW op_flops AS
-- A trace has few different shapes: each is read once.
WITH products AS (
    SELECT
        run_id, pass, rank, op_id, name, repeat, phase, step, shapes,
        CASE WHEN contains(args, '"flops"') THEN TRY_CAST(TRY(json_extract_string(args, '$.flops')) AS DOUBLE) END AS counted
    FROM ops
    WHERE layer = 'operator' AND name IN ('aten::mm', 'aten::addmm', 'aten::bmm', 'aten::baddbmm')
),
shaped AS (
    SELECT
        run_id, name, shapes, TRY_CAST(shapes AS JSON) AS dims,
        CASE name WHEN 'aten::addmm' THEN 1 WHEN 'aten::baddbmm' THEN 1 ELSE 0 END AS place
    FROM (
        SELECT DISTINCT run_id, name, shapes
        FROM ops
        WHERE layer = 'operator' AND name IN ('aten::mm', 'aten::addmm', 'aten::bmm', 'aten::baddbmm')
    )
),
sized AS (
    SELECT
        run_id, name, shapes,
        TRY_CAST(json_extract(dims, '$[' || place || ']') AS BIGINT[]) AS a,
        TRY_CAST(json_extract(dims, '$[' || (place + 1) || ']') AS BIGINT[]) AS b
    FROM shaped
)
SELECT
    p.run_id, p.pass, p.rank, p.op_id, p.name, p.repeat, p.phase, p.step,
    coalesce(p.counted, CASE
        WHEN len(a) = 2 AND len(b) = 2 AND a[2] = b[1] THEN 2::DOUBLE * a[1] * a[2] * b[2]
        WHEN len(a) = 3 AND len(b) = 3 AND a[3] = b[2] THEN 2::DOUBLE * a[1] * a[2] * a[3] * b[3]
    END) AS flops,
    CASE WHEN p.counted IS NOT NULL THEN 'measured' WHEN a IS NOT NULL AND b IS NOT NULL THEN 'derived' END AS provenance
FROM products p
JOIN sized s ON s.run_id = p.run_id AND s.name = p.name AND s.shapes IS NOT DISTINCT FROM p.shapes;
COMMENT ON VIEW op_flops IS 'Floating point operations of each matrix product in the trace.';
COMMENT ON COLUMN op_flops.run_id IS 'Run.';
COMMENT ON COLUMN op_flops.pass IS 'Pass.';
COMMENT ON COLUMN op_flops.rank IS 'Rank.';
COMMENT ON COLUMN op_flops.op_id IS 'Operator (ops.op_id).';
COMMENT ON COLUMN op_flops.name IS 'aten::mm, aten::addmm, aten::bmm or aten::baddbmm.';
COMMENT ON COLUMN op_flops.repeat IS 'Repeat of its phase.';
COMMENT ON COLUMN op_flops.phase IS 'Phase in which it starts.';
COMMENT ON COLUMN op_flops.step IS 'Step of that phase.';
COMMENT ON COLUMN op_flops.flops IS 'Operations, a multiply-add being two; NULL where the trace has neither a count nor shapes.';
COMMENT ON COLUMN op_flops.provenance IS 'measured (the event has the profiler''s count) or derived (from its shapes, by the profiler''s formula).';
