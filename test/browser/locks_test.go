package browser

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/lock"
)

func TestLockIsReleasedByForce(t *testing.T) {
	f := newFleet(t, demo(t))
	w := f.start("eu-1")
	store, err := redislease.New(f.redis.Client(t), "billing")
	require.NoError(t, err)
	locks := lock.New(store)
	defer locks.Close()
	stock := locks.Mutex("stock", lock.WithFairness())
	held, err := stock.Acquire(t.Context())
	require.NoError(t, err)
	waiter := make(chan *lock.Hold, 1)
	go func() {
		if next, err := stock.Acquire(t.Context()); err == nil {
			waiter <- next
		}
		close(waiter)
	}()

	p := newTab(t, look{width: 390})
	w.signIn(p, "/locks")
	p.await(`document.querySelector("main ol")`)
	assert.Contains(t, p.text("tbody"), "stock")
	assert.Contains(t, p.text("tbody"), "1 waits")
	assert.Empty(t, violations(p))
	p.expectLoad(func() { p.click(`a[href*="/locks/release"]`) })
	assert.Contains(t, p.text("main"), "the next in the queue gets it with a higher token")
	assert.Empty(t, violations(p))
	p.click("#reason")
	p.write("its holder is stuck")
	p.expectLoad(func() { p.click("main form button") })
	next := <-waiter
	require.NotNil(t, next, "the waiter got it")
	assert.Greater(t, next.Token(), held.Token())
	require.NoError(t, next.Release(t.Context()))
	p.open(w.url("/audit"))
	assert.Contains(t, p.text("table"), "its holder is stuck")
	p.quiet(w.host)
}
