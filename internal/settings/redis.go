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
			return []document.Finding{{Path: "store", Severity: document.Warning, Message: "contains a password; put it into an environment variable and name the variable in redis.passwordEnv"}}
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

func (r *Redis) check(storeSet bool) []document.Finding {
	return slices.Concat(
		document.When(r.Password != "", document.Finding{Path: "password", Message: "a password does not belong in the file; name an environment variable in passwordEnv"}),
		document.When(r.Addr != "" && storeSet, document.Finding{Path: "addr", Message: "store is already set; remove one of the two"}),
		r.checkUnused(),
	)
}

// checkUnused warns about settings of the older block that have no effect any more. It ignores
// default values.
func (r *Redis) checkUnused() []document.Finding {
	usual := Redis{}
	document.Node{}.Decode(&usual)
	unused := func(differs bool, path, why string) []document.Finding {
		return document.When(differs, document.Finding{Path: path, Severity: document.Warning, Message: "has no effect: " + why})
	}
	return slices.Concat(
		unused(r.EventStreamMax != usual.EventStreamMax, "eventStreamMax", "retention.events says how long events are kept"),
		unused(r.RetentionTTL != usual.RetentionTTL, "retentionTTL", "retention says how long history is kept"),
		unused(r.RunIndexLimit != usual.RunIndexLimit, "runIndexLimit", "retention.runs says how long runs are kept"),
	)
}
