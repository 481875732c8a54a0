package etcdlease

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/casstore"
	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/internal/steady"
)

// clock asks the members for the time by HTTP: each of its own accord, from the first use on. Their
// answers have whole seconds. So each question is asked when the answer cuts in half what the
// member's clock can be.
type clock struct {
	casstore.Clock
	urls    []string
	client  http.Client
	timeout time.Duration

	begin sync.Once
	life  context.Context
	end   context.CancelFunc
	done  sync.WaitGroup
	known chan struct{} // closed when most members have answered, or one has and each was asked

	mu    sync.Mutex
	asked map[string]bool // members, and whether they have answered
	last  error           // why the last question was not answered; nil when it was
	ahead time.Duration   // of what the members say; tests step their clocks by it
}

const (
	fine     = 10 * time.Millisecond // a clock that is known so well is asked only for steps
	askEvery = 5 * time.Second
)

func (c *clock) init(t http.RoundTripper, timeout time.Duration) {
	c.client, c.timeout = http.Client{Transport: t}, timeout
	c.life, c.end = context.WithCancel(context.Background())
	c.known = make(chan struct{})
}

func (c *clock) close() {
	c.end()
	c.begin.Do(func() {}) // none begins any more
	c.done.Wait()
	c.client.CloseIdleConnections()
}

func (c *clock) start() {
	c.begin.Do(func() {
		for _, url := range c.urls {
			c.done.Go(func() { c.follow(url) })
		}
	})
}

// explained adds to the error of a call without an answer why the last question about the time had
// none: that names a certificate that is refused, and the calls do not.
func (c *clock) explained(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		return err
	}
	return fmt.Errorf("%w: %w", err, c.last)
}

// now returns the time of the members. The first call waits for most of them to answer, for one
// alone may be wrong, or for one when the others do not.
func (c *clock) now(ctx context.Context) (time.Time, error) {
	c.start()
	select {
	case <-c.known:
	case <-ctx.Done():
		return time.Time{}, c.explained(fmt.Errorf("%w: %w", errNoClock, context.Cause(ctx)))
	case <-c.life.Done():
		return time.Time{}, casstore.ErrClosed
	}
	at, _ := c.Now()
	return at, nil
}

// follow asks a member for as long as the store lives.
func (c *clock) follow(url string) {
	for c.life.Err() == nil {
		err := c.ask(url)
		c.note(url, err)
		if err != nil {
			sleep.For(c.life, time.Second/2)
			continue
		}
		pause := askEvery
		if c.Spread(url) > fine {
			pause = 0
		}
		at, _ := c.Middle(url)
		at = at.Add(pause)
		sleep.For(c.life, pause+at.Truncate(time.Second).Add(time.Second).Sub(at))
	}
}

// note notes whether a member has answered.
func (c *clock) note(url string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.last = err
	}
	select {
	case <-c.known:
		return
	default:
	}
	if c.asked == nil {
		c.asked = make(map[string]bool)
	}
	c.asked[url] = c.asked[url] || err == nil
	answered := 0
	for _, ok := range c.asked {
		if ok {
			answered++
		}
	}
	if answered > len(c.urls)/2 || answered > 0 && len(c.asked) == len(c.urls) {
		close(c.known)
	}
}

// ask asks a member for the time once.
func (c *clock) ask(url string) error {
	patience := c.timeout
	select {
	case <-c.known:
	default: // a call waits for this
		patience /= attempts
	}
	ctx, cancel := context.WithTimeout(c.life, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	sent := steady.Now()
	res, err := c.client.Do(req)
	if err != nil {
		return err
	}
	received := steady.Now()
	_, err = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<16))
	_ = res.Body.Close()
	if err != nil {
		return err
	}
	at, err := http.ParseTime(res.Header.Get("Date"))
	if err != nil {
		return fmt.Errorf("%s: %s: %w", url, res.Status, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = nil
	at = at.Add(c.ahead)
	c.Observe(url, sent, received, at, at.Add(time.Second))
	return nil
}
