package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/audit"
)

func newAudit(a *app) *cobra.Command {
	var q client.AuditQuery
	cmd := &cobra.Command{
		Use: "audit", Short: "List the audit record: who did what",
		Long: "List the audit record: operators' actions, logins and failed logins, changed files and tokens, the newest\n" +
			"last. It needs the role admin. As JSON the list is {items, nextCursor} with the newest first.",
		Example: "  interlock audit --since 24h\n" +
			"  interlock audit --action trigger --pipeline orders --format json",
		Args: noArguments,
	}
	addFilled(cmd, &q.Actor, "actor", "only entries of this token, certificate, user or person `NAME`")
	addFilled(cmd, &q.Action, "action", "only entries of this `ACTION`, such as trigger, pause, login or config")
	addFilled(cmd, &q.Pipeline, "pipeline", "only entries about this `PIPELINE`")
	addFilled(cmd, &q.Outcome, "outcome", "only entries with this `OUTCOME`: done, refused or failed")
	addFilled(cmd, &q.Since, "since", "only entries at or after this `TIME`: RFC 3339, a period, or a duration ago such as 2h")
	addFilled(cmd, &q.Until, "until", "only entries before this `TIME`")
	limit := addLimit(cmd, 50)
	return a.asking(cmd, func(ctx context.Context, c *connection, _ []string) error {
		l, err := read(c, limit, func(p client.Paging) (client.Page[client.AuditEntry], error) {
			q.Paging = p
			return c.Audit(ctx, q, c.raw())
		})
		if err == nil {
			_, err = none(ctx, c, l, q.Pipeline)
		}
		return showList(c, l, err, func(entries []client.AuditEntry) {
			if len(entries) == 0 {
				fmt.Fprintln(a.stdout, "No entries match.")
				return
			}
			a.more(l.next, "entries before these")
			var rows [][]cell
			for _, e := range slices.Backward(entries) { // newest last, next to the prompt
				rows = append(rows, a.auditRow(e))
			}
			a.sheet([]column{col("TIME"), col("ACTOR"), col("ACTION"), col("ABOUT"), col("OUTCOME"), extraCol("WITH"), wrapCol("REASON")}, rows)
		})
	})
}

func (a *app) auditRow(e client.AuditEntry) []cell {
	actor := e.Actor
	if e.RequestedBy != nil {
		actor = *e.RequestedBy + " (" + e.Actor + ")"
	}
	return []cell{
		plain(a.tableTime(&e.At)),
		{printable(actor), a.outStyle.bold},
		plain(e.Action), plain(orDash(cmp.Or(e.Subject, e.Pipeline))),
		a.outcomeCell(e.Outcome), plain(orDash(new(parametersOf(e)))), plain(orDash(cmp.Or(e.Error, e.Reason, diffOf(e)))),
	}
}

func (a *app) outcomeCell(outcome *string) cell {
	switch {
	case outcome == nil:
		return cell{"unknown", a.outStyle.yellow}
	case *outcome == string(audit.Done):
		return cell{*outcome, a.outStyle.green}
	}
	return cell{printable(*outcome), a.outStyle.red}
}

// parametersOf formats the parameters of a request, or a changed file, as name=value.
func parametersOf(e client.AuditEntry) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(e.Parameters)) {
		words = append(words, fmt.Sprintf("%s=%v", name, e.Parameters[name]))
	}
	if ch := e.Change; ch != nil {
		words = append(words, fmt.Sprintf("file=%s sha256=%.12s→%.12s", ch.File, orDash(ch.Before), orDash(ch.After)))
		if ch.Was != nil {
			words = append(words, "was="+*ch.Was)
		}
		if ch.Owner != nil {
			words = append(words, "owner="+*ch.Owner)
		}
		if ch.Commit != nil {
			words = append(words, fmt.Sprintf("commit=%.12s", *ch.Commit))
		}
	}
	return strings.Join(words, " ")
}

// diffOf returns what changed in a file; nil for other entries.
func diffOf(e client.AuditEntry) *string {
	if e.Change == nil || len(e.Change.Diff) == 0 {
		return nil
	}
	return new(strings.Join(e.Change.Diff, "; "))
}

// record stores an audit entry about an action of the server itself. The action has already
// happened, so if the entry cannot be stored, record only logs the error.
func (c *controller) record(ctx context.Context, action string, parameters map[string]any) {
	e := audit.Entry{Actor: "server", Action: action, Parameters: parameters, Outcome: audit.Done}
	if err := c.audit.Add(ctx, e, time.Now()); err != nil {
		c.logger.Error("cannot store an audit entry", "action", action, "error", err)
	}
}

// recordStart records that the server started, and the names of its tokens.
func (c *controller) recordStart(ctx context.Context) {
	tokens := []string{}
	for _, t := range c.file.Auth.Tokens {
		tokens = append(tokens, t.Name+": "+t.Role)
	}
	c.record(ctx, "start", map[string]any{"version": version, "listen": c.file.Listen, "tokens": tokens, "paused": c.around.paused})
}

// changedTokens returns the names of tokens that were added or removed, or whose secret, role or
// pipelines changed.
func changedTokens(before, after []api.Token) []string {
	var names []string
	for _, pair := range [][2][]api.Token{{before, after}, {after, before}} {
		for _, t := range pair[0] {
			same := slices.ContainsFunc(pair[1], func(o api.Token) bool { return reflect.DeepEqual(o, t) })
			if !same && !slices.Contains(names, t.Name) {
				names = append(names, t.Name)
			}
		}
	}
	return names
}
