package stores

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/solotick/solotick/cmd/worker/internal/exitcode"
	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/pglease"
)

// Servers are a store at servers other than Redis.
type Servers interface {
	protocol.Described
	io.Closer
}

// place is what a store is opened by.
type place struct {
	url, namespace string
	timeout        time.Duration // of each call
	existing       bool          // for a command: what a worker makes at its start is not made
}

// servers opens stores by the scheme of their URL; config.ServerURLs has the same schemes. None
// connects.
var servers = map[string]func(place) (Servers, error){
	"postgres":   openPostgres,
	"postgresql": openPostgres,
}

func openPostgres(p place) (Servers, error) {
	opts := []pglease.Option{pglease.WithTimeout(p.timeout)}
	if p.existing {
		opts = append(opts, pglease.WithExistingTables())
	}
	return made(pglease.Open(p.url, p.namespace, opts...))
}

// made keeps a nil pointer from becoming an interface that is not nil.
func made[S Servers](s S, err error) (Servers, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// openServers opens the store of a URL that names servers. Its errors show no part of the URL.
func openServers(cfg *config.Config, timeout time.Duration, existing bool) (*Store, error) {
	p := place{cfg.Store.URL.Reveal(), cfg.Namespace, timeout, existing}
	scheme, _, _ := strings.Cut(p.url, ":")
	open, ok := servers[scheme]
	if !ok {
		return nil, fmt.Errorf("store.url: no store is known for %s", scheme)
	}
	s, err := open(p)
	if err != nil {
		return nil, &exitcode.ConfigError{Err: fmt.Errorf("store.url: %w", err)}
	}
	return &Store{Store: s, Closer: s, Servers: s, Addr: s.Addr()}, nil
}
