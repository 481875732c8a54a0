package zktest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// StartEnsemble is LaunchEnsemble for one test, which fails without the servers and stops them at
// its end.
func StartEnsemble(t testing.TB, n int, settings ...string) []*Server {
	t.Helper()
	servers, err := LaunchEnsemble(n, settings...)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range servers {
		t.Cleanup(s.Stop)
	}
	return servers
}

// LaunchEnsemble starts n servers that elect a leader among them, and returns when all answer.
func LaunchEnsemble(n int, settings ...string) ([]*Server, error) {
	ports := freePorts(3 * n)
	settings = append([]string{"initLimit=20", "syncLimit=10"}, settings...)
	for i := range n {
		settings = append(settings, fmt.Sprintf("server.%d=127.0.0.1:%d:%d", i+1, ports[n+2*i], ports[n+2*i+1]))
	}
	servers := make([]*Server, n)
	failed := make([]error, n)
	var wg sync.WaitGroup
	for i := range servers {
		wg.Go(func() {
			s, err := prepare(ports[i], settings...)
			if err == nil {
				servers[i] = s
				err = os.WriteFile(filepath.Join(s.data(), "myid"), []byte(strconv.Itoa(i+1)), 0o600)
			}
			if err == nil {
				err = s.launch()
			}
			failed[i] = err
		})
	}
	wg.Wait()
	err := errors.Join(failed...)
	for _, s := range servers {
		if err != nil && s != nil {
			s.Stop()
		}
	}
	return servers, err
}

// Leads reports whether the server leads others.
func (s *Server) Leads() bool {
	conn, err := net.DialTimeout("tcp", s.Addr(), time.Second)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	err = conn.SetDeadline(time.Now().Add(2 * time.Second))
	if err == nil {
		_, err = io.WriteString(conn, "srvr")
	}
	text, readErr := io.ReadAll(conn)
	return err == nil && readErr == nil && strings.Contains(string(text), "Mode: leader")
}

// ThawAll thaws the servers of an ensemble that were frozen together, and returns when they answer. An
// ensemble of 3.8.0 that was frozen for some seconds opens no session for minutes about once in ten
// times, with or without clients. ThawAll then restarts it, as an operator would.
func ThawAll(t testing.TB, servers []*Server) {
	t.Helper()
	const patience = 20 * time.Second
	for _, s := range servers {
		s.Thaw(t)
	}
	var wg sync.WaitGroup
	var silent atomic.Int32
	for _, s := range servers {
		wg.Go(func() {
			for end := time.Now().Add(patience); s.greet() != nil; time.Sleep(20 * time.Millisecond) {
				if time.Now().After(end) {
					silent.Add(1)
					return
				}
			}
		})
	}
	wg.Wait()
	if silent.Load() == 0 {
		return
	}
	t.Logf("ZooKeeper: %d servers do not answer %s after they were frozen, and all are started again", silent.Load(), patience)
	for _, s := range servers {
		s.Kill()
	}
	for _, s := range servers {
		wg.Go(func() {
			if err := s.launch(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}
