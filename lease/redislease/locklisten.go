package redislease

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/internal/sleep"
)

func (s *store) queueChannel() string { return "solotick:" + s.namespace + ":line" }

// queueChannels are the sharded channels on Cluster: one for the locks of each tag, in the slot of
// their keys.
func (s *store) queueChannels() []string {
	channels := make([]string, tags)
	for tag := range channels {
		channels[tag] = s.values.prefix[tag] + "line"
	}
	return channels
}

// Listen implements [protocol.Store].
func (s *store) Listen(ctx context.Context, wake func(name string, requests []string)) error {
	notify := func(message string) {
		name, requests, _ := strings.Cut(message, " ")
		wake(name, strings.Fields(requests))
	}
	if s.router.cluster != nil {
		return s.listenOnCluster(ctx, notify)
	}
	return s.subscribe(ctx, "listen", notify, s.queueChannel())
}

const (
	// Channels that moved, or whose connection failed, are subscribed to again after leastPause, or
	// after mostPause if they could not be. Where the server does not allow it, it is after
	// refusedFor.
	leastPause, mostPause = 20 * time.Millisecond, time.Second
	// movedEvery is how often it is looked which channels have moved: a server that has lost some
	// need not say so.
	movedEvery = time.Second
)

// errMoved is why channels are subscribed to again.
var errMoved = errors.New("another server keeps the channel")

// listenOnCluster listens on one connection to each server until ctx ends, or no channel can be
// subscribed to at all. What befalls one server leaves the others alone.
func (s *store) listenOnCluster(ctx context.Context, notify func(message string)) error {
	ctx, stop := context.WithCancel(ctx)
	var working sync.WaitGroup
	defer working.Wait()
	defer stop()
	type ended struct {
		channels []string
		pause    time.Duration
		err      error
	}
	ends, again := make(chan ended, tags), make(chan []string, tags)
	again <- s.queueChannels()
	b := &beginning{notify: notify, missing: make(map[string]bool)}
	for _, c := range s.queueChannels() {
		b.missing[c] = true
	}
	listening := 0
	for {
		select {
		case channels := <-again:
			groups := make(map[*redis.Client][]string) // nil: of no known server
			var err error
			for _, c := range channels {
				node, failed := s.router.node(ctx, c)
				if failed != nil {
					err = failed
				}
				groups[node] = append(groups[node], c)
			}
			for node, channels := range groups {
				listening++
				if node == nil {
					ends <- ended{channels, mostPause, err}
					continue
				}
				working.Go(func() {
					began, err := s.listenAt(ctx, node, channels, b)
					ends <- ended{channels, pauseAfter(began, err), err}
				})
			}
		case e := <-ends:
			if listening--; ctx.Err() != nil {
				return context.Cause(ctx)
			}
			s.router.refresh(e.err)
			b.settle(e.channels, false)
			if listening == 0 && !errors.Is(e.err, errMoved) {
				return fmt.Errorf("listen: %w", e.err)
			}
			time.AfterFunc(e.pause, func() { again <- e.channels })
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// beginning passes notifications on, one after the other. It notifies of a beginning once all
// channels are subscribed to or could not be, and then of each new connection.
type beginning struct {
	mu      sync.Mutex
	notify  func(message string)
	missing map[string]bool
	some    bool // of the channels are subscribed to
}

func (b *beginning) settle(channels []string, subscribed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := len(b.missing)
	for _, c := range channels {
		delete(b.missing, c)
	}
	b.some = b.some || subscribed
	if len(b.missing) == 0 && (subscribed || before > 0 && b.some) {
		b.notify("")
	}
}

func (b *beginning) pass(message string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notify(message)
}

func pauseAfter(began bool, err error) time.Duration {
	switch {
	case began, isRedirect(err):
		return leastPause
	case isRefusal(err) && !isPassing(err):
		return refusedFor
	}
	return mostPause
}

// listenAt listens to the channels of one server, until ctx ends, one of them moves, or the
// connection fails. It reports whether it has subscribed to all.
func (s *store) listenAt(ctx context.Context, node *redis.Client, channels []string, b *beginning) (began bool, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	var looking sync.WaitGroup
	defer looking.Wait()
	defer stop(nil)
	sub := node.SSubscribe(ctx)
	defer func() { _ = sub.Close() }()
	defer context.AfterFunc(ctx, func() { _ = sub.Close() })() // a read in progress does not see ctx
	for _, c := range channels {                               // each by a command: one cannot name channels of several slots
		if err := sub.SSubscribe(ctx, c); err != nil {
			return false, err
		}
	}
	looking.Go(func() {
		for sleep.For(ctx, movedEvery) {
			for _, c := range channels {
				if now, err := s.router.node(ctx, c); err == nil && now != node {
					stop(errMoved)
					return
				}
			}
		}
	})
	for missing := len(channels); ; {
		m, err := receive(ctx, sub, s.router.timeout)
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return missing == 0, err
		}
		switch m := m.(type) {
		case *redis.Message:
			b.pass(m.Payload)
		case *redis.Subscription:
			if m.Kind == "sunsubscribe" { // nobody asked for it
				return missing == 0, errMoved
			}
			if missing--; missing == 0 {
				b.settle(channels, true)
			}
		}
	}
}

// isPassing shows that a server cannot answer now, but will.
func isPassing(err error) bool {
	s := err.Error()
	return strings.HasPrefix(s, "CLUSTERDOWN") || strings.HasPrefix(s, "LOADING") || strings.HasPrefix(s, "MASTERDOWN")
}
