package servertest

import (
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"time"
)

// Etcd starts an etcd of one member. It is reached at its Addr(0).
func Etcd(args ...string) (*Server, error) {
	program, err := Program("etcd")
	if err != nil {
		return nil, err
	}
	return Start(2, func(s *Server) *exec.Cmd {
		peer, client := "http://"+s.Addr(1), "http://"+s.Addr(0)
		return exec.Command(program, append([]string{
			"--name", "a", "--data-dir", "data", "--log-level", "warn", "--unsafe-no-fsync",
			"--listen-client-urls", client, "--advertise-client-urls", client,
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "a=" + peer,
		}, args...)...)
	}, Healthy)
}

// EtcdCluster starts one of three members.
func EtcdCluster(args ...string) (members []*Server, err error) {
	for range 3 { // another process may take a port first
		if members, err = etcdCluster(args); err == nil {
			return members, nil
		}
		for _, s := range members {
			s.Stop()
		}
	}
	return nil, err
}

// etcdCluster returns the members that have begun, also with an error.
func etcdCluster(args []string) ([]*Server, error) {
	program, err := Program("etcd")
	if err != nil {
		return nil, err
	}
	var members []*Server
	var initial []string
	for i := range 3 {
		name := fmt.Sprint("m", i)
		s, err := Start(2, func(s *Server) *exec.Cmd {
			if len(initial) < 3 {
				return exec.Command("sleep", "600") // holds the place of a member whose peers are not known
			}
			peer, client := "http://"+s.Addr(1), "http://"+s.Addr(0)
			return exec.Command(program, append([]string{
				"--name", name, "--data-dir", "data", "--log-level", "warn", "--unsafe-no-fsync",
				"--listen-client-urls", client, "--advertise-client-urls", client,
				"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", strings.Join(initial, ","),
			}, args...)...)
		}, func(*Server) error { return nil })
		if err != nil {
			return members, err
		}
		s.ready = Healthy
		initial = append(initial, name+"=http://"+s.Addr(1))
		members = append(members, s)
	}
	for _, s := range members {
		s.Kill()
		if err := s.Begin(); err != nil {
			return members, err
		}
	}
	for _, s := range members {
		if err := s.Await(); err != nil {
			return members, err
		}
	}
	return members, nil
}

// Healthy returns nil when an etcd serves.
func Healthy(s *Server) error {
	_, err := get(s, "/health")
	return err
}

func get(s *Server, path string) (string, error) {
	client := http.Client{Timeout: time.Second}
	defer client.CloseIdleConnections()
	res, err := client.Get("http://" + s.Addr(0) + path)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", path, res.Status, text)
	}
	return string(text), err
}

// Leads reports whether a member of an etcd leads the others.
func Leads(s *Server) bool {
	text, err := get(s, "/metrics")
	return err == nil && strings.Contains(text, "\netcd_server_is_leader 1\n")
}
