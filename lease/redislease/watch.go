package redislease

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// A watched connection that was silent for quiet timeouts is pinged, and has to answer within
	// answerIn timeouts.
	quiet    = 10
	answerIn = 2

	// askEvery is how often Watch asks for triggers, pauses and resumptions: messages get lost, and
	// are not allowed everywhere.
	askEvery = 2 * time.Second
	// refusedFor is for how long messages that Redis refuses to deliver are not asked for again.
	refusedFor = 10 * time.Second
	// keptFor is for how long Redis keeps them.
	keptFor = time.Minute
)

// Watch implements [protocol.Store]. It notifies of triggers, pauses and resumptions within two
// seconds even if Redis does not deliver messages.
func (s *store) Watch(ctx context.Context, wake func(name string, tick int64)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer s.notes.listen(wake)()
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		s.ask(ctx)
	}()
	err := s.Session.Watch(ctx, wake)
	var refused redis.Error
	if errors.As(err, &refused) && !strings.HasPrefix(refused.Error(), "LOADING") && ctx.Err() == nil {
		// Without messages: nothing else can be notified, so the caller may as well try again later.
		t := time.NewTimer(refusedFor)
		select {
		case <-ctx.Done():
		case <-t.C:
		}
		t.Stop()
	}
	stop()
	<-asked
	return err
}

// subscribe calls notify with each message on the channels, and with the empty message once it
// listens.
func (s *store) subscribe(ctx context.Context, verb string, notify func(message string), channels ...string) error {
	sub := s.client.Subscribe(ctx, channels...)
	defer func() { _ = sub.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = sub.Close() }) // a read in progress does not see ctx
	defer stop()
	for {
		m, err := receive(ctx, sub, s.router.timeout)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", verb, err)
		}
		switch m := m.(type) {
		case *redis.Subscription:
			notify("")
		case *redis.Message:
			notify(m.Payload)
		}
	}
}

// receive returns what comes next. A connection that is dead at the other end only is silent for
// ever: after a while it is asked, and fails if it stays silent.
func receive(ctx context.Context, sub *redis.PubSub, timeout time.Duration) (any, error) {
	patience := quiet * timeout
	for asked := false; ; asked, patience = true, answerIn*timeout {
		m, err := sub.ReceiveTimeout(ctx, patience)
		var silent net.Error
		if asked || ctx.Err() != nil || !errors.As(err, &silent) || !silent.Timeout() {
			return m, err
		}
		if err := sub.Ping(ctx); err != nil {
			return nil, err
		}
	}
}

// note takes down that a tick was triggered, or that a name was paused or resumed, for those that
// ask. Claims and syncs bring along all but triggers, so that an error matters of these alone.
func (s *store) note(ctx context.Context, name string, tick int64) error {
	_, err := s.router.do(ctx, noteScript.command(ctx, []string{s.fleetKey(":triggered")},
		name+" "+strconv.FormatInt(tick, 10), keptFor.Microseconds()))
	if tick < 0 {
		return nil
	}
	return err
}

// notes passes on triggers, pauses and resumptions. Each answer about the time brings them along,
// since notifications may get lost. The zero value has no listeners.
type notes struct {
	mu        sync.Mutex
	listeners map[*func(name string, tick int64)]struct{}
	seen      int64     // up to when it has been read, in us of the server
	asked     time.Time // when it was read last; zero before the first answer that a new listener needs
}

// listen has wake called with each note, and with those of the last minute, until stop is called.
func (n *notes) listen(wake func(name string, tick int64)) (stop func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners == nil {
		n.listeners = make(map[*func(name string, tick int64)]struct{})
	}
	n.listeners[&wake] = struct{}{}
	n.seen, n.asked = 0, time.Time{}
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.listeners, &wake)
	}
}

// after is since when a call is to ask for notes; empty when there are no listeners.
func (n *notes) after() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.listeners) == 0 {
		return ""
	}
	return strconv.FormatInt(n.seen, 10)
}

// read takes in the notes after a time.
func (n *notes) read(now int64, after string, list any) {
	noted, _ := list.([]any)
	n.mu.Lock()
	if after == "" || after != strconv.FormatInt(n.seen, 10) { // another call has read them
		n.mu.Unlock()
		return
	}
	n.seen, n.asked = now, time.Now()
	var listeners []func(name string, tick int64)
	if len(noted) > 0 {
		for l := range n.listeners {
			listeners = append(listeners, *l)
		}
	}
	n.mu.Unlock()
	for _, v := range noted {
		name, number, _ := strings.Cut(text(v), " ")
		tick, _ := strconv.ParseInt(number, 10, 64)
		for _, wake := range listeners {
			wake(name, tick)
		}
	}
}

// age is how long ago they were read.
func (n *notes) age() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Since(n.asked)
}

// ask has notes read in time, where nobody asks for the time.
func (s *store) ask(ctx context.Context) {
	t := time.NewTimer(askEvery / 10) // soon: Watch may be called again and again
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		wait := askEvery - s.notes.age()
		if wait <= 0 {
			_, _, _ = s.values.Time(ctx) // an error shows in other calls, if it matters
			wait = askEvery
		}
		t.Reset(wait)
	}
}
