package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/internal/skewtest"
)

const replicas = 3

// fleet is three processes of one system, a Redis for their locks, and another that they write to.
type fleet struct {
	binary   string
	system   string
	fault    fault
	locks    *server
	resource *server

	mu      sync.Mutex
	members [replicas]*exec.Cmd
	output  [replicas]*bytes.Buffer
	frozen  sync.WaitGroup
}

func startFleet(ctx context.Context, binary, dir, system string, x fault) (*fleet, error) {
	f := &fleet{binary: binary, system: system, fault: x}
	var err error
	if f.locks, err = startServer(ctx, dir); err != nil {
		return nil, err
	}
	if f.resource, err = startServer(ctx, dir); err != nil {
		f.locks.stop()
		return nil, err
	}
	for n := range replicas {
		if err := f.start(n); err != nil {
			return nil, errors.Join(err, f.stop())
		}
	}
	return f, nil
}

func (f *fleet) start(n int) error {
	c := exec.CommandContext(context.Background(), f.binary, "-system", f.system, "-redis", f.locks.addr, "-resource", f.resource.addr, "-work", f.fault.work.String())
	if len(f.fault.skews) > 0 {
		c.Env = append(os.Environ(), skewtest.Variable+"="+f.fault.skews[n].String())
	}
	c.SysProcAttr = dieWithParent()
	output := new(bytes.Buffer)
	c.Stderr = output
	if err := c.Start(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members[n], f.output[n] = c, output
	return nil
}

func (f *fleet) member(n int) *exec.Cmd {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.members[n]
}

// restart ends a replica by a signal, and starts another in its place.
func (f *fleet) restart(n int, by syscall.Signal) {
	c := f.member(n)
	_ = c.Process.Signal(by)
	_ = c.Wait()
	_ = f.start(n) // one that does not start is a replica less, and stop says so
}

// freeze stops a replica for a while.
func (f *fleet) freeze(ctx context.Context, n int, d time.Duration) {
	p := f.member(n).Process
	_ = p.Signal(syscall.SIGSTOP)
	f.frozen.Go(func() {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
		_ = p.Signal(syscall.SIGCONT)
	})
}

func (f *fleet) empty(ctx context.Context) { _ = f.locks.client.FlushAll(ctx).Err() }

// writes are the ticks that were written to the resource, in order.
func (f *fleet) writes(ctx context.Context) (ticks []int64, err error) {
	texts, err := f.resource.client.LRange(ctx, "writes", 0, -1).Result()
	for _, text := range texts {
		tick, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, err
		}
		ticks = append(ticks, tick)
	}
	return ticks, err
}

// stop ends the replicas and the servers. The error is of a replica that had ended by itself.
func (f *fleet) stop() (err error) {
	f.frozen.Wait()
	for n, c := range f.members {
		if c == nil {
			continue
		}
		if c.Process.Signal(syscall.SIGTERM) != nil {
			err = errors.Join(err, fmt.Errorf("%s: replica %d ended: %s", f.system, n, f.output[n]))
		}
	}
	for _, c := range f.members {
		if c != nil {
			_ = c.Wait()
		}
	}
	f.locks.stop()
	f.resource.stop()
	return err
}

// server is a redis-server that keeps nothing on disk.
type server struct {
	addr    string
	process *exec.Cmd
	client  *redis.Client
}

func startServer(ctx context.Context, dir string) (*server, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := listener.Addr().(*net.TCPAddr)
	_ = listener.Close()
	c := exec.CommandContext(context.Background(), "redis-server", "--bind", addr.IP.String(), "--port", strconv.Itoa(addr.Port), "--save", "", "--appendonly", "no", "--dir", dir)
	c.SysProcAttr = dieWithParent()
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("start redis-server (make deps installs it): %w", err)
	}
	s := &server{addr: addr.String(), process: c, client: redis.NewClient(&redis.Options{Addr: addr.String()})}
	for range 500 {
		if err = s.client.Ping(ctx).Err(); err == nil {
			return s, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.stop()
	return nil, fmt.Errorf("redis-server at %s: %w", addr, err)
}

func (s *server) stop() {
	_ = s.client.Close()
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
}

// build builds the replica with a wall clock that can be wrong.
func build(ctx context.Context, dir string) (binary string, err error) {
	overlay, err := skewtest.Overlay(dir)
	if err != nil {
		return "", err
	}
	binary = filepath.Join(dir, "replica")
	out, err := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-overlay", overlay, "-o", binary,
		"github.com/solotick/solotick/test/compare/replica").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the replica: %w\n%s", err, out)
	}
	return binary, nil
}
