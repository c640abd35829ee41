package evaluator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/probe"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
)

// maxMessage is the maximum size of what the database sends at once, such as a row. It is above the
// limit of an answer, because a value may be shorter as JSON, and keeps a huge row out of memory.
const maxMessage = 4 * probe.MaxAnswer

// query queries a database: the columns of the single row become the fields. The connection string
// comes from a variable that the operator allows in secrets.env; it is removed from everything that
// is reported. No row is the answer Unknown.
func (a *asking) query(ctx context.Context, c *pipeline.SQLConfig) (probe.Answer, error) {
	config, err := pgconn.ParseConfig(a.dsn)
	if err != nil {
		return probe.Answer{}, failure(run.Permanent, "dsnEnv: %s does not hold a connection string; write postgres://user:password@host:5432/database", c.DSNEnv)
	}
	config.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		f := pgproto3.NewFrontend(r, w)
		f.SetMaxBodyLen(maxMessage)
		return f
	}
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return probe.Answer{}, failure(run.Transient, "connect to Postgres: %s", reasonOf(ctx, err))
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(closing) // the result is already known
	}()
	limit := a.probe.Timeout
	if c.Timeout != nil {
		limit = c.Timeout.D()
	}
	// Everything is local to the transaction, so that a connection pooler may reuse the connection.
	begin := fmt.Sprintf("BEGIN READ ONLY; SET LOCAL statement_timeout = %d; SET LOCAL TIME ZONE 'UTC'; SET LOCAL datestyle = 'ISO, YMD'", max(limit.Milliseconds(), 1))
	if _, err := conn.Exec(ctx, begin).ReadAll(); err != nil {
		return probe.Answer{}, failure(run.Transient, "begin a read-only transaction: %s", reasonOf(ctx, err))
	}
	return a.readRow(ctx, conn, c, limit)
}

// readRow runs the query and reads its only row.
func (a *asking) readRow(ctx context.Context, conn *pgconn.PgConn, c *pipeline.SQLConfig, limit time.Duration) (probe.Answer, error) {
	rows := conn.ExecParams(ctx, c.Query, nil, nil, nil, nil)
	if err := checkColumns(rows.FieldDescriptions()); err != nil {
		return probe.Answer{}, err
	}
	var fields sensor.Fields
	for n := 1; rows.NextRow(); n++ {
		if n > 1 {
			return probe.Answer{}, failure(run.Permanent, "the query returned more than one row; aggregate, or add LIMIT 1 with an ORDER BY")
		}
		fields = sensor.Fields{}
		for i, column := range rows.FieldDescriptions() {
			fields[column.Name] = columnValue(column.DataTypeOID, rows.Values()[i])
		}
	}
	if _, err := rows.Close(); err != nil {
		return probe.Answer{}, queryFailure(ctx, err, limit)
	}
	if fields == nil {
		return probe.Answer{Status: probe.Unknown, Value: sensor.Fields{}, Reason: "the query returned no row"}, nil
	}
	return probe.Answer{Status: probe.Pass, Value: fields}, nil
}

// checkColumns returns a failure if two columns have one name, or if one has the name of a field
// that the answer has itself. It needs no row, so a wrong query is reported before its first row.
func checkColumns(columns []pgconn.FieldDescription) error {
	names := map[string]bool{}
	for _, column := range columns {
		switch {
		case probe.Reserved(column.Name):
			return failure(run.Permanent, "the query returned a column named %q, which is a field of every probe's reading; give it another name with AS", column.Name)
		case names[column.Name]:
			return failure(run.Permanent, "the query returned two columns named %q; give each a name with AS", column.Name)
		}
		names[column.Name] = true
	}
	return nil
}

func queryFailure(ctx context.Context, err error, limit time.Duration) error {
	if large, ok := errors.AsType[*pgproto3.ExceededMaxBodyLenErr](err); ok {
		return failure(run.Permanent, "the query returned a row of %d bytes; at most %d are allowed", large.ActualBodyLen, probe.MaxAnswer)
	}
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch {
		case pgErr.Code == "57014":
			return failure(run.Timeout, "the query was cancelled after its timeout of %s", document.Duration(limit))
		case pgErr.Code == "25006":
			return failure(run.Permanent, "the query writes, but probes may only read: %s", pgErr.Message)
		case strings.HasPrefix(pgErr.Code, "42"):
			return failure(run.Permanent, "the query is invalid: %s", pgErr.Message)
		}
	}
	return failure(run.Transient, "the query failed: %s", reasonOf(ctx, err))
}

// reasonOf returns why a call failed. The library's error for a failed connection names host, user
// and database, but no password; secrets are removed later anyway.
func reasonOf(ctx context.Context, err error) string {
	if ctx.Err() != nil {
		return "no answer within the timeout"
	}
	return err.Error()
}

// The Postgres type numbers of columns that are not shown as text.
const (
	boolType, int8Type, int2Type, int4Type      = 16, 20, 21, 23
	float4Type, float8Type, numericType         = 700, 701, 1700
	jsonType, jsonbType, timestamptz, timestamp = 114, 3802, 1184, 1114
)

// columnValue converts a column, which Postgres sends as text.
func columnValue(oid uint32, text []byte) any {
	if text == nil {
		return nil
	}
	switch oid {
	case boolType:
		return string(text) == "t"
	case int2Type, int4Type, int8Type, numericType, float4Type, float8Type:
		if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
			return n
		}
		if f, err := strconv.ParseFloat(string(text), 64); err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f
		}
	case jsonType, jsonbType:
		var v any
		d := json.NewDecoder(strings.NewReader(string(text)))
		d.UseNumber()
		if d.Decode(&v) == nil {
			if normal, err := sensor.Normalize(v); err == nil {
				return normal
			}
		}
	case timestamptz:
		if at, err := time.Parse("2006-01-02 15:04:05.999999999-07", string(text)); err == nil {
			return period.Exact(at)
		}
	case timestamp:
		return strings.Replace(string(text), " ", "T", 1)
	}
	return string(text)
}
