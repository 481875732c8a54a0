package redislease

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// subscriber is a connection to one server of a Cluster, on which the channels of many names are
// subscribed to.
type subscriber struct {
	node    *redis.Client
	sub     *redis.PubSub
	timeout time.Duration
	stop    context.CancelFunc
	has     map[*channel]struct{} // belongs to subscribers, as stop does

	some   chan struct{} // of size 1: has an element when there are orders
	mu     sync.Mutex
	orders []order // not sent yet
	sent   []order // in the order in which the server answers them
}

// order is a request to subscribe to a channel, or to unsubscribe. Each is a command of its own,
// since one cannot name channels of several slots.
type order struct {
	c     *channel
	leave bool
}

// event is a message or an answer that a subscriber has received.
type event struct {
	subscriber *subscriber
	kind       eventKind
	c          *channel // that was subscribed to, or refused
	channel    string   // that something was notified on, or that the server does not keep any more
	payload    string
	err        error
}

type eventKind int

const (
	subscribed eventKind = iota
	refused
	moved
	notified
	disconnected // the connection has failed
)

func newSubscriber(ctx context.Context, node *redis.Client, timeout time.Duration, stop context.CancelFunc) *subscriber {
	return &subscriber{
		node: node, sub: node.SSubscribe(ctx), timeout: timeout, stop: stop,
		has: make(map[*channel]struct{}), some: make(chan struct{}, 1),
	}
}

// add has an order carried out.
func (e *subscriber) add(o order) {
	e.mu.Lock()
	e.orders = append(e.orders, o)
	e.mu.Unlock()
	select {
	case e.some <- struct{}{}:
	default:
	}
}

// run connects and listens until ctx ends, or the connection fails: that is notified last.
func (e *subscriber) run(ctx context.Context, notify func(event)) {
	own, stop := context.WithCancelCause(ctx)
	defer context.AfterFunc(own, func() { _ = e.sub.Close() })() // a read in progress does not see ctx
	var writing sync.WaitGroup
	writing.Go(func() { stop(e.write(own)) })
	stop(e.read(own, notify))
	writing.Wait()
	_ = e.sub.Close() // else it would connect again and again
	if ctx.Err() == nil {
		notify(event{subscriber: e, kind: disconnected, err: context.Cause(own)})
	}
}

func (e *subscriber) write(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-e.some:
		}
		for o, ok := e.nextToSend(); ok; o, ok = e.nextToSend() {
			call := e.sub.SSubscribe
			if o.leave {
				call = e.sub.SUnsubscribe
			}
			if err := call(ctx, o.c.channel); err != nil {
				return err
			}
		}
	}
}

func (e *subscriber) nextToSend() (o order, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.orders) == 0 {
		return order{}, false
	}
	o = e.orders[0]
	e.orders = e.orders[1:]
	e.sent = append(e.sent, o) // before it is: the answer may be quick
	return o, true
}

func (e *subscriber) read(ctx context.Context, notify func(event)) error {
	for {
		m, err := receive(ctx, e.sub, e.timeout)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		v, err := e.received(m, err)
		if err != nil {
			return err
		}
		if v != nil {
			v.subscriber = e
			notify(*v)
		}
	}
}

// The event of a message or an error that has arrived; nil when there is none.
func (e *subscriber) received(m any, err error) (*event, error) {
	var refusal redis.Error
	switch m := m.(type) {
	case *redis.Message:
		return &event{kind: notified, channel: m.Channel, payload: m.Payload}, nil
	case *redis.Subscription:
		o, ok := e.oldest()
		mine := ok && o.c.channel == m.Channel && o.leave == (m.Kind == "sunsubscribe")
		switch {
		case mine:
			e.answered()
			if o.leave {
				return nil, nil
			}
			return &event{kind: subscribed, c: o.c}, nil
		case m.Kind == "sunsubscribe": // nobody asked for it
			return &event{kind: moved, channel: m.Channel}, nil
		}
		return nil, fmt.Errorf("%w: %s, to which this store has not subscribed", errReply, m)
	case nil:
		// go-redis has left the connection for another one when the server names itself as the one
		// to go to.
		if !errors.As(err, &refusal) || strings.HasSuffix(err.Error(), " "+e.node.Options().Addr) {
			return nil, err
		}
		o, ok := e.oldest()
		if !ok {
			return nil, err
		}
		e.answered()
		if o.leave { // what has moved is not subscribed to any more
			return nil, nil
		}
		return &event{kind: refused, c: o.c, err: err}, nil
	}
	return nil, nil // an answer to Ping
}

func (e *subscriber) oldest() (o order, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.sent) == 0 {
		return order{}, false
	}
	return e.sent[0], true
}

func (e *subscriber) answered() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sent = e.sent[1:]
}
