package archive_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/archive"
	"github.com/interlock-go/interlock/internal/archive/pgtest"
)

func TestErrorsRevealNothingOfTheConnectionString(t *testing.T) {
	real := strings.Fields(pgtest.Database(t))[0]
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	_, port, err := net.SplitHostPort(closed.Addr().String())
	check(t, err)
	check(t, closed.Close())
	for name, dsn := range map[string]string{
		"not a string": "postgres://ham:sesame@[secrethost:5432/cellar?sslmode=never",
		"not a mode":   "host=secrethost user=ham password=sesame dbname=cellar sslmode=never",
		"nobody there": "postgres://ham:sesame@127.0.0.1:" + port + "/cellar?sslmode=disable",
		"no such user": real + " user=ham password=sesame dbname=cellar",
		"no such base": real + " user=postgres password=sesame dbname=cellar",
		"no such file": "host=/secrethost user=ham password=sesame dbname=cellar",
	} {
		a, err := archive.New(newWorld(t).store, dsn, "one")
		if err == nil {
			_, err = a.Pass(context.Background(), noon)
		}
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for e := err; e != nil; e = errors.Unwrap(e) {
			for _, part := range []string{"ham", "sesame", "secrethost", "cellar", port} {
				if strings.Contains(e.Error(), part) {
					t.Errorf("%s: %q reveals %q", name, e, part)
				}
			}
		}
	}
}

func TestErrorsNameTheRemedy(t *testing.T) {
	real := strings.Fields(pgtest.Database(t))[0]
	for dsn, want := range map[string]struct {
		says string
		away bool
	}{
		"":                                {"write postgres://", false},
		real + " user=postgres dbname=no": {"does not exist (3D000); create it", false},
		real + " user=no dbname=postgres": {"rejects the user or the password", false},
		"host=/nowhere user=postgres":     {"cannot be reached: no such file or directory", true},
	} {
		if _, err := archive.Read(context.Background(), dsn); err == nil || !strings.Contains(err.Error(), want.says) || errors.Is(err, archive.ErrAway) != want.away {
			t.Errorf("got %v, want %+v", err, want)
		}
	}
}
