package api

import (
	"net/http"
	"net/url"
	"path"
	"strings"
)

// Addresses below these roots contain a token: /ping/{token}/… and /in/{token}/….
const (
	pingRoot = "/ping"
	inRoot   = "/in"
)

// LoggedPath returns the path of a request in a form that is safe to log: up to the first segment
// named like a root, in upper or lower case. So a token is not logged even if its address is
// mistyped, or has a prefix that a proxy should have removed.
func LoggedPath(r *http.Request) string {
	whole, end := r.URL.Path, 0
	for segment := range strings.SplitSeq(whole, "/") {
		end += len(segment)
		if strings.EqualFold("/"+segment, pingRoot) || strings.EqualFold("/"+segment, inRoot) {
			return whole[:end]
		}
		end++ // the slash
	}
	return whole
}

// tokenRoot returns the root below which the path of a request contains a token, however it is
// written; "" if there is none.
func tokenRoot(r *http.Request) string {
	clean := path.Clean("/" + r.URL.Path)
	for _, root := range []string{pingRoot, inRoot} {
		if clean == root || strings.HasPrefix(clean, root+"/") {
			return root
		}
	}
	return ""
}

// takeToken returns the parts of the path below root, and a request whose URL no longer contains
// them.
func takeToken(r *http.Request, root string) ([]string, *http.Request) {
	parts := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), root+"/"), "/")
	for i, part := range parts {
		if text, err := url.PathUnescape(part); err == nil {
			parts[i] = text
		}
	}
	safe := *r
	safe.URL, safe.RequestURI = &url.URL{Path: root}, root
	safe.Pattern = map[string]string{pingRoot: pingPath, inRoot: inPath}[root]
	return parts, &safe
}

// checkTokenPath returns a Problem if a page of another origin may have sent a request. Even a GET
// writes, so it is checked like a POST.
func (a *API) checkTokenPath(r *http.Request) *Problem {
	writes := *r
	writes.Method = http.MethodPost
	return a.checkOrigin(&writes)
}

// sensorToken returns the client whose token a path has; false if there is none. A server without
// tokens accepts any text. Tokens of roles that may do more than write readings are rejected,
// because addresses end up in the logs of proxies.
func (a *API) sensorToken(c *call, secret string) (principal, bool) {
	if !a.requiresAuth() {
		return principal{role: RoleSensor}, a.settings.Loopback
	}
	if token := a.keys.Load().find(secret); token != nil {
		return token.principal, token.role == RoleSensor
	}
	a.unknownToken(c, "authenticate")
	return principal{}, false
}
