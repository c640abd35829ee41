package evaluator_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/interlock-go/interlock/internal/archive/pgtest"
	"github.com/interlock-go/interlock/internal/evaluator"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/probe"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
)

// database makes the probe query a real Postgres with a table of orders.
func (b *bench) database(dsn, query string, more ...any) *bench {
	secrets, err := job.NewSecrets([]string{"WAREHOUSE"}, nil, func(string) (string, bool) { return dsn, true })
	if err != nil {
		b.Fatal(err)
	}
	b.evaluator = evaluator.New(evaluator.Options{Guard: b.evaluator.Guard, Secrets: secrets, Getenv: func(string) string { return "" }})
	b.request.Probe.Builtin = pipeline.SQL
	b.request.Probe.Config = map[string]any{"driver": "postgres", "dsnEnv": "WAREHOUSE", "query": query}
	for i := 0; i < len(more); i += 2 {
		b.request.Probe.Config[more[i].(string)] = more[i+1]
	}
	return b
}

func ordersDatabase(t *testing.T) string {
	t.Helper()
	dsn := pgtest.Database(t)
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `CREATE TABLE orders (day date, amount numeric, at timestamptz, done bool);
		INSERT INTO orders VALUES ('2026-03-03', 12.5, '2026-03-03 10:00:00+02', true), ('2026-03-03', 7.5, '2026-03-03 11:00:00.25+02', true), ('2026-03-04', 1, NULL, false)`); err != nil {
		t.Fatal(err)
	}
	return dsn
}

// The columns of the single row are the fields.
func TestQueryReturnsItsRow(t *testing.T) {
	dsn := ordersDatabase(t)
	got := newBench(t).database(dsn, `SELECT count(*) AS rows, sum(amount) AS total, max(at) AS newest, bool_and(done) AS complete, max(day) AS day, NULL AS nothing,
		1.5::float8 AS ratio, '{"a":[1]}'::jsonb AS detail, 'x' AS text FROM orders WHERE day = '${DATE}'`).answer()
	want := probe.Answer{Status: probe.Pass, Value: sensor.Fields{
		"rows": int64(2), "total": 20.0, "newest": "2026-03-03T09:00:00.25Z", "complete": true, "day": "2026-03-03", "nothing": nil,
		"ratio": 1.5, "detail": map[string]any{"a": []any{int64(1)}}, "text": "x",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	none := newBench(t).database(dsn, "SELECT amount FROM orders WHERE day = '2020-01-01'").answer()
	if diff := cmp.Diff(probe.Answer{Status: probe.Unknown, Value: sensor.Fields{}, Reason: "the query returned no row"}, none); diff != "" {
		t.Error(diff)
	}
}

func TestFailingQueries(t *testing.T) {
	dsn := ordersDatabase(t)
	for query, want := range map[string]probe.Failure{
		"SELECT amount FROM orders":                              {Category: run.Permanent, Reason: "more than one row"},
		"SELECT 1 AS a, 2 AS a":                                  {Category: run.Permanent, Reason: `two columns named "a"`},
		"SELECT 'FAILED' AS status":                              {Category: run.Permanent, Reason: `a column named "status", which is a field of every probe's reading; give it another name with AS`},
		"SELECT 'PASS' AS status":                                {Category: run.Permanent, Reason: `a column named "status"`},
		"SELECT 1 AS n, 'late' AS reason":                        {Category: run.Permanent, Reason: `a column named "reason"`},
		"SELECT 'late' AS status WHERE false":                    {Category: run.Permanent, Reason: `a column named "status"`},
		`SELECT NULL AS "failureCategory"`:                       {Category: run.Permanent, Reason: `a column named "failureCategory"`},
		"INSERT INTO orders VALUES ('2026-03-05') RETURNING day": {Category: run.Permanent, Reason: "the query writes, but probes may only read"},
		"SELECT nope FROM orders":                                {Category: run.Permanent, Reason: "the query is invalid: column \"nope\" does not exist"},
		"SELECT repeat('x', 65513) AS a":                         {Category: run.Permanent, Reason: "its answer makes a reading of 65537 bytes; at most 65536 are allowed"},
		"SELECT repeat('x', 1000000) AS a":                       {Category: run.Permanent, Reason: "the query returned a row of 1000006 bytes; at most 65536 are allowed"},
		"SELECT 1; SELECT 2":                                     {Category: run.Permanent, Reason: "multiple commands"},
	} {
		_, err := newBench(t).database(dsn, query).ask()
		failed, _ := err.(*probe.Failure)
		if failed == nil || failed.Category != want.Category || !strings.Contains(failed.Reason, want.Reason) {
			t.Errorf("%s: %v, want %v", query, err, want)
		}
	}
	newBench(t).database(dsn, "SELECT repeat('<', 65512) AS a").answer()
	_, err := newBench(t).database(dsn, "SELECT pg_sleep(60)", "timeout", "50ms").ask()
	if failed, _ := err.(*probe.Failure); failed == nil || failed.Category != run.Timeout || !strings.Contains(failed.Reason, "50ms") {
		t.Errorf("a slow query: %v", err)
	}
}

// The connection string is a secret, and only an operator decides which variable may hold one.
func TestConnectionStringIsASecret(t *testing.T) {
	b := newBench(t).database("postgres://etl:Zq81-hidden@127.0.0.1:1/warehouse?connect_timeout=1", "SELECT 1")
	b.request.Probe.Timeout = 5 * time.Second
	if _, err := b.ask(); err == nil || strings.Contains(err.Error(), "hidden") {
		t.Errorf("error: %v", err)
	}
	b = newBench(t).database("nonsense://Zq81-hidden", "SELECT 1")
	if _, err := b.ask(); err == nil || strings.Contains(err.Error(), "hidden") || !strings.Contains(err.Error(), "WAREHOUSE does not hold a connection string") {
		t.Errorf("error: %v", err)
	}
	b.request.Probe.Config["dsnEnv"] = "OTHER"
	if _, err := b.ask(); err == nil || !strings.Contains(err.Error(), "add OTHER to secrets.env") {
		t.Errorf("error: %v", err)
	}
}
