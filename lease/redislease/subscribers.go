package redislease

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// sweepEvery is how often subscribers looks which names are not of interest any more, and which
	// have moved.
	sweepEvery = time.Second
	// A channel that cannot be subscribed to is tried again after leastPause, twice that, and so on
	// up to mostPause. Where the server does not allow it, it is tried after refusedPause.
	leastPause, mostPause, refusedPause = 20 * time.Millisecond, time.Second, 10 * time.Second
)

// channel is that of the lock of one name. The empty name has one as well, on which nothing is
// notified: as long as it is subscribed to, others can be.
type channel struct {
	name, channel string
	state         channelState
	subscriber    *subscriber   // nil while away
	again         time.Time     // when to try again, while away
	pause         time.Duration // before that
}

// longer is the next pause.
func (c *channel) longer() time.Duration { return max(leastPause, min(2*c.pause, mostPause)) }

type channelState int

const (
	away  channelState = iota // subscribed to nowhere
	asked                     // and not answered yet
	received
	channelStates
)

// subscribers keeps the subscriptions on a Cluster: one connection to each server, for the channels
// of the names that this process waits for or watches. All but the reading and writing of each
// subscriber happens on one goroutine, that of run.
type subscribers struct {
	store    *store
	wake     func(name string, requests []string)
	events   chan event
	channels map[string]*channel // by name
	states   [channelStates]int  // how many there are of each
	at       map[*redis.Client]*subscriber
	away     map[*channel]struct{}
	retry    *time.Timer // for those
	next     time.Time   // when that fires; zero: not at all
	begun    bool        // wake knows that it is being notified
	working  sync.WaitGroup
}

func newSubscribers(s *store, wake func(name string, requests []string)) *subscribers {
	return &subscribers{
		store: s, wake: wake, events: make(chan event, 128),
		channels: make(map[string]*channel), at: make(map[*redis.Client]*subscriber), away: make(map[*channel]struct{}),
	}
}

// run listens until ctx ends, or no channel can be subscribed to at all.
func (l *subscribers) run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer l.working.Wait()
	defer stop()
	newcomers := l.store.interest.follow()
	defer l.store.interest.unfollow(newcomers)
	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	l.retry = time.NewTimer(time.Hour)
	defer l.retry.Stop()
	for err := l.add(ctx, ""); ; {
		if err != nil && l.states[asked] == 0 && l.states[received] == 0 && ctx.Err() == nil {
			return fmt.Errorf("listen: %w", err)
		}
		err = nil
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-newcomers.some:
			for _, name := range l.store.interest.take(newcomers) {
				if l.channels[name] == nil {
					err = l.add(ctx, name)
				}
			}
		case e := <-l.events:
			err = l.received(e)
		case <-l.retry.C:
			err = l.tryAgain(ctx)
		case <-sweep.C:
			l.sweep(ctx)
		}
	}
}

func (l *subscribers) add(ctx context.Context, name string) error {
	c := &channel{name: name, channel: l.store.lockChannel(name)}
	l.channels[name] = c
	l.states[away]++
	l.away[c] = struct{}{}
	return l.place(ctx, c)
}

// place subscribes to a channel that is away, on the server that keeps it.
func (l *subscribers) place(ctx context.Context, c *channel) error {
	node, err := l.store.router.node(ctx, c.channel)
	if err != nil {
		l.later(c, c.longer(), err)
		return err
	}
	e := l.at[node]
	if e == nil {
		own, stop := context.WithCancel(ctx)
		e = newSubscriber(own, node, l.store.router.timeout, stop)
		l.at[node] = e
		l.working.Go(func() {
			defer stop()
			e.run(own, func(v event) {
				select {
				case l.events <- v:
				case <-own.Done():
				}
			})
		})
	}
	delete(l.away, c)
	c.subscriber, e.has[c] = e, struct{}{}
	l.set(c, asked)
	e.add(order{c: c})
	return nil
}

