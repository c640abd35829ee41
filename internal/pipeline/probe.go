package pipeline

import (
	"fmt"
	"net/url"
	"time"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/sensor"
)

const (
	defaultProbeTimeout = 30 * time.Second
	defaultProbeTTL     = 5 * time.Minute
)

// addProbes adds the probes written at path in the pipeline's own file.
func (b *builder) addProbes(path string, sections []ProbeSection) {
	for i, s := range sections {
		b.addProbe(fmt.Sprintf("%s[%d]", path, i), s)
	}
}

// addProbesOf adds an archetype's probes; their problems are reported where the pipeline names the archetype.
func (b *builder) addProbesOf(arch *archetype, sections []ProbeSection) {
	for i, s := range sections {
		probe, findings := resolveProbe(s)
		b.blame(arch, document.Under(fmt.Sprintf("probes[%d]", i), findings))
		b.keepProbe("archetype", probe)
	}
}

func (b *builder) addProbe(path string, s ProbeSection) {
	probe, findings := resolveProbe(s)
	b.addUnder(path, findings)
	b.keepProbe(path, probe)
}

// keepProbe adds a probe unless another already writes its sensor.
func (b *builder) keepProbe(path string, probe Probe) {
	for _, other := range b.def.Probes {
		if other.Key == probe.Key {
			b.errorf(path, "two probes write the sensor %q; give each its own key", probe.Key)
			return
		}
	}
	b.def.Probes = append(b.def.Probes, probe)
}

// resolveProbe gives a probe its defaults and says what is wrong with it.
func resolveProbe(s ProbeSection) (Probe, []document.Finding) {
	p := Probe{
		Key: s.Key, URL: s.URL, Headers: s.Headers, Env: s.Env, Config: s.Config,
		TTL: defaultProbeTTL, Timeout: defaultProbeTimeout,
	}
	var findings []document.Finding
	refuse := func(path, format string, args ...any) {
		findings = append(findings, document.Finding{Path: path, Message: fmt.Sprintf(format, args...)})
	}
	if _, suffix, err := sensor.ExternalKey(s.Key); err != nil {
		refuse("key", "%v", err)
	} else if !suffix.IsZero() {
		refuse("key", "%q names a period; a probe's key has none", s.Key)
	}
	switch {
	case (s.Command == nil) == (s.URL == ""):
		refuse("", "needs either a command or a url")
	case s.Command != nil:
		words, err := s.Command.Words()
		if err != nil {
			refuse("command", "%v", err)
		} else if len(words) == 0 {
			refuse("command", "is empty; name a program")
		}
		p.Command = words
	default:
		if u, err := url.Parse(s.URL); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			refuse("url", "%q is not an absolute http or https address", s.URL)
		}
	}
	override(&p.Interval, s.Interval)
	override(&p.Timeout, s.Timeout)
	if p.Interval > 0 {
		p.TTL = 2 * p.Interval // a value outlives one missed turn
	}
	override(&p.TTL, s.TTL)
	return p, findings
}

func override(d *time.Duration, given *seconds) {
	if given != nil {
		*d = given.Duration
	}
}
