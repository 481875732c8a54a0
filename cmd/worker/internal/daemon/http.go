package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"github.com/solotick/solotick/config"
)

// newHandler serves the endpoints for machines, and the page and its API at all other paths. reason
// returns why the replica is not ready, or an empty text when it is.
func newHandler(metrics http.Handler, reason func() string, page http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if reason := reason(); reason != "" {
			text(w, http.StatusServiceUnavailable, reason+"\n")
			return
		}
		text(w, http.StatusOK, "ok\n")
	})
	mux.Handle("/", page)
	return mux
}

func text(w http.ResponseWriter, status int, body string) {
	header := w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body)) // the client may be gone
}

// server serves HTTP from start to stop.
type server struct {
	http   *http.Server
	conns  *connections
	listen config.Server
	logger *slog.Logger
	ended  chan struct{}
}

func newServer(listen config.Server, handler http.Handler, logger *slog.Logger) *server {
	return &server{listen: listen, logger: logger, conns: newConnections(logger), ended: make(chan struct{}), http: &http.Server{
		Handler:           marked(handler),
		ConnContext:       withConnection,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelDebug), // mostly errors of clients
	}}
}

// start listens and serves until stop. It calls failed when serving ends before that.
func (s *server) start(ctx context.Context, failed func(error)) error {
	listener, err := s.bind(ctx)
	if err != nil {
		close(s.ended)
		return err
	}
	s.logger.Info("http listening", slog.String("addr", listener.Addr().String()))
	s.serve(listener, failed)
	return nil
}

func (s *server) serve(on net.Listener, failed func(error)) {
	go func() {
		defer close(s.ended)
		if err := s.http.Serve(listener{on, s.conns}); !errors.Is(err, http.ErrServerClosed) {
			failed(fmt.Errorf("serve HTTP on %s: %w", on.Addr(), err))
		}
	}()
}

// bind opens the address. If the default address is taken, it opens a free port: nobody asked for
// that address.
func (s *server) bind(ctx context.Context) (net.Listener, error) {
	var listen net.ListenConfig
	wanted, network := s.listen.Addr.HostPort, "tcp"
	if addr, err := netip.ParseAddrPort(wanted); err == nil && addr.Addr().Is4() {
		network = "tcp4" // else 0.0.0.0 is every address, also of IPv6
	}
	listener, err := listen.Listen(ctx, network, wanted)
	taken := errors.Is(err, syscall.EADDRINUSE)
	switch {
	case err == nil:
		return listener, nil
	case taken && !s.listen.Addr.Given:
		host, _, splitErr := net.SplitHostPort(wanted)
		if splitErr != nil {
			return nil, splitErr
		}
		s.logger.Info("default http address is taken, using a free port", slog.String("taken", wanted))
		return listen.Listen(ctx, network, net.JoinHostPort(host, "0"))
	case taken:
		return nil, fmt.Errorf("http.addr: %s is taken: stop what listens there, or choose another address with --http or "+
			"http.addr (port 0 picks a free one)", wanted)
	default:
		return nil, fmt.Errorf("http.addr: cannot listen on %s: %w; choose another address with --http or http.addr",
			wanted, err)
	}
}

// stop waits for requests in progress, at most until ctx ends or for 3 s.
func (s *server) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, serverStopTimeout)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close() // a slow client is no failure of the worker
	}
	<-s.ended
	return nil
}

const serverStopTimeout = 3 * time.Second