func (l *subscribers) set(c *channel, s channelState) {
	l.states[c.state]--
	l.states[s]++
	c.state = s
}

// later has a channel, which is subscribed to nowhere, tried again after a pause.
func (l *subscribers) later(c *channel, pause time.Duration, err error) {
	l.store.router.refresh(err)
	l.set(c, away)
	l.away[c] = struct{}{}
	c.pause, c.again = pause, time.Now().Add(pause)
	l.arm(c.again)
}

func (l *subscribers) arm(again time.Time) {
	if l.next.IsZero() || again.Before(l.next) {
		l.next = again
		l.retry.Reset(time.Until(again))
	}
}

func (l *subscribers) tryAgain(ctx context.Context) (err error) {
	l.next = time.Time{}
	soon := time.Now().Add(leastPause / 2) // many become due at nearly the same time
	for c := range l.away {
		if c.again.Before(soon) {
			if failed := l.place(ctx, c); failed != nil {
				err = failed
			}
		} else {
			l.arm(c.again)
		}
	}
	return err
}

// leave takes a channel from its subscriber. A subscriber without channels is closed.
func (l *subscribers) leave(c *channel, ask bool) {
	e := c.subscriber
	c.subscriber = nil
	delete(e.has, c)
	switch {
	case len(e.has) == 0:
		e.stop()
		delete(l.at, e.node)
	case ask:
		e.add(order{c: c, leave: true})
	}
}

// An event is acted on here. The error says why a channel cannot be subscribed to, where no later
// try is known to help.
func (l *subscribers) received(e event) error {
	if l.at[e.subscriber.node] != e.subscriber {
		return nil // it was closed
	}
	c := e.c
	if e.kind == moved || e.kind == notified {
		c = l.channels[l.store.lockChannelName(e.channel)]
	}
	if e.kind != disconnected && (c == nil || c.subscriber != e.subscriber) {
		return nil // it was left
	}
	switch e.kind {
	case notified:
		l.wake(c.name, strings.Fields(e.payload))
	case subscribed:
		l.subscribed(c)
	case moved:
		l.leave(c, false)
		l.later(c, leastPause, errMoved)
	case refused:
		l.leave(c, false)
		if isRedirect(e.err) || isPassing(e.err) {
			l.later(c, c.longer(), e.err)
		} else {
			l.later(c, refusedPause, e.err)
		}
		if !isRedirect(e.err) {
			return e.err
		}
	case disconnected:
		e.subscriber.stop()
		delete(l.at, e.subscriber.node)
		for c := range e.subscriber.has {
			c.subscriber = nil
			l.later(c, c.longer(), e.err)
		}
		return e.err
	}
	return nil
}

func (l *subscribers) subscribed(c *channel) {
	l.set(c, received)
	c.pause = 0
	if !l.begun {
		l.begun = true
		l.wake("", nil)
	}
	if c.name != "" { // earlier notifications were missed
		l.wake(c.name, nil)
	}
}

// sweep leaves the channels that are not of interest any more, and follows those that another
// server keeps now. A server that has lost channels need not say so.
func (l *subscribers) sweep(ctx context.Context) {
	now := time.Now()
	for name, c := range l.channels {
		switch {
		case name != "" && !l.store.interest.lasts(name, now):
			if c.subscriber != nil {
				l.leave(c, true)
			}
			delete(l.channels, name)
			delete(l.away, c)
			l.states[c.state]--
		case c.subscriber != nil:
			if node, err := l.store.router.node(ctx, c.channel); err == nil && node != c.subscriber.node {
				l.leave(c, true)
				l.later(c, leastPause, errMoved)
			}
		}
	}
}

// isPassing shows that a server cannot answer now, but will.
func isPassing(err error) bool {
	s := err.Error()
	return strings.HasPrefix(s, "CLUSTERDOWN") || strings.HasPrefix(s, "LOADING") || strings.HasPrefix(s, "MASTERDOWN")
}
