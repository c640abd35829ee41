package api

import (
	"log/slog"
	"net/http"
	"time"
)

// Server is an http.Server for a with every limit set, so that no client holds a connection for nothing. Listening,
// TLS and shutting down are the host's business; shutting down ends a's event streams.
func Server(a *API, address string, logger *slog.Logger) *http.Server {
	s := &http.Server{
		Addr:              address,
		Handler:           a,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      60 * time.Second, // event streams set their own
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	s.RegisterOnShutdown(a.Close)
	return s
}
