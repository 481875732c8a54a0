package natslease

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/solotick/solotick/internal/casstore"
	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/internal/storekit"
)

// medium keeps the values of a namespace as messages of a stream, one for each subject. It is a
// casstore.Medium. A revision is the sequence of a message in the stream.
type medium struct {
	options
	stream   string // of the bucket
	subjects string // what those of the namespace begin with
	clock    casstore.Clock
	looked   atomic.Int64  // the steady.Instant when the leader was asked last
	step     atomic.Int64  // is added to the time, by tests
	newest   atomic.Uint64 // the greatest sequence that was seen
	wentBack chan struct{} // has an element when one was less than before
	fits     atomic.Bool   // the bucket was there lately, and its settings fit
	full     atomic.Bool   // nine tenths of it were taken lately: no further key fits
}

// conflicts is how often a write is repeated that another one, whose end is not known yet, is in
// the way of.
const conflicts = 8

// Get implements casstore.Medium.
func (m *medium) Get(ctx context.Context, keys []string) ([]casstore.Kept, error) {
	kept := make([]casstore.Kept, len(keys))
	err := storekit.Each(len(keys), func(i int) error {
		found, err := m.last(ctx, m.subject(keys[i]))
		kept[i] = found.kept()
		return err
	})
	if err != nil {
		return nil, m.failed(err)
	}
	return kept, nil
}

// Exists implements casstore.Medium.
func (m *medium) Exists(ctx context.Context, key string) (bool, error) {
	var found stored
	msg, err := m.lastOf(m.subject(key))
	if err == nil {
		err = m.request(ctx, msg, &found)
	}
	switch {
	case code(err) == noStream, code(err) == noMessage:
		return false, nil
	case errors.Is(err, nats.ErrNoResponders): // no stream, or no JetStream
		if err = m.request(ctx, &nats.Msg{Subject: m.prefix + ".STREAM.INFO." + m.stream}, new(jetstream.StreamInfo)); code(err) == noStream {
			return false, nil
		}
	}
	if err != nil {
		return false, m.failed(err)
	}
	return found.kept().Revision != 0, nil
}

// Put implements casstore.Medium.
func (m *medium) Put(ctx context.Context, key string, data []byte, from uint64) (casstore.Kept, bool, error) {
	if from == 0 && data != nil && m.full.Load() {
		return casstore.Kept{}, false, m.failed(errRoom)
	}
	subject, expected := m.subject(key), from
	for n := range conflicts {
		if data != nil || from != 0 {
			sequence, err := m.write(ctx, subject, data, expected)
			switch {
			case err == nil && data == nil:
				return casstore.Kept{}, true, nil
			case err == nil:
				m.seen(0, sequence)
				return casstore.Kept{Data: data, Revision: sequence}, true, nil
			case code(err) != wrongRevision && code(err) != pendingWrite:
				return casstore.Kept{}, false, m.failed(err)
			}
		}
		found, err := m.last(ctx, subject)
		present := found.kept()
		switch {
		case err != nil:
			return casstore.Kept{}, false, m.failed(err)
		case present.Revision != from:
			return present, false, nil
		case data == nil && from == 0:
			return present, true, nil
		case n > 0 && expected == found.Message.Sequence: // another write is under way
			sleep.For(ctx, rand.N(5*time.Millisecond<<n)) // if ctx ends, the next write says so
		}
		expected = found.Message.Sequence // of the message that says that the key was removed
	}
	return casstore.Kept{}, false, m.failed(errPending)
}

// kept returns what a message says: nothing if its key was removed.
func (s stored) kept() casstore.Kept {
	if s.Message.Sequence == 0 || bytes.Contains(s.Message.Header, []byte("\r\n"+operation+":")) {
		return casstore.Kept{}
	}
	return casstore.Kept{Data: append([]byte{}, s.Message.Data...), Revision: s.Message.Sequence}
}

// subject returns the subject of a key. Its parts, between slashes, are tokens; what no token may
// have is written as an equals sign and two hexadecimal digits.
func (m *medium) subject(key string) string { return m.subjects + encode(key) }

func encode(key string) string {
	var b strings.Builder
	for i := range len(key) {
		switch c := key[i]; {
		case c == '/':
			b.WriteByte('.')
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	return b.String()
}

// key returns the key of a subject; ok reports whether it has one.
func (m *medium) key(subject string) (key string, ok bool) {
	rest, ok := strings.CutPrefix(subject, m.subjects)
	var b strings.Builder
	for i := 0; ok && i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '.':
			b.WriteByte('/')
		case c == '=':
			var decoded byte
			_, err := fmt.Sscanf(rest[i:min(i+3, len(rest))], "=%02X", &decoded)
			ok = err == nil
			b.WriteByte(decoded)
			i += 2
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), ok && encode(b.String()) == rest
}

// Keys implements casstore.Medium. It reads on from a sequence, which is the cursor. Whatever
// changes meanwhile has a later one then, and so is not left out.
func (m *medium) Keys(ctx context.Context, prefix, cursor string, count int) (keys []string, next string, err error) {
	from := uint64(1)
	if cursor != "" {
		if from, err = strconv.ParseUint(cursor, 10, 64); err != nil {
			return nil, "", m.failed(fmt.Errorf("cursor: %w", err))
		}
	}
	msgs, remaining, err := m.page(ctx, m.subjects+encode(prefix[:strings.LastIndexByte(prefix, '/')+1])+">", from, count)
	if err != nil {
		return nil, "", m.failed(err)
	}
	for _, msg := range msgs {
		if key, ok := m.key(msg.Subject); ok && msg.Header.Get(operation) == "" && strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	if remaining > 0 {
		meta, err := msgs[len(msgs)-1].Metadata()
		if err != nil {
			return nil, "", m.failed(err)
		}
		next = strconv.FormatUint(meta.Sequence.Stream+1, 10)
	}
	return keys, next, nil
}

// Watch implements casstore.Medium.
func (m *medium) Watch(ctx context.Context, changed func(key string, kept casstore.Kept), missed func()) error {
	f, err := m.follow(ctx, m.subjects+">")
	if err != nil {
		return m.failed(err)
	}
	defer f.end()
	if _, err := m.look(ctx); err != nil {
		return m.failed(err)
	}
	missed()
	for {
		msg, sequence, err := f.next(ctx)
		if err != nil {
			return m.failed(err)
		}
		m.seen(0, sequence)
		key, ok := m.key(msg.Subject)
		if !ok {
			continue // of another client
		}
		kept := casstore.Kept{Data: append([]byte{}, msg.Data...), Revision: sequence}
		if msg.Header.Get(operation) != "" {
			kept = casstore.Kept{}
		}
		changed(key, kept)
	}
}
