// Package oidc logs people in with an OpenID Connect provider: authorization code with PKCE and a
// nonce. It returns who logged in and their groups, from the provider's signed ID token. Package
// api decides what a group may do, and manages the session.
package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Config describes the provider, and how this server is registered there.
type Config struct {
	Issuer       string // the provider's address; /.well-known/openid-configuration below it has the rest
	ClientID     string
	ClientSecret string // empty for a public client
	RedirectURL  string // where the provider sends browsers back to
	Scopes       []string
	NameClaim    string       // of the ID token: who logged in
	GroupsClaim  string       // of the ID token: their groups, a list or one name
	Client       *http.Client // for requests to the provider
}

// Provider is an OpenID Connect provider. It is safe for concurrent use.
type Provider struct {
	config Config

	mu    sync.Mutex
	found *oidc.Provider // nil until the provider's configuration was read
}

// New returns a Provider. It connects only when someone logs in, so that a provider that is down
// does not keep the server from starting.
func New(c Config) *Provider { return &Provider{config: c} }

// discover reads the provider's configuration once.
func (p *Provider) discover() (*oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found != nil {
		return p.found, nil
	}
	// The provider's keys are fetched with this context later on: it must outlive the request. The
	// client has a timeout.
	found, err := oidc.NewProvider(p.with(context.Background()), p.config.Issuer)
	if err != nil {
		return nil, fmt.Errorf("read the configuration of provider %s: %w", p.config.Issuer, err)
	}
	p.found = found
	return found, nil
}

// with makes ctx use the client.
func (p *Provider) with(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, p.config.Client)
}

func (p *Provider) oauth(found *oidc.Provider) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.config.ClientID, ClientSecret: p.config.ClientSecret, RedirectURL: p.config.RedirectURL,
		Endpoint: found.Endpoint(), Scopes: p.config.Scopes,
	}
}

// Address returns where to send a browser to log in. The provider redirects it back with state and
// a code.
func (p *Provider) Address(_ context.Context, state, nonce, verifier string) (string, error) {
	found, err := p.discover()
	if err != nil {
		return "", err
	}
	return p.oauth(found).AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)), nil
}

// Exchange redeems a code and returns who logged in, and their groups. nonce and verifier are those
// passed to Address. It returns an error for a code that was redeemed before, and for an ID token
// that the provider did not sign for this server or that belongs to another login.
func (p *Provider) Exchange(ctx context.Context, code, nonce, verifier string) (name string, groups []string, err error) {
	found, err := p.discover()
	if err != nil {
		return "", nil, err
	}
	token, err := p.oauth(found).Exchange(p.with(ctx), code, oauth2.VerifierOption(verifier))
	if err != nil {
		return "", nil, redeemError(err)
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return "", nil, errors.New("the provider sent no ID token; auth.oidc.scopes must have openid")
	}
	id, err := found.Verifier(&oidc.Config{ClientID: p.config.ClientID}).Verify(p.with(ctx), raw)
	if err != nil {
		return "", nil, fmt.Errorf("verify the ID token: %w", err)
	}
	if id.Nonce != nonce {
		return "", nil, errors.New("the ID token belongs to another login: its nonce differs")
	}
	return p.claims(id)
}

// redeemError omits the provider's answer, which may repeat what was sent.
func redeemError(err error) error {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.Response != nil {
		return fmt.Errorf("redeem the code: the provider answered %s %q", refused.Response.Status, refused.ErrorCode)
	}
	return fmt.Errorf("redeem the code: %w", err)
}

// claims reads the name and groups from an ID token.
func (p *Provider) claims(id *oidc.IDToken) (string, []string, error) {
	var all map[string]json.RawMessage
	if err := id.Claims(&all); err != nil {
		return "", nil, fmt.Errorf("read the ID token: %w", err)
	}
	var name string
	if err := json.Unmarshal(all[p.config.NameClaim], &name); err != nil || name == "" {
		return "", nil, fmt.Errorf("the ID token has no claim %q; check auth.oidc.nameClaim and auth.oidc.scopes", p.config.NameClaim)
	}
	if p.config.NameClaim == "email" && !verified(all["email_verified"]) {
		return "", nil, errors.New("the provider has not verified the e-mail address; use another auth.oidc.nameClaim, such as sub")
	}
	var groups []string
	if raw := all[p.config.GroupsClaim]; raw != nil && json.Unmarshal(raw, &groups) != nil {
		var one string
		if err := json.Unmarshal(raw, &one); err != nil {
			return "", nil, fmt.Errorf("the claim %q of the ID token is neither a group nor a list of groups; check auth.oidc.groupsClaim", p.config.GroupsClaim)
		}
		groups = []string{one}
	}
	return name, groups, nil
}

// verified reports whether an email_verified claim does not say that the address is unverified. Some
// providers send it as text, others not at all.
func verified(claim json.RawMessage) bool {
	switch string(claim) {
	case "", "null", "true", `"true"`:
		return true
	default:
		return false
	}
}
