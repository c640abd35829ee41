package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/client"
)

// backfills returns a client of a fake server that backfills days. Before each request, the server
// calls allowed with the number of periods, and rejects the request if allowed returns false.
func backfills(t *testing.T, allowed func(days int, dry bool) bool) *connection {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q client.BackfillRequest
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		from, _ := time.Parse(time.DateOnly, q.From)
		to, err := time.Parse(time.DateOnly, q.To)
		if err != nil {
			t.Error(err)
		}
		page := client.Page[client.Backfilled]{}
		for day := from; !day.After(to); day = day.AddDate(0, 0, 1) {
			page.Items = append(page.Items, client.Backfilled{Date: day.Format(time.DateOnly), Action: "open"})
		}
		w.Header().Set("Content-Type", "application/json")
		if !allowed(len(page.Items), q.DryRun) {
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, `{"status":409,"title":"Conflict","detail":"too many open runs"}`)
			return
		}
		_ = json.NewEncoder(w).Encode(page)
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return &connection{Client: c}
}

func TestLongBackfillShowsHowManyPeriodsAreDone(t *testing.T) {
	ticks := make(chan time.Time)
	var shown strings.Builder
	a := &app{stderr: &shown, errTerminal: true, now: func() time.Time { return noon }, after: func(time.Duration) <-chan time.Time { return ticks }}
	var parts []int
	c := backfills(t, func(days int, dry bool) bool {
		if dry {
			return true
		}
		if parts = append(parts, days); len(parts) == 2 {
			ticks <- noon
			ticks <- noon // once this tick is received, the line of the first tick is on screen
		}
		return true
	})
	all, err := a.backfill(t.Context(), c, "orders", client.BackfillRequest{From: "2026-01-01", To: "2026-05-30"})
	if err != nil || len(all) != 150 || all[0].Date != "2026-01-01" || all[149].Date != "2026-05-30" {
		t.Fatalf("%d periods, %v", len(all), err)
	}
	if len(parts) != 2 || parts[0] != 100 || parts[1] != 50 {
		t.Errorf("requests had %v periods", parts)
	}
	if !strings.Contains(shown.String(), "opening runs… 100 of 150 periods, 0s") {
		t.Errorf("shown: %q", shown.String())
	}
	var page struct {
		Items      []client.Backfilled
		NextCursor *string
	}
	if err := json.Unmarshal(c.answer, &page); err != nil || len(page.Items) != 150 || page.NextCursor != nil {
		t.Errorf("the JSON has %d items, %v", len(page.Items), err)
	}
}

func TestBackfillThatStopsSaysWhereToGoOn(t *testing.T) {
	a := &app{stderr: io.Discard, now: func() time.Time { return noon }}
	c := backfills(t, func(days int, dry bool) bool { return dry || days == backfillAtOnce })
	_, err := a.backfill(t.Context(), c, "orders", client.BackfillRequest{From: "2026-01-01", To: "2026-05-30"})
	if err == nil || !strings.Contains(err.Error(), "too many open runs\n100 of 150 periods are done; run the same command with --from 2026-04-11 for the rest") {
		t.Errorf("got %v", err)
	}
}
