-- Arrows between slices (run inside trace processor).
SELECT f.id AS id, f.slice_out AS slice_out, f.slice_in AS slice_in FROM flow f ORDER BY f.id
