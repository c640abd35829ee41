package demo

import (
	"context"
	"fmt"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
)

// begin introduces the project, and sets up the last chapter.
func (s *story) begin(ctx context.Context) error {
	s.say.heading("Interlock at work")
	s.say.prose(`
		Two simulated sources, earthquakes and crypto, write raw files (bronze) and push sensor readings
		over HTTP. A silver job cleans the data of one minute, a gold job summarizes it. Everything else is
		real: the controller that decides when a job may start, the jobs, and the files they write. The
		demo has eight parts and takes a little over a minute. Times are in UTC. Press Ctrl-C to stop.`)
	s.say.line("  dashboard %s", s.say.paint(bold, s.Address+"/"))
	s.say.line("  API       %s, described at /openapi.json", s.say.paint(bold, s.Address))
	s.say.line("  project   %s", s.say.paint(bold, s.Project))
	s.tryThese("\n  In another terminal, at any time, run:")
	s.say.line("")
	s.say.action(s.Now(), operator, "pauses exchange-rates (see part 8)")
	if _, err := s.api.Pause(ctx, string(rates), client.PauseRequest{Asked: client.Asked{RequestedBy: operator, Reason: "maintenance"}}); err != nil {
		return err
	}
	s.pausedAt = s.Now()
	return s.await(ctx, want{event.PipelinePaused, rates, period.Period{}, 0})
}

func (s *story) tryThese(title string) {
	s.say.line("%s", title)
	for _, args := range []string{"status", "explain " + string(quakeSilver) + " --date " + s.first.String(), "events --follow"} {
		s.say.line("    %s", s.say.paint(cyan, s.Command+" "+args))
	}
}

// epilogue says what continues after the story.
func (s *story) epilogue() {
	s.say.heading("The demo is complete. The sources catch up and continue, minute by minute.")
	s.say.line("")
	s.tryThese("  Explore the dashboard at " + s.Address + "/, or run:")
	s.say.line("\n  Interlock watches the project's files: change one in %s/pipelines\n  and the change takes effect within two seconds. Press Enter or Ctrl-C to stop;\n  that also stops the controller and frees its port.\n", s.Project)
}

// short returns a minute's name as the story shows it.
func (s *story) short(p period.Period) string { return short(p, s.Now()) }

// summary lists what was shown.
func (s *story) summary() {
	title := "What you have seen"
	if s.seen < len(chapters) {
		title = "What you have seen so far"
	}
	s.say.heading(title)
	s.say.line("")
	for i, c := range chapters {
		if i < s.seen {
			s.say.line("  %s %s", s.say.mark("pass"), c.title)
		} else {
			s.say.line("  %s %s", s.say.paint(dim, "–"), s.say.paint(dim, c.title+" (not reached)"))
		}
	}
	all := 0
	for _, n := range s.counts {
		all += n
	}
	s.say.line("\n  %s, among them %s, %s and %s.\n", count(all, "event"), count(s.counts[event.JobTriggered], "started job"),
		count(s.counts[event.JobCompleted], "completion"), count(s.counts[event.JobFailed], "failure"))
}

// count returns a number of things in words.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
