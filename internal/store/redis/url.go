package redis

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// parameters are the query parameters allowed in a URL.
var parameters = []string{"prefix", "ca", "cert", "key", "sentinel", "addr", "sentinel_auth"}

// target is a parsed URL.
type target struct {
	name           string // shown to people: no user, no password
	prefix         string
	addrs          []string // addresses of Redis, or of its Sentinels
	user, password string
	db             int
	tls            *tls.Config
	master         string // its name in the Sentinels
	sentinelAuth   bool
}

// parseURL parses redis://[USER:PASSWORD@]HOST[:PORT][/DB][?PARAMETERS], or rediss:// for TLS. Its
// errors do not show the URL, which may contain a password.
func parseURL(text string) (target, error) {
	u, err := url.Parse(text)
	if err != nil {
		return target{}, errors.New("the URL of Redis is not understood: want redis://USER:PASSWORD@HOST:PORT/DB, with special characters of the password as %XX")
	}
	if u.Scheme != "redis" && u.Scheme != "rediss" {
		return target{}, fmt.Errorf("the URL of Redis begins with %q: want redis://, or rediss:// for TLS", u.Scheme+"://")
	}
	if u.Hostname() == "" {
		return target{}, errors.New("the URL of Redis names no host: want redis://HOST:PORT/DB")
	}
	q := u.Query()
	for name := range q {
		if !slices.Contains(parameters, name) {
			return target{}, fmt.Errorf("the URL of Redis has a parameter %q: want one of %s", name, strings.Join(parameters, ", "))
		}
	}
	t := target{
		prefix: cmp.Or(q.Get("prefix"), "interlock"), user: u.User.Username(),
		master: q.Get("sentinel"), sentinelAuth: q.Get("sentinel_auth") == "true",
	}
	t.password, _ = u.User.Password()
	if err := t.address(u, q["addr"]); err != nil {
		return target{}, err
	}
	return t, t.secure(u, q)
}

// address sets the addresses. More than one is allowed for Sentinels only.
func (t *target) address(u *url.URL, more []string) error {
	port := "6379"
	if t.master != "" {
		port = "26379"
	}
	t.addrs = append([]string{net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port))}, more...)
	if len(more) > 0 && t.master == "" {
		return errors.New("the URL of Redis has several addresses, which only Sentinels have: name the primary with sentinel=NAME")
	}
	if path := strings.Trim(u.Path, "/"); path != "" {
		db, err := strconv.Atoi(path)
		if err != nil || db < 0 {
			return fmt.Errorf("the URL of Redis names database %q: want a number, such as 0", path)
		}
		t.db = db
	}
	t.name = fmt.Sprintf("%s://%s/%d", u.Scheme, t.addrs[0], t.db)
	if t.master != "" {
		t.name += "?sentinel=" + t.master
	}
	return nil
}

// secure loads the certificates that the URL names.
func (t *target) secure(u *url.URL, q url.Values) error {
	if u.Scheme == "redis" {
		for _, name := range []string{"ca", "cert", "key"} {
			if q.Has(name) {
				return fmt.Errorf("the URL of Redis has %s= without TLS: write rediss://", name)
			}
		}
		return nil
	}
	t.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	if t.master == "" {
		t.tls.ServerName = u.Hostname()
	}
	if file := q.Get("ca"); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read the authorities for Redis: %w", err)
		}
		t.tls.RootCAs = x509.NewCertPool()
		if !t.tls.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("read the authorities for Redis: %s holds no certificate in PEM form", file)
		}
	}
	if q.Has("cert") || q.Has("key") {
		pair, err := tls.LoadX509KeyPair(q.Get("cert"), q.Get("key"))
		if err != nil {
			return fmt.Errorf("read the certificate for Redis (cert= and key= go together): %w", err)
		}
		t.tls.Certificates = []tls.Certificate{pair}
	}
	return nil
}

// client returns a client that never retries a command by itself: a write whose reply was lost may
// have happened, and only the caller knows whether repeating it is safe.
func (t target) client() *redis.Client {
	const timeout = 5 * time.Second
	o := &redis.UniversalOptions{
		Addrs: t.addrs, MasterName: t.master, Username: t.user, Password: t.password, DB: t.db, TLSConfig: t.tls,
		ClientName: "interlock", MaxRetries: -1, DialerRetries: 1, DialTimeout: 3 * time.Second, ReadTimeout: timeout,
		WriteTimeout: timeout, PoolSize: 64, ContextTimeoutEnabled: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	if t.sentinelAuth {
		o.SentinelUsername, o.SentinelPassword = t.user, t.password
	}
	if t.master == "" {
		return redis.NewClient(o.Simple())
	}
	return redis.NewFailoverClient(o.Failover())
}
