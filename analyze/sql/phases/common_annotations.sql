SELECT name, count(*) AS times
FROM ops
WHERE run_id = $run_id AND pass = $pass AND rank = $rank AND layer = 'annotation'
GROUP BY name
ORDER BY times DESC, name
LIMIT 10
