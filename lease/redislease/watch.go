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
	// quiet is for how many timeouts a watched connection may be silent before it is asked whether it lives.
	quiet = 5

	// askEvery is how often Watch asks what people have ruled: messages get lost, and are not allowed everywhere.
	askEvery = 2 * time.Second
	// notedFor is for how long that can be asked.
	notedFor = time.Minute
)

// Watch implements [protocol.Watcher]. What was triggered, paused or resumed it tells within two seconds even if Redis does not deliver
// messages.
func (s *Store) Watch(ctx context.Context, wake func(name string, occasion int64)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		s.ask(ctx, wake)
	}()
	err := s.Session.Watch(ctx, wake)
	var refused redis.Error
	if errors.As(err, &refused) && !strings.HasPrefix(refused.Error(), "LOADING") && ctx.Err() == nil {
		// Without messages: nothing else can be told, so the caller may as well try again later.
		t := time.NewTimer(quiet * askEvery)
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

// subscribe tells what Redis publishes on a channel, and the empty message once it listens.
func (s *Store) subscribe(ctx context.Context, channel, verb string, tell func(message string)) error {
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
			tell("")
		case *redis.Message:
			tell(m.Payload)
		}
	}
}

// receive returns what comes next. A connection that is dead at the other end only is silent for ever: after a while it is
// asked, and fails if it stays silent.
func receive(ctx context.Context, sub *redis.PubSub, timeout time.Duration) (any, error) {
	for asked := false; ; asked = true {
		m, err := sub.ReceiveTimeout(ctx, quiet*timeout)
		var silent net.Error
		if asked || ctx.Err() != nil || !errors.As(err, &silent) || !silent.Timeout() {
			return m, err
		}
		if err := sub.Ping(ctx); err != nil {
			return nil, err
		}
	}
}

// ask tells what was triggered.
func (s *Store) ask(ctx context.Context, wake func(name string, occasion int64)) {
	t := time.NewTimer(askEvery / 10) // soon: Watch may be called again and again
	defer t.Stop()
	for after := int64(0); ; t.Reset(askEvery) {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if now, noted, err := s.noted(ctx, after); err == nil {
			after = now
			for _, text := range noted {
				wake(readWake(text))
			}
		}
	}
}

func (s *Store) noted(ctx context.Context, after int64) (now int64, noted []string, err error) {
	cmd, err := s.router.do(ctx, notedScript.command(ctx, []string{s.fleetKey(":triggered")}, after))
	if err != nil {
		return 0, nil, err
	}
	r, err := cmd.Slice()
	if err != nil || len(r) != 2 {
		return 0, nil, errors.Join(err, errReply)
	}
	now, _ = r[0].(int64)
	list, _ := r[1].([]any)
	for _, v := range list {
		if text, ok := v.(string); ok {
			noted = append(noted, text)
		}
	}
	return now, noted, nil
}

// note takes down that an occasion was triggered, or that a name was paused or resumed, for those who ask.
func (s *Store) note(ctx context.Context, name string, occasion int64) error {
	_, err := s.router.do(ctx, noteScript.command(ctx, []string{s.fleetKey(":triggered")},
		name+" "+strconv.FormatInt(occasion, 10), notedFor.Microseconds()))
	return err
}

func readWake(text string) (name string, occasion int64) {
	name, number, _ := strings.Cut(text, " ")
	occasion, _ = strconv.ParseInt(number, 10, 64)
	return name, occasion
}
