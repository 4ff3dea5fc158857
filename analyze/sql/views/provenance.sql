-- One word for how each number of the store came to be. Tables hold what was recorded, views and the tables of schema_derived.sql what
-- was computed from it; the columns that are neither are named here. Tables and columns whose provenance is in a column of their own are `stated`.
CREATE VIEW provenance AS
WITH stated (relation, "column", provenance) AS (
    VALUES
        ('machine_peaks', 'value', 'stated'), ('run_peaks', 'value', 'stated'), ('roofline_terms', 'value', 'stated'),
        ('claims', 'numbers', 'stated'), ('op_flops', 'flops', 'stated'), ('roofline', 'trace_flops', 'stated'),
        ('roofline', 'peak_bytes_per_s', 'stated'), ('roofline', 'peak_flops_per_s', 'stated'),
        ('ops', 'self_ns', 'derived'), ('ops', 'depth', 'derived'), ('kernels', 'launch_delay_ns', 'derived'),
        ('kv_expected', 'computed_bytes', 'derived'), ('samples', 'process_cpu_percent', 'derived'),
        ('phase_breakdown', 'wall_ns', 'measured'), ('phase_threads', 'dur_ns', 'measured'), ('time_budget', 'wall_ns', 'measured'),
        ('step_latency', 'min_ns', 'measured'), ('step_latency', 'max_ns', 'measured'),
        ('memory_timeline', 'bytes', 'measured'), ('kv_check', 'measured_bytes', 'measured'),
        ('allocation_timeline', 'change_bytes', 'measured'), ('allocation_timeline', 'allocated_bytes', 'measured'),
        ('allocation_timeline', 'reserved_bytes', 'measured'), ('decode_outliers', 'dur_ns', 'measured'),
        ('decode_outliers', 'cpu_ns', 'measured'), ('metal_bursts', 'wall_ns', 'measured'), ('metal_host', 'wall_ns', 'measured')
),
numbers AS (
    SELECT c.table_name AS relation, c.column_name AS "column",
        v.view_name IS NOT NULL OR c.table_name IN (
            'device_extent', 'phase_threads', 'phase_breakdown', 'time_budget', 'device_idle', 'kernel_summary',
            'step_audit'
        ) AS is_computed
    FROM duckdb_columns() c
    LEFT JOIN (
        -- a lake's tables are views on files
        SELECT view_name FROM duckdb_views() WHERE NOT internal AND NOT contains(sql, 'read_parquet(')
    ) v ON v.view_name = c.table_name
    WHERE NOT c.internal
        AND (c.data_type IN ('TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'HUGEINT', 'FLOAT', 'DOUBLE')
            OR c.data_type LIKE 'DECIMAL%' OR (c.table_name = 'claims' AND c.column_name = 'numbers'))
)
SELECT
    n.relation, n."column",
    coalesce(s.provenance, if(n.is_computed, 'derived', 'measured')) AS provenance
FROM numbers n
LEFT JOIN stated s USING (relation, "column")
-- numbers that name or order things
WHERE NOT regexp_full_match(n."column", '(rank|repeat|step|place|priority|pid|gpu_cores|event_number|\w+_id|\w*_number)');
COMMENT ON VIEW provenance IS 'How each number of the store came to be, one row a column.';
COMMENT ON COLUMN provenance.relation IS 'Table or view.';
COMMENT ON COLUMN provenance.column IS 'Column.';
COMMENT ON COLUMN provenance.provenance IS 'measured (recorded from the run or said by its trace), derived (computed from such), or stated: a column beside it says measured, derived, published or estimated row by row.';
