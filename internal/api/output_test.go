package api_test

import (
	"context"
	"testing"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/run"
)

func TestOutputOfARunningJobIsReadFromTheJob(t *testing.T) {
	printed := make(chan string, 10)
	shown := "line 1\n"
	w := running(t, func(d *api.Deps) {
		d.Tail = func(_ context.Context, r run.Run) (string, bool, error) {
			select {
			case more := <-printed:
				shown += more
			default:
			}
			return shown, true, nil
		}
	})
	first := w.get(wednesday + "/output").object(200)
	if first["output"] != "line 1\n" || first["running"] != true || first["live"] != true || first["attempt"] != 1.0 {
		t.Fatalf("got %v", first)
	}
	printed <- "line 2\n"
	more := w.get(wednesday + "/output?follow=60s&seen=" + first["seen"].(string)).object(200)
	if more["output"] != "line 1\nline 2\n" || more["seen"] == first["seen"] {
		t.Errorf("got %v", more)
	}
	w.post(wednesday+"/job", `{"result":"fail","category":"PERMANENT","message":"no such table"}`).object(200)
	w.Settle()
	ended := w.get(wednesday + "/output?attempt=1&follow=60s&seen=x").object(200)
	if ended["running"] != false || ended["live"] != false {
		t.Errorf("got %v", ended)
	}
	w.get(wednesday+"/output?attempt=7").problem(404, "attempt 7")
	w.get(wednesday+"/output?follow=2h").problem(400, "follow")
	w.get("/api/v1/runs/orders/cron/2026-03-01/output").problem(404)
}
