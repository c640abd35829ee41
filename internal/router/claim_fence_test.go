package router_test

import (
	"testing"

	"github.com/interlock-go/interlock/internal/router"
	"github.com/interlock-go/interlock/internal/store"
)

func TestClaimIsNotGrantedOnceAPauseIsAcknowledged(t *testing.T) {
	c := newCrew(t, outside)
	c.Write("nightly", "landed#2026-03-03", "state=ready")
	c.stands("TRIGGERING 1: waiting for a worker")
	m := &meddled{Store: c.Store, others: []func(){func() {
		_, err := c.Router.Pause(ctx, "nightly", store.Pause{By: "ada", Why: "maintenance"}, c.Now())
		c.Check(err)
	}}}
	r := router.New(router.Deps{Store: m, Catalog: c.Catalog, Deadlines: c.Monitor, Jobs: c.Steps})
	_, err := r.Claim(ctx, router.ClaimRequest{Key: c.Key(nightly), Worker: "w1"}, c.Now())
	c.refused(err, router.ClaimPaused, "maintenance")
	c.Settle()
	c.Check(c.Router.Resume(ctx, "nightly", "ada", "done", c.Now()))
	c.Settle()
	c.Check(c.claim("w1"))
}
