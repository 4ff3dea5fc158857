-- Clean generations: one prefill and its decode steps make one; the medians are over the repeats.
WITH generations AS (
    SELECT
        repeat,
        sum(dur_ns) AS total_ns,
        sum(dur_ns) FILTER (phase = 'prefill') AS prefill_ns,
        sum(dur_ns) FILTER (phase = 'decode') AS decode_ns,
        count(*) FILTER (phase = 'decode') AS decode_steps
    FROM phases
    WHERE run_id = $run_id AND pass = 'clean'
    GROUP BY repeat
    HAVING count(*) FILTER (phase = 'prefill') = 1
)
SELECT
    count(*) AS generations,
    median(total_ns) AS total_ns,
    median(prefill_ns) AS prefill_ns,
    median(decode_ns) AS decode_ns,
    max(decode_steps) AS decode_steps,
    median(prefill_ns / total_ns) AS prefill_share
FROM generations
