package settings

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/document"
)

// IsRedis reports whether a store is a Redis.
func IsRedis(store string) bool {
	return strings.HasPrefix(store, "redis://") || strings.HasPrefix(store, "rediss://")
}

// checkStore never shows the URL, which may contain a password.
func checkStore(store string) []document.Finding {
	if store == "sqlite" {
		return nil
	}
	if !IsRedis(store) {
		if scheme, _, is := strings.Cut(store, "://"); is {
			store = scheme + "://…"
		}
		return []document.Finding{{Path: "store", Message: fmt.Sprintf("%q is not a store; write sqlite or redis://host:6379/0", store)}}
	}
	if u, err := url.Parse(store); err == nil && u.User != nil {
		if _, holds := u.User.Password(); holds {
			return []document.Finding{{Path: "store", Severity: document.Warning, Message: "contains a password; put it into an environment variable and name that in redis.passwordEnv"}}
		}
	}
	return nil
}

const usualPrefix = "interlock"

// url converts the block to the form of store.
func (r *Redis) url() string {
	text := fmt.Sprintf("redis://%s/%d", r.Addr, r.DB)
	if r.KeyPrefix != usualPrefix {
		text += "?prefix=" + r.KeyPrefix
	}
	return text
}

func (r *Redis) check(store string) []document.Finding {
	var findings []document.Finding
	if r.Password != "" {
		findings = append(findings, document.Finding{Path: "password", Message: "a password does not belong into the file; name an environment variable with passwordEnv"})
	}
	if r.Addr != "" && store != "sqlite" {
		findings = append(findings, document.Finding{Path: "addr", Message: "store names a store already; leave one of the two out"})
	}
	return append(findings, r.checkUnused()...)
}

// checkUnused warns about settings of the older block that have no effect any more. It ignores default values.
func (r *Redis) checkUnused() []document.Finding {
	usual := Redis{}
	doc, _ := document.Parse("", []byte("{}"))
	doc.Decode(&usual)
	var findings []document.Finding
	for path, is := range map[string]struct {
		other bool
		why   string
	}{
		"retentionTTL":   {r.RetentionTTL != usual.RetentionTTL, "retention says how long history is kept"},
		"runIndexLimit":  {r.RunIndexLimit != usual.RunIndexLimit, "all runs are kept"},
		"eventStreamMax": {r.EventStreamMax != usual.EventStreamMax, "retention.events says how long events are kept"},
	} {
		if is.other {
			findings = append(findings, document.Finding{Path: path, Severity: document.Warning, Message: "has no effect: " + is.why})
		}
	}
	slices.SortFunc(findings, func(a, b document.Finding) int { return strings.Compare(a.Path, b.Path) })
	return findings
}
