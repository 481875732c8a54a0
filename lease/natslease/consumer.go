package natslease

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/solotick/solotick/internal/casstore"
)

const (
	// heartbeats come this often when there is nothing else.
	heartbeats = time.Second
	// silence is for how long a consumer may send nothing: it is lost then.
	silence = 3 * time.Second
)

// consumer gets messages of the stream. It is in the memory of a server, and ends there a few
// seconds after nobody listens.
type consumer struct {
	name    string
	pending int // there were so many messages when it was made
	*connection
	sub    *nats.Subscription
	msgs   chan *nats.Msg
	status chan nats.Status
	back   <-chan struct{} // of the medium; nil where it is of no interest
}

// consume makes a consumer of the messages to a subject.
func (m *medium) consume(ctx context.Context, subject string, room int, settings func(inbox string) map[string]any) (c *consumer, err error) {
	nc, err := m.connection.get(ctx)
	if err != nil {
		return nil, err
	}
	inbox := nc.NewInbox()
	c = &consumer{
		name: inbox[len(inboxPrefix(nc)):], connection: m.connection, msgs: make(chan *nats.Msg, room),
		status: nc.StatusChanged(nats.DISCONNECTED, nats.RECONNECTING, nats.CLOSED),
	}
	defer func() {
		if err != nil {
			c.end()
		}
	}()
	if c.sub, err = nc.ChanSubscribe(inbox, c.msgs); err != nil {
		return c, err
	}
	config := settings(inbox)
	config["name"], config["filter_subject"], config["ack_policy"] = c.name, subject, "none"
	config["num_replicas"], config["mem_storage"] = 1, true
	msg, err := message(m.prefix+".CONSUMER.CREATE."+m.stream+"."+c.name+"."+subject,
		map[string]any{"stream_name": m.stream, "action": "create", "config": config})
	if err != nil {
		return c, err
	}
	var made struct {
		Pending int `json:"num_pending"`
	}
	err = m.ask(ctx, msg, &made)
	c.pending = made.Pending
	return c, err
}

func (c *consumer) end() {
	if c.sub != nil {
		_ = c.sub.Unsubscribe() // an error says that the connection is closed
	}
	c.nc.RemoveStatusListener(c.status)
}

// receive returns the next message or heartbeat.
func (c *consumer) receive(ctx context.Context, quiet <-chan time.Time) (*nats.Msg, error) {
	select {
	case msg := <-c.msgs:
		return msg, nil
	case <-c.status:
		return nil, c.lost()
	case <-c.back:
		return nil, casstore.ErrWentBack
	case <-quiet:
		return nil, errSilent
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// page returns the first messages to a subject from a sequence on, without their data, at most
// count of them. It also returns how many more there are.
func (m *medium) page(ctx context.Context, subject string, from uint64, count int) (msgs []*nats.Msg, remaining int, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, m.timeout, errTimeout)
	defer cancel()
	c, err := m.consume(ctx, subject, count+1, func(string) map[string]any {
		return map[string]any{"deliver_policy": "by_start_sequence", "opt_start_seq": from, "headers_only": true}
	})
	if err != nil {
		return nil, 0, err
	}
	defer c.end()
	wanted := min(count, c.pending)
	if wanted == 0 {
		return nil, 0, nil
	}
	ask, err := message(m.prefix+".CONSUMER.MSG.NEXT."+m.stream+"."+c.name, map[string]any{"batch": wanted, "no_wait": true})
	if err != nil {
		return nil, 0, err
	}
	if err := c.nc.PublishRequest(ask.Subject, c.sub.Subject, ask.Data); err != nil {
		return nil, 0, err
	}
	for len(msgs) < wanted {
		msg, err := c.receive(ctx, nil)
		if err != nil {
			if denied := denied(c.nc, ask.Subject); denied != nil {
				return nil, 0, denied
			}
			return nil, 0, err
		}
		if msg.Header.Get("Status") != "" { // some have changed meanwhile, and there are no more
			return msgs, 0, nil
		}
		msgs = append(msgs, msg)
	}
	return msgs, c.pending - wanted, nil
}

// follower gets new messages, each exactly once and in order.
type follower struct {
	*consumer
	received uint64 // the sequence of the last message
	quiet    *time.Timer
}

func (m *medium) follow(ctx context.Context, subject string) (*follower, error) {
	// A watch has no end of its own, and a connection that comes back at once is not announced: see get.
	ctx, cancel := context.WithTimeoutCause(ctx, m.timeout, errTimeout)
	defer cancel()
	c, err := m.consume(ctx, subject, 8192, func(inbox string) map[string]any {
		return map[string]any{"deliver_subject": inbox, "deliver_policy": "new", "idle_heartbeat": heartbeats}
	})
	if err != nil {
		return nil, err
	}
	c.back = m.wentBack
	return &follower{consumer: c, quiet: time.NewTimer(silence)}, nil
}

func (f *follower) end() {
	f.quiet.Stop()
	f.consumer.end()
}

// next returns the next message, and its sequence in the stream. It returns an error when one may
// have been lost.
func (f *follower) next(ctx context.Context) (*nats.Msg, uint64, error) {
	for {
		f.quiet.Reset(silence)
		msg, err := f.receive(ctx, f.quiet.C)
		if err != nil {
			return nil, 0, err
		}
		if msg.Header.Get("Status") != "" { // a heartbeat
			if last := msg.Header.Get("Nats-Last-Consumer"); last != strconv.FormatUint(f.received, 10) {
				return nil, 0, fmt.Errorf("%w: %d were received, not %s", errGap, f.received, last)
			}
			continue
		}
		meta, err := msg.Metadata()
		if err != nil {
			return nil, 0, err
		}
		if f.received++; meta.Sequence.Consumer != f.received {
			return nil, 0, fmt.Errorf("%w: %d came, not %d", errGap, meta.Sequence.Consumer, f.received)
		}
		return msg, meta.Sequence.Stream, nil
	}
}
