-- The questions people ask.

-- How many runs of a month met their deadline. A run whose deadline was breached counts as
-- breached, even if it completed later; one whose deadline was cancelled does not count.
CREATE VIEW sla_compliance AS
SELECT pipeline, month, count(*) AS runs,
	count(*) FILTER (WHERE NOT breached) AS met,
	count(*) FILTER (WHERE breached) AS breached,
	round(100.0 * count(*) FILTER (WHERE NOT breached) / count(*), 2) AS met_percent
FROM (
	SELECT pipeline, left(period, 7) AS month, schedule, period, bool_or(type <> 'SLA_MET') AS breached
	FROM events WHERE type IN ('SLA_MET', 'SLA_BREACH', 'RELATIVE_SLA_BREACH')
	GROUP BY pipeline, schedule, period
) AS told
GROUP BY pipeline, month;

-- How long each job ran, from its start to its result.
CREATE VIEW job_durations AS
SELECT e.pipeline, e.schedule, e.period, e.attempt, s.at AS started_at, e.at AS ended_at, e.event AS result,
	extract(epoch FROM e.at - s.at)::double precision AS seconds
FROM run_logs e
CROSS JOIN LATERAL (
	SELECT max(s.at) AS at FROM run_logs s
	WHERE s.pipeline = e.pipeline AND s.schedule = e.schedule AND s.period = e.period AND s.attempt = e.attempt
		AND s.event = 'started' AND s.at <= e.at
) AS s
WHERE e.event IN ('success', 'fail', 'timeout') AND s.at IS NOT NULL;

-- How long the successful jobs of a month ran, in seconds.
CREATE VIEW duration_percentiles AS
SELECT pipeline, left(period, 7) AS month, count(*) AS jobs,
	percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) AS p50,
	percentile_cont(0.9) WITHIN GROUP (ORDER BY seconds) AS p90,
	percentile_cont(0.95) WITHIN GROUP (ORDER BY seconds) AS p95,
	percentile_cont(0.99) WITHIN GROUP (ORDER BY seconds) AS p99,
	max(seconds) AS longest
FROM job_durations WHERE result = 'success'
GROUP BY pipeline, left(period, 7);

-- What each period took: attempts, jobs that were started, those that failed, and reruns that
-- people asked for.
CREATE VIEW attempts_per_period AS
SELECT r.pipeline, r.schedule, r.period, r.status, r.attempt AS attempts,
	coalesce(l.started, 0) AS jobs_started, coalesce(l.failed, 0) AS jobs_failed, coalesce(q.accepted, 0) AS reruns_accepted,
	r.opened_at, r.ended_at
FROM runs r
LEFT JOIN (
	SELECT pipeline, schedule, period, count(*) FILTER (WHERE event = 'started') AS started,
		count(*) FILTER (WHERE event IN ('fail', 'timeout')) AS failed
	FROM run_logs GROUP BY pipeline, schedule, period
) AS l USING (pipeline, schedule, period)
LEFT JOIN (
	SELECT pipeline, schedule, period, count(*) FILTER (WHERE accepted) AS accepted
	FROM reruns GROUP BY pipeline, schedule, period
) AS q USING (pipeline, schedule, period);
