package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/oidc"
	"github.com/interlock-go/interlock/internal/settings"
)

// accessPace is how often the token and certificate files are re-read.
const accessPace = 15 * time.Second

// limit returns a limit of the server's file in bytes; 0 is no limit.
func limit(size document.Size) int64 {
	if size == 0 {
		return math.MaxInt64
	}
	return int64(size)
}

// accessSettings reads the API settings that concern clients: tokens, certificates, login and
// limits.
func accessSettings(f settings.File, guard *egress.Guard, getenv func(string) string) (api.Settings, error) {
	tokens, err := readTokens(f.Auth.Tokens, getenv)
	if err != nil {
		return api.Settings{}, err
	}
	who := api.Settings{
		Loopback: f.Loopback(), Tokens: tokens, MaxFuture: f.Sensors.MaxFuture.D(), Proxies: f.HTTP.Networks(),
		Limits: api.Limits{
			SensorKeys: f.Limits.SensorKeys, SensorBytes: limit(f.Limits.SensorBytes), OpenRuns: f.Limits.OpenRuns,
			WriteBytes: limit(f.Limits.WriteBytes), TokenWriteBytes: limit(f.Limits.TokenWriteBytes),
		},
		SessionLifetime: f.Auth.Sessions.Lifetime.D(), SessionIdle: f.Auth.Sessions.Idle.D(), StreamsPerToken: f.Auth.StreamsPerToken,
	}
	for _, c := range f.Auth.Certificates {
		role, err := api.ParseRole(c.Role)
		if err != nil {
			return api.Settings{}, err
		}
		who.Certificates = append(who.Certificates, api.Certificate{Name: c.Name, Role: role, Pipelines: c.Pipelines, Subject: c.Subject, SAN: c.SAN})
	}
	if who.OIDC, err = newOIDC(f.Auth.OIDC, guard, getenv); err != nil {
		return api.Settings{}, err
	}
	return who, who.Check()
}

// newOIDC returns the OpenID Connect login, or nil if the server's file configures none.
func newOIDC(o *settings.OIDC, guard *egress.Guard, getenv func(string) string) (*api.OIDC, error) {
	if o == nil {
		return nil, nil
	}
	secret, err := readOptionalSecret("the client secret of auth.oidc", o.ClientSecretEnv, o.ClientSecretFile, getenv)
	if err != nil {
		return nil, err
	}
	login := &api.OIDC{Label: o.Label, Provider: oidc.New(oidc.Config{
		Issuer: o.Issuer, ClientID: o.ClientID, ClientSecret: secret, RedirectURL: o.RedirectURL, Scopes: o.Scopes,
		NameClaim: o.NameClaim, GroupsClaim: o.GroupsClaim, Client: guard.Client(answerWithin),
	})}
	for _, r := range o.Roles {
		role, err := api.ParseRole(r.Role)
		if err != nil {
			return nil, err
		}
		login.Roles = append(login.Roles, api.GroupRole{Group: r.Group, Role: role, Pipelines: r.Pipelines})
	}
	return login, nil
}

// access re-reads the server's token and certificate files, so that they can be replaced without a
// restart.
type access struct {
	file   settings.File
	getenv func(string) string
	api    *api.API
	logger *slog.Logger
	tls    atomic.Pointer[tls.Config] // nil without TLS

	record func(ctx context.Context, action string, parameters map[string]any)

	mu     sync.Mutex
	tokens []api.Token       // the active ones
	certs  [sha256.Size]byte // hash of the active certificates
}

// Reload re-reads the token and certificate files. Changes apply to the next request and the next
// connection. If a file is not valid, Reload returns an error and the previous version stays
// active.
func (a *access) Reload(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return errors.Join(a.reloadTokens(ctx), a.reloadCertificates(ctx))
}

// use makes the next Reload read the token and certificate files that f names. It cannot switch TLS
// on or off.
func (a *access) use(f settings.File) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.file.Auth.Tokens = f.Auth.Tokens
	if a.file.TLS.Cert != "" && f.TLS.Cert != "" {
		a.file.TLS = f.TLS
	}
}

func (a *access) reloadTokens(ctx context.Context) error {
	tokens, err := readTokens(a.file.Auth.Tokens, a.getenv)
	if err != nil {
		return fmt.Errorf("reload tokens (the previous ones stay active): %w", err)
	}
	changed := changedTokens(a.tokens, tokens)
	if len(changed) == 0 {
		return nil
	}
	if err := a.api.SetTokens(tokens); err != nil {
		return fmt.Errorf("reload tokens (the previous ones stay active): %w", err)
	}
	a.tokens = tokens
	a.logger.Info("tokens reloaded", "names", changed)
	a.record(ctx, "reload-tokens", map[string]any{"names": changed})
	return nil
}

func (a *access) reloadCertificates(ctx context.Context) error {
	if a.file.TLS.Cert == "" {
		return nil
	}
	config, sum, err := readTLS(a.file.TLS)
	if err != nil {
		return fmt.Errorf("reload certificates (the previous ones stay active): %w", err)
	}
	if sum == a.certs {
		return nil
	}
	first := a.tls.Swap(config) == nil
	a.certs = sum
	if !first {
		a.logger.Info("certificates reloaded")
		a.record(ctx, "reload-certificates", nil)
	}
	return nil
}

// config returns the server's TLS configuration, which looks up the active certificates for each
// connection.
func (a *access) config() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return a.tls.Load(), nil },
	}
}

// readTLS reads the server's certificate and the client CAs, and returns a hash of the files.
func readTLS(f settings.TLS) (*tls.Config, [sha256.Size]byte, error) {
	cert, certErr := os.ReadFile(f.Cert)
	key, keyErr := os.ReadFile(f.Key)
	if err := errors.Join(certErr, keyErr); err != nil {
		return nil, [sha256.Size]byte{}, fmt.Errorf("read tls.cert and tls.key: %w", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, [sha256.Size]byte{}, fmt.Errorf("read tls.cert %s and tls.key %s: %w", f.Cert, f.Key, err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	all := slices.Concat(cert, []byte{0}, key)
	if f.ClientCA != "" {
		pool, authorities, err := readAuthorities("tls.clientCA", f.ClientCA)
		if err != nil {
			return nil, [sha256.Size]byte{}, err
		}
		config.ClientCAs = pool
		config.ClientAuth = tls.VerifyClientCertIfGiven
		if f.RequireClientCert {
			config.ClientAuth = tls.RequireAndVerifyClientCert
		}
		all = fmt.Appendf(all, "\x00%s\x00%t", authorities, f.RequireClientCert)
	}
	return config, sha256.Sum256(all), nil
}

// readAuthorities reads a PEM file of certificate authorities, which the setting or flag key names.
func readAuthorities(key, file string) (*x509.CertPool, []byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", key, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, nil, fmt.Errorf("%s %s contains no certificate; it must be a PEM file", key, file)
	}
	return pool, text, nil
}
