package otelsolotick

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"strconv"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// attemptOf is the key of a context from which the span of an attempt is started.
type attemptOf struct{}

// attempt is what the ids of a span are made from. The zeroth attempt is the trigger.
type attempt struct {
	tickID string
	number int
}

func (a attempt) traceID() (id trace.TraceID) {
	sum := sha256.Sum256([]byte("solotick trace\x00" + a.tickID))
	copy(id[:], sum[:])
	return id
}

func (a attempt) spanID() (id trace.SpanID) {
	sum := sha256.Sum256([]byte("solotick span\x00" + a.tickID + "\x00" + strconv.Itoa(a.number)))
	copy(id[:], sum[:])
	return id
}

func (a attempt) context(flags trace.TraceFlags) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: a.traceID(), SpanID: a.spanID(), TraceFlags: flags, Remote: true})
}

// NewIDGenerator returns the generator by which the attempts of a tick are one trace, for
// sdktrace.WithIDGenerator. The ids of all other spans are random.
func NewIDGenerator() sdktrace.IDGenerator { return ids{} }

type ids struct{}

// NewIDs implements [sdktrace.IDGenerator].
func (ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if a, ok := ctx.Value(attemptOf{}).(attempt); ok {
		return a.traceID(), a.spanID()
	}
	var id trace.TraceID
	binary.BigEndian.PutUint64(id[:8], rand.Uint64())
	binary.BigEndian.PutUint64(id[8:], rand.Uint64()|1) // all zeros is no id
	return id, randomSpan()
}

// NewSpanID implements [sdktrace.IDGenerator].
func (ids) NewSpanID(context.Context, trace.TraceID) trace.SpanID { return randomSpan() }

func randomSpan() (id trace.SpanID) {
	binary.BigEndian.PutUint64(id[:], rand.Uint64()|1)
	return id
}
