-- How device work was attributed to the phase that launched it.
SELECT pass, attributed_by, sum(kernels) AS kernels, sum(device_ns) AS device_ns,
    sum(device_ns) / sum(sum(device_ns)) OVER (PARTITION BY pass) AS share
FROM coverage
WHERE run_id = $run_id
GROUP BY pass, attributed_by
ORDER BY pass, device_ns DESC
