package stores

import (
	"io"
	"net/url"
	"time"

	"github.com/solotick/solotick/cmd/worker/internal/exitcode"
	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/etcdlease"
	"github.com/solotick/solotick/lease/mysqllease"
	"github.com/solotick/solotick/lease/natslease"
	"github.com/solotick/solotick/lease/pglease"
	"github.com/solotick/solotick/lease/zklease"
)

// server is a store on a server other than Redis.
type server interface {
	protocol.Checker
	io.Closer
}

// servers opens such a store, by the scheme of its URL. None of them connects yet. An error shows
// no password.
var servers = map[string]func(url, namespace string, timeout time.Duration) (server, error){
	"etcd":       openEtcd,
	"etcds":      openEtcd,
	"mariadb":    openMySQL,
	"mysql":      openMySQL,
	"nats":       openNATS,
	"postgres":   openPostgreSQL,
	"postgresql": openPostgreSQL,
	"tls":        openNATS,
	"zk":         openZooKeeper,
}

func openEtcd(url, namespace string, timeout time.Duration) (server, error) {
	return etcdlease.Open(url, namespace, etcdlease.WithTimeout(timeout))
}

func openMySQL(url, namespace string, timeout time.Duration) (server, error) {
	return mysqllease.Open(url, namespace, mysqllease.WithTimeout(timeout))
}

func openNATS(url, namespace string, timeout time.Duration) (server, error) {
	return natslease.Open(url, namespace, natslease.WithTimeout(timeout))
}

func openPostgreSQL(url, namespace string, timeout time.Duration) (server, error) {
	return pglease.Open(url, namespace, pglease.WithTimeout(timeout))
}

func openZooKeeper(url, namespace string, timeout time.Duration) (server, error) {
	return zklease.Open(url, namespace, zklease.WithTimeout(timeout))
}

// openServer opens the store of a URL. The error is an *exitcode.ConfigError.
func openServer(text, namespace string, timeout time.Duration) (*Store, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, refused("cannot be read as a URL")
	}
	s, err := servers[u.Scheme](text, namespace, timeout)
	if err != nil {
		return nil, refused("cannot be used: " + err.Error())
	}
	return &Store{Store: s, Closer: s, Checker: s, Addr: u.Host + u.Path}, nil
}

func refused(rule string) error {
	return &exitcode.ConfigError{Err: &config.Error{Field: "store.url", Rule: rule}}
}

// checkServer reports whether the store of a URL can be opened.
func checkServer(url, namespace string) error {
	s, err := openServer(url, namespace, CommandTimeout)
	if err != nil {
		return err
	}
	return s.Close()
}
