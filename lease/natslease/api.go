package natslease

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// request sends a message and decodes the answer into out. An error of JetStream is a
// *jetstream.APIError.
func (m *medium) request(ctx context.Context, msg *nats.Msg, out any) error {
	// It ends a little before the call, whose error would not say what to look at.
	ctx, cancel := context.WithTimeoutCause(ctx, m.timeout-m.timeout/8, errTimeout)
	defer cancel()
	nc, err := m.connection.get(ctx)
	if err != nil {
		return err // it would be sent later, when nobody waits for it
	}
	answer, err := nc.RequestMsgWithContext(ctx, msg)
	switch {
	case err != nil && ctx.Err() != nil:
		if err := denied(nc, msg.Subject); err != nil {
			return err
		}
		return context.Cause(ctx)
	case err != nil:
		return err
	}
	var failed struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(answer.Data, &failed); err != nil {
		return fmt.Errorf("the answer to %s: %w", msg.Subject, err)
	}
	if failed.Error != nil {
		return failed.Error
	}
	return json.Unmarshal(answer.Data, out)
}

// message makes a message in JSON.
func message(subject string, content any) (*nats.Msg, error) {
	data, err := json.Marshal(content)
	return &nats.Msg{Subject: subject, Data: data}, err
}

// stored is a message of the stream; its sequence is 0 when there is none.
type stored struct {
	Message struct {
		Sequence uint64 `json:"seq"`
		Header   []byte `json:"hdrs"`
		Data     []byte `json:"data"`
	} `json:"message"`
}

// last returns the newest message of a subject. The leader of the stream answers, not any of its
// replicas as when a value is got directly.
func (m *medium) last(ctx context.Context, subject string) (found stored, err error) {
	msg, err := m.lastOf(subject)
	if err != nil {
		return stored{}, err
	}
	if err := m.ask(ctx, msg, &found); code(err) != noMessage {
		return found, err
	}
	return stored{}, nil
}

// lastOf asks for the newest message of a subject.
func (m *medium) lastOf(subject string) (*nats.Msg, error) {
	return message(m.prefix+".STREAM.MSG.GET."+m.stream, map[string]string{"last_by_subj": subject})
}

// write stores a message if the newest one of its subject has the sequence from, 0 for none. nil
// stands for a message that the key was removed.
func (m *medium) write(ctx context.Context, subject string, data []byte, from uint64) (sequence uint64, err error) {
	msg := &nats.Msg{Subject: subject, Data: data, Header: nats.Header{}}
	msg.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(from, 10))
	msg.Header.Set(jetstream.ExpectedStreamHeader, m.stream)
	if data == nil {
		msg.Header.Set(operation, "DEL")
		msg.Header.Set(jetstream.MsgTTLHeader, markerLife.String())
	}
	var ack struct {
		Sequence uint64 `json:"seq"`
	}
	err = m.ask(ctx, msg, &ack)
	return ack.Sequence, err
}

// operation is the header of a message that says what became of its key.
const operation = "KV-Operation"

// markerLife is for how long such a message is kept when the key was removed: those who watch get it
// sooner, or begin again. It has no fractions of a second.
var markerLife = time.Minute

// code returns the error code of JetStream; 0 of another error.
func code(err error) jetstream.ErrorCode {
	if e, ok := errors.AsType[*jetstream.APIError](err); ok {
		return e.ErrorCode
	}
	return 0
}
