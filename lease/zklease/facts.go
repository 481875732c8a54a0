package zklease

import (
	"context"
	"fmt"
	"io"
	"net"
	"regexp"

	"github.com/solotick/solotick/internal/storekit"
)

// Server is what a server says of itself, if its 4lw.commands.whitelist has srvr, as by default.
type Server struct {
	Addr    string
	Err     error  // why it does not answer
	Version string // "" when it does not say
	TooOld  bool   // it is known to be before 3.6
	Mode    string // leader, follower, standalone; "" when it does not say, or does not serve
}

// Servers asks all servers of the URL, at once.
func (s *Store) Servers(ctx context.Context) []Server {
	addrs := s.medium.link.addrs
	list := make([]Server, len(addrs))
	_ = storekit.Each(len(list), func(i int) error {
		list[i] = Server{Addr: addrs[i]}
		list[i].ask(ctx)
		return nil
	})
	return list
}

var (
	versionLine = regexp.MustCompile(`(?m)^Zookeeper version: ([0-9.]+)`)
	modeLine    = regexp.MustCompile(`(?m)^Mode: (\w+)`)
)

func (s *Server) ask(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, greeting)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.Addr)
	if err != nil {
		s.Err = err
		return
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer func() { _ = conn.Close() }()
	_, err = conn.Write([]byte("srvr"))
	text, readErr := io.ReadAll(io.LimitReader(conn, 1<<16))
	if err != nil || len(text) == 0 && readErr != nil {
		s.Err = fmt.Errorf("%s: %w", s.Addr, errNoSession)
		return
	}
	if found := versionLine.FindSubmatch(text); found != nil {
		s.Version = string(found[1])
		s.TooOld = storekit.Older(s.Version, 3, 6)
	}
	if found := modeLine.FindSubmatch(text); found != nil {
		s.Mode = string(found[1])
	}
}
