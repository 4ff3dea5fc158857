-- Names that may mark a phase: of annotations, and of slices that no PyTorch profiler calls an operator or runtime call.
SELECT DISTINCT rank, name
FROM ops
WHERE run_id = $run_id AND pass = $pass
    AND (
        layer = 'annotation'
        OR (
            layer = 'operator'
            AND lower(coalesce(category, '')) NOT IN (
                'cpu_op', 'operator', 'runtime', 'cuda_runtime', 'cuda_driver', 'privateuse1_runtime', 'privateuse1_driver',
                'xpu_runtime', 'xpu_driver', 'mtia_runtime', 'node'
            )
        )
    )
