package main

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick"
	"github.com/solotick/solotick/lease/memlease"
)

// shared has the list that both replicas see, and the lines that they print.
type shared struct {
	mu      sync.Mutex
	tenants []string
	text    bytes.Buffer
}

func (s *shared) set(tenants ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tenants = tenants
}

func (s *shared) list(context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tenants, nil
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *shared) count(text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Count(s.text.Bytes(), []byte(text))
}

func TestTenantsComeAndGoOnEveryReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		store, all := new(memlease.Store), new(shared)
		var replicas sync.WaitGroup
		for range 2 {
			b := &billing{scheduler: solotick.On(store), list: all.list, out: all}
			replicas.Go(func() { require.NoError(t, b.run(ctx)) })
		}
		all.set("acme", "Üb & Söhne")
		time.Sleep(65 * time.Second)
		require.Equal(t, 6, all.count("bill acme for"), &all.text)
		require.Equal(t, 6, all.count("bill Üb & Söhne for"))

		all.set("acme")
		time.Sleep(time.Minute)
		require.Equal(t, 12, all.count("bill acme for"), "once each, on two replicas")
		require.Equal(t, 6, all.count("bill Üb & Söhne for"), "none after it has left")
		stop()
		replicas.Wait()
	})
}
