-- Device rows by name; busy time is the union of their intervals on a device. `family` goes by the name alone.
SELECT
    coalesce(phase, 'outside') AS phase, name, kind,
    CASE
        WHEN kind IN ('memcpy', 'memset') THEN 'copies and sets'
        WHEN regexp_matches(lower(name), 'flash|fmha|attn|attention|paged_?kv') THEN 'attention'
        WHEN regexp_matches(lower(name), 'gemm|gemv|cijk_|cublas|cutlass|matmul|_mm_|ck_tile.*gemm|splitk|xmma|nvjet') THEN 'matrix products'
        WHEN regexp_matches(lower(name), 'nccl|rccl|allreduce|all_reduce|allgather|reducescatter') THEN 'communication'
        WHEN regexp_matches(lower(name), 'norm|reduce|softmax|mean|topk|sort|argmax|scan') THEN 'reductions'
        WHEN regexp_matches(lower(name), 'copy|catarray|index|gather|scatter|transpose|embedding') THEN 'moves of data'
        WHEN regexp_matches(lower(name), 'elementwise|pointwise|silu|gelu|act_and_mul|rotary|rope|fill|triton_poi') THEN 'element by element'
        ELSE 'other'
    END AS family,
    sum(calls)::BIGINT AS calls,
    sum(busy_ns)::BIGINT AS ns
FROM kernel_summary
WHERE run_id = $run_id AND pass = $pass
GROUP BY ALL
ORDER BY ns DESC, name
