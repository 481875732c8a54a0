package redislease

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
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

// subscribe calls notify with each message on a channel, and with the empty message once it
// listens.
func (s *store) subscribe(ctx context.Context, channel, verb string, notify func(message string)) error {
	sub := s.client.Subscribe(ctx, channel)
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
