package natslease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/solotick/solotick/internal/casstore"
	"github.com/solotick/solotick/internal/steady"
)

// ask sends a message to the bucket, which is made when it is absent, or to the API about it, and
// decodes the answer.
func (m *medium) ask(ctx context.Context, msg *nats.Msg, out any) error {
	if !m.fits.Load() {
		if _, err := m.look(ctx); err != nil {
			return err
		}
	}
	err := m.request(ctx, msg, out)
	if errors.Is(err, nats.ErrNoResponders) || code(err) == noStream {
		if _, err := m.look(ctx); err != nil {
			return err
		}
		err = m.request(ctx, msg, out)
	}
	return err
}

// look asks the leader of the bucket's stream about it and for the time, and makes the stream when
// it is absent.
func (m *medium) look(ctx context.Context) (*jetstream.StreamInfo, error) {
	m.fits.Store(false)
	for made := false; ; made = true {
		newest, asked, info := m.newest.Load(), steady.Now(), new(jetstream.StreamInfo)
		err := m.request(ctx, &nats.Msg{Subject: m.prefix + ".STREAM.INFO." + m.stream}, info)
		switch {
		case err == nil:
			if err := fit(info.Config); err != nil {
				return info, err
			}
			m.clock.Observe(leader, asked, steady.Now(), info.TimeStamp, info.TimeStamp)
			back := m.seen(newest, info.State.LastSeq)
			// A full bucket takes only what is smaller than before: not even a renewal.
			m.full.Store(info.Config.MaxBytes > 0 && info.State.Bytes > uint64(info.Config.MaxBytes)/10*9)
			m.looked.Store(int64(asked))
			m.fits.Store(true)
			if back { // nothing is decided from memory
				return info, fmt.Errorf("%w: its last sequence is %d, after %d", casstore.ErrWentBack, info.State.LastSeq, newest)
			}
			return info, nil
		case code(err) != noStream || m.mustExist || made:
			return nil, err
		}
		if err := m.make(ctx); err != nil && code(err) != streamExists {
			return nil, err
		}
	}
}

// seen notes that a sequence was there, after another one. The stream went back if it is less.
func (m *medium) seen(before, sequence uint64) (back bool) {
	if back = sequence < before; back {
		m.newest.CompareAndSwap(before, sequence)
		select {
		case m.wentBack <- struct{}{}:
		default: // it is known
		}
	}
	for newest := m.newest.Load(); sequence > newest && !m.newest.CompareAndSwap(newest, sequence); {
		newest = m.newest.Load()
	}
	return back
}

// make makes the stream. Its sequences are beyond those of any that had the name before, so that no
// revision comes twice.
func (m *medium) make(ctx context.Context) error {
	msg, err := message(m.prefix+".STREAM.CREATE."+m.stream, jetstream.StreamConfig{
		Name: m.stream, Subjects: []string{"$KV." + m.bucket + ".>"}, Description: "leases of Solotick",
		FirstSeq: uint64(time.Now().UnixMicro()), MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, AllowMsgTTL: true,
		MaxMsgs: -1, MaxBytes: cmp.Or(m.maxBytes, -1), MaxMsgSize: -1, MaxConsumers: -1, Replicas: m.replicas,
		AllowRollup: true, DenyDelete: true, // as other clients expect of a bucket
	})
	if err != nil {
		return err
	}
	return m.request(ctx, msg, new(jetstream.StreamInfo))
}

// fit returns how the settings of a bucket would lose values.
func fit(c jetstream.StreamConfig) error {
	var faults []string
	fault := func(wrong bool, text string) {
		if wrong {
			faults = append(faults, text)
		}
	}
	fault(!c.AllowMsgTTL, "it does not allow messages with a TTL")
	fault(c.MaxAge > 0, fmt.Sprintf("it keeps values for %s only", c.MaxAge))
	fault(c.Discard != jetstream.DiscardNew, "it discards old values when it is full")
	fault(c.Retention != jetstream.LimitsPolicy, "it removes values that were read")
	fault(c.Mirror != nil || len(c.Sources) > 0, "it is a copy of another bucket")
	fault(c.NoAck, "it acknowledges nothing")
	fault(c.Sealed, "it is sealed")
	if faults == nil {
		return nil
	}
	return fmt.Errorf("%w: %s", errUnfit, strings.Join(faults, ", "))
}

// lookEvery is how old what is known of the servers' clock may be.
const lookEvery = time.Second

// leader is the server that leads the stream, whichever that is: its answers have the time.
const leader = "leader"

// Clock implements casstore.Medium.
func (m *medium) Clock(ctx context.Context) (time.Time, error) {
	if looked := m.looked.Load(); looked == 0 || steady.Instant(looked).Until(steady.Now()) > lookEvery {
		if _, err := m.look(ctx); err != nil {
			return time.Time{}, m.failed(err)
		}
	}
	now, _ := m.clock.Now()
	return now.Add(time.Duration(m.step.Load())), nil
}
