package etcdlease_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/etcdlease"
)

// While etcd does not answer, calls come faster than they fail. They are not kept, to be made minutes
// later when nobody waits for them.
func TestNothingIsSentWhenNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answered := make(chan struct{})
		var sent []string
		put, wait := etcdlease.Puts(func(keys []string) {
			if keys[0] == "slow" {
				<-answered
				return
			}
			sent = append(sent, keys...)
		})
		for range 4 {
			go func() { _ = put(t.Context(), "slow") }()
			synctest.Wait()
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = put(ctx, "given up") }()
		synctest.Wait()
		cancel()
		go func() { _ = put(t.Context(), "waiting") }()
		synctest.Wait()
		close(answered)
		wait()
		require.Equal(t, []string{"waiting"}, sent)
	})
}
