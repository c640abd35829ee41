package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// The address of a ping is /ping/{token}/{pipeline}/{key}, optionally followed by a signal: /start,
// /fail or an exit status.
const (
	pingPath       = "/ping/{token}/{pipeline}/{key}"
	pingSignalPath = pingPath + "/{signal}"

	maxPingBody   = 10 << 10 // how much of a ping's body is stored
	maxExitStatus = 255
)

// ping is the parsed path of a ping. The path contains a token, so it is stored nowhere.
type ping struct {
	token    string
	pipeline pipeline.ID
	key      string
	signal   string // empty: success
	short    bool   // parts are missing, or there are too many
}

// readPing parses the parts of a ping's path.
func readPing(parts []string, r *http.Request) ping {
	if len(parts) != 3 && len(parts) != 4 {
		return ping{short: true}
	}
	p := ping{token: parts[0], pipeline: pipeline.ID(parts[1]), key: parts[2]}
	if len(parts) == 4 {
		p.signal, r.Pattern = parts[3], pingSignalPath
	}
	return p
}

// servePing writes the reading of a ping, and responds as Healthchecks does.
func (a *API) servePing(c *call, r *http.Request, in ping) {
	p := a.checkPing(r, c, in)
	if p == nil {
		p = a.writePing(c, r, in)
	}
	header := c.Header()
	header["X-Content-Type-Options"] = nosniff
	header.Set("Ping-Body-Limit", strconv.Itoa(maxPingBody))
	if p != nil {
		a.metrics.refusals.Inc()
		p.write(&c.response, r.WithContext(c))
		return
	}
	a.metrics.writes.Inc()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(&c.response, "OK") // it is stored, even if the client has disconnected
}

// checkPing returns a Problem if the client may not send the ping. A token that is unknown, has
// another role or is limited to other pipelines gets the same response as a pipeline that does not
// exist.
func (a *API) checkPing(r *http.Request, c *call, in ping) *Problem {
	if p := a.checkTokenPath(r); p != nil {
		return p
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost:
	default:
		return problem(http.StatusMethodNotAllowed, plainKind, "%s is not allowed here; use GET, HEAD or POST", methodLabel(r.Method)).with("Allow", "GET, HEAD, POST")
	}
	if in.short {
		return noPing()
	}
	who, ok := a.sensorToken(c, in.token)
	if !ok {
		return noPing()
	}
	if c.who = who; who.may(RoleSensor, in.pipeline) != nil {
		return noPing()
	}
	return a.checkWrites(false)
}

func noPing() *Problem {
	return problem(http.StatusNotFound, unknownPipeline,
		"unknown ping URL; write /ping/TOKEN/PIPELINE/KEY, optionally with /start, /fail or an exit status at the end. TOKEN needs the role sensor for that pipeline")
}

// pinged is the data of a ping's reading.
type pinged struct {
	Status          string   `json:"status"`
	ExitStatus      *int     `json:"exitStatus"`
	DurationSeconds *float64 `json:"durationSeconds"`
	Body            *string  `json:"body"`
}

// writePing stores the reading of a ping.
func (a *API) writePing(c *call, r *http.Request, in ping) *Problem {
	if _, p := a.entry(c, in.pipeline); p != nil {
		if p.Status == http.StatusNotFound {
			return noPing()
		}
		return p
	}
	data, p := readSignal(in.signal)
	if p != nil {
		return p
	}
	c.limit(r, bodyRule{bytes: maxBody, from: &a.bodies})
	if data.Body, p = pingBody(r); p != nil {
		return p
	}
	key, suffix, err := sensor.ExternalKey(in.key)
	if err != nil {
		return badRequest("%s", err)
	}
	if data.Status != "start" {
		if data.DurationSeconds, err = a.sinceStart(c, store.ReadingQuery{Pipeline: in.pipeline, Key: key, Period: suffix}); err != nil {
			return problemOf(err)
		}
	}
	text, err := json.Marshal(data)
	if err != nil {
		return problemOf(err)
	}
	_, p = a.putReading(c, incoming{pipeline: in.pipeline, key: in.key, data: text, source: "ping"})
	return p
}

// readSignal returns the status that the signal of a ping means.
func readSignal(signal string) (pinged, *Problem) {
	switch signal {
	case "":
		return pinged{Status: "success"}, nil
	case "start", "fail":
		return pinged{Status: signal}, nil
	}
	code, err := strconv.ParseUint(signal, 10, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return pinged{}, badRequest("%.40q is not a signal; write start, fail or an exit status after the key, and / in a key as %%2F", signal)
	case err != nil || code > maxExitStatus:
		return pinged{}, badRequest("exit status %.40s is above %d", signal, maxExitStatus)
	}
	status, exit := "success", int(code)
	if exit != 0 {
		status = "fail"
	}
	return pinged{Status: status, ExitStatus: &exit}, nil
}

// pingBody returns the beginning of a ping's body; nil if it has none.
func pingBody(r *http.Request) (*string, *Problem) {
	var buf bytes.Buffer
	if _, err := io.Copy(&buf, io.LimitReader(r.Body, maxPingBody+utf8.UTFMax)); err != nil {
		p, _ := problemOfBody(err)
		return nil, p
	}
	text := buf.Bytes()
	if len(text) == 0 {
		return nil, nil
	}
	if len(text) > maxPingBody {
		cut := maxPingBody
		for cut > maxPingBody-utf8.UTFMax && !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut]
	}
	body := strings.ToValidUTF8(string(text), "�")
	return &body, nil
}

// sinceStart returns the seconds since the start ping of that key and period; nil if the last
// reading is not a start ping.
func (a *API) sinceStart(ctx context.Context, q store.ReadingQuery) (*float64, error) {
	answers, err := a.store.Readings(ctx, []store.ReadingQuery{q})
	if err != nil {
		return nil, fmt.Errorf("read sensor %s of %s: %w", q.Key, q.Pipeline, err)
	}
	for _, r := range answers[0] {
		if r.Period != q.Period || r.Deleted || r.Fields["status"] != "start" {
			continue
		}
		took := max(a.now().Sub(r.UpdatedAt).Round(time.Millisecond).Seconds(), 0)
		return &took, nil
	}
	return nil, nil
}
