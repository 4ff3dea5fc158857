-- Copies between host and device, from rows of the device's copy engines and from PyTorch's copy signposts (mps).
WITH rows AS (
    SELECT
        phase, bytes, dur_ns,
        regexp_matches(name, '(?i)htod|host ?to ?device|host *-> *device') AS to_device,
        regexp_matches(name, '(?i)dtoh|device ?to ?host|device *-> *host') AS to_host
    FROM kernels
    WHERE run_id = $run_id AND kind = 'memcpy'
),
copied AS (
    SELECT
        count(*) FILTER (to_device OR to_host) AS copies,
        count(*) FILTER (NOT (to_device OR to_host)) AS other_copies,
        count(*) FILTER ((to_device OR to_host) AND phase = 'prefill') AS prefill_copies,
        count(*) FILTER ((to_device OR to_host) AND phase = 'decode') AS decode_copies,
        sum(bytes) FILTER ((to_device OR to_host) AND phase = 'prefill')::BIGINT AS prefill_copied_bytes,
        sum(bytes) FILTER ((to_device OR to_host) AND phase = 'decode')::BIGINT AS decode_copied_bytes,
        sum(bytes) FILTER (to_device)::BIGINT AS to_device_bytes,
        sum(bytes) FILTER (to_host)::BIGINT AS to_host_bytes
    FROM rows
)
SELECT
    r.device,
    (SELECT count(*) FROM kernels WHERE run_id = $run_id AND kind IN ('kernel', 'memcpy', 'memset')) AS device_rows,
    c.*,
    (SELECT count(*) FROM signposts WHERE run_id = $run_id AND name LIKE 'PyTorchOperation%') AS operation_signposts,
    (SELECT count(*) FROM signposts WHERE run_id = $run_id AND name LIKE 'PyTorchCopy%') AS copy_signposts
FROM copied c
JOIN runs r ON r.run_id = $run_id
