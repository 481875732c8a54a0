package stores

import (
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/solotick/solotick/cmd/worker/internal/exitcode"
	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/internal/protocol"
)

// Server is an open store on a server other than Redis, such as PostgreSQL.
type Server interface {
	protocol.Store
	io.Closer
}

// Opener opens the store of a URL without connecting to it. Its error must not show the password.
type Opener func(url, namespace string, timeout time.Duration) (Server, error)

var openers = map[string]Opener{}

// Register makes open the [Opener] of URLs with these schemes. main must call it before anything
// else.
func Register(open Opener, schemes ...string) {
	for _, scheme := range schemes {
		openers[scheme] = open
	}
}

// openServer opens a URL with the registered [Opener]. The error is an *exitcode.ConfigError.
func openServer(scheme, text, namespace string, timeout time.Duration) (*Store, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, refused("cannot be read as a URL")
	}
	open, ok := openers[scheme]
	if !ok {
		return nil, refused(fmt.Sprintf("this worker has Redis, SQLite and memory only; for %s use the worker of "+
			"github.com/solotick/solotick/cmd/worker/full, which the image and the packages contain", scheme))
	}
	s, err := open(text, namespace, timeout)
	if err != nil {
		return nil, refused("cannot be used: " + err.Error())
	}
	return &Store{Store: s, Closer: s, Checker: s, Addr: u.Host + u.Path}, nil
}

func refused(rule string) error {
	return &exitcode.ConfigError{Err: &config.Error{Field: "store.url", Rule: rule}}
}

// checkServer opens and closes the store of a URL, and returns the error.
func checkServer(scheme, url, namespace string) error {
	s, err := openServer(scheme, url, namespace, CommandTimeout)
	if err != nil {
		return err
	}
	return s.Close()
}
