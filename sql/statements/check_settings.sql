-- Settings under which statements are prepared and explained, as in the
-- generated functions.  $1: search path.
SELECT set_config(s.name, s.value, false)
  FROM (VALUES
    ('search_path', $1::text),
    ('standard_conforming_strings', 'on'),
    ('plan_cache_mode', 'force_generic_plan'),
    ('enable_seqscan', 'off'),
    ('enable_bitmapscan', 'off'),
    ('enable_sort', 'off'),
    ('jit', 'off')
  ) AS s(name, value)
