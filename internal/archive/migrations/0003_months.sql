-- The month in which a period lies, such as 2026-03: for a week that of its Thursday, for a quarter
-- its first.
CREATE FUNCTION month_of(period text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT CASE substr(period, 6, 1)
		WHEN 'W' THEN to_char(to_date(left(period, 4) || substr(period, 7, 2) || '4', 'IYYYIWID'), 'YYYY-MM')
		WHEN 'Q' THEN left(period, 5) || lpad((substr(period, 7, 1)::integer * 3 - 2)::text, 2, '0')
		ELSE left(period, 7)
	END
$$;

CREATE OR REPLACE VIEW sla_compliance AS
SELECT pipeline, month, count(*) AS runs,
	count(*) FILTER (WHERE NOT breached) AS met,
	count(*) FILTER (WHERE breached) AS breached,
	round(100.0 * count(*) FILTER (WHERE NOT breached) / count(*), 2) AS met_percent
FROM (
	SELECT pipeline, month_of(period) AS month, schedule, period, bool_or(type <> 'SLA_MET') AS breached
	FROM events WHERE type IN ('SLA_MET', 'SLA_BREACH', 'RELATIVE_SLA_BREACH')
	GROUP BY pipeline, schedule, period
) AS told
GROUP BY pipeline, month;

CREATE OR REPLACE VIEW duration_percentiles AS
SELECT pipeline, month_of(period) AS month, count(*) AS jobs,
	percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) AS p50,
	percentile_cont(0.9) WITHIN GROUP (ORDER BY seconds) AS p90,
	percentile_cont(0.95) WITHIN GROUP (ORDER BY seconds) AS p95,
	percentile_cont(0.99) WITHIN GROUP (ORDER BY seconds) AS p99,
	max(seconds) AS longest
FROM job_durations WHERE result = 'success'
GROUP BY pipeline, month_of(period);
