-- Settings of the transaction in which a part is prepared and explained, as in
-- the generated functions.  $1: search path; $2: role; $3: row security; $4:
-- the settings of the definition, a JSON object.
SELECT set_config(s.name, s.value, true)
  FROM (SELECT j.key, j.value FROM json_each_text($4::json) j
        UNION ALL VALUES
    ('search_path', $1::text),
    ('row_security', $3::text),
    ('standard_conforming_strings', 'on'),
    ('transform_null_equals', 'off'),
    ('plan_cache_mode', 'force_generic_plan'),
    ('enable_seqscan', 'off'),
    ('enable_bitmapscan', 'off'),
    ('enable_sort', 'off'),
    ('jit', 'off'),
    ('role', $2::text)
  ) AS s(name, value)
