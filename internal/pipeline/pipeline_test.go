package pipeline_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/period"
)

func TestFollowing(t *testing.T) {
	for _, c := range []struct {
		name, upstream, schedule, of string
		want                         []string
	}{
		{"the same size", "{cron: '@daily'}", "{after: [up]}", "2026-03-03", []string{"2026-03-03"}},
		{"the larger one", "{cron: '@hourly'}", "{after: [up]}", "2026-03-03T07", []string{"2026-03-03"}},
		{"the smaller ones", "{cron: '@daily'}", "{cron: '30 8,20 * * *', after: [up]}", "2026-03-03", []string{"2026-03-03T20", "2026-03-03T08"}},
		{
			"the smaller ones that an offset moves", "{cron: '@daily'}", "{cron: '30 0,8,23 * * *', offset: -1, after: [up]}", "2026-03-03",
			[]string{"2026-03-03T23", "2026-03-03T22", "2026-03-03T07"},
		},
		{
			"excluded ones, too", "{cron: '@daily'}", "{cron: '30 8 * * *', period: hour, exclude: {dates: [2026-03-03]}, after: [up]}", "2026-03-03",
			[]string{"2026-03-03T08"},
		},
		{"the quarter", "{cron: '0 6 * * *', period: day}", "{period: quarter, after: [up]}", "2026-03-31", []string{"2026-Q1"}},
		{"the quarter of a week's Thursday", "{cron: '0 6 * * 1', period: week}", "{period: quarter, after: [up]}", "2026-W14", []string{"2026-Q2"}},
		{"the months of a quarter", "{period: quarter, trigger: {key: a, check: exists}}", "{cron: '0 6 L * *', period: month, after: [up]}", "2026-Q4", []string{"2026-12", "2026-11", "2026-10"}},
		{"a run of another size", "{cron: '@daily'}", "{cron: '@hourly', after: [up]}", "2026-03-03T07", []string{"2026-03-03T07"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := load("pipeline: {id: up, owner: t}\nschedule: "+c.upstream+"\n", "pipeline: {id: down, owner: t}\nschedule: "+c.schedule+"\n")
			if set.Failed() {
				t.Fatal(report(set))
			}
			p, err := period.Parse(c.of)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, q := range set.Find("down").Following(set.Find("up"), p) {
				got = append(got, q.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
