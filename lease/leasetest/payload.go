package leasetest

import (
	"errors"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// text is a payload with what a medium could trip over: quotes, line breaks, and characters of
// several bytes.
const text = "{\"tenant\": \"Åsa's\"}\r\n\t%s $1 \\ 日本"

func (f *fixture) payloadOf(g protocol.Grant, want string) {
	f.Helper()
	f.equal("payload", g.Payload, want)
}

func everyAttemptHasThePayload(f *fixture) {
	n := f.trigger(protocol.Opened, protocol.Trigger{Payload: text}).Tick
	c := f.of(n, "a", onlyOpen, ttl(f.ttl))
	g := grantOf(c, f.ask(protocol.Granted, c))
	f.payloadOf(g, text)
	f.equal("the same claim", f.ask(protocol.Granted, c).Payload, text) // on a slow machine it is the second attempt
	f.until(f.now().Add(f.ttl))

	taken := f.grant(n, "b", onlyOpen) // a takeover
	f.payloadOf(taken, text)
	f.ok("Renew", f.renew(taken))
	f.ok("Release", f.release(taken))
	g = f.granted(n)
	f.equal("attempt", g.Attempt, taken.Attempt+1)
	f.payloadOf(g, text)
	f.ok("Settle", f.settle(g, "succeeded"))
	f.payloadOf(f.grant(100, "a"), "") // a tick of the schedule
}

func forgottenPayloadIsWrittenBack(f *fixture) {
	n := f.trigger(protocol.Opened, protocol.Trigger{Payload: text}).Tick
	g := f.granted(n, ttl(f.ttl))
	f.forgetAll()
	f.ok("Renew", f.renew(g))
	f.sync(protocol.Sync{Name: f.name, Watermark: 90})
	f.until(f.now().Add(f.ttl))
	f.payloadOf(f.granted(n), text)
}

func waitingTickServesOnlyItsPayload(f *fixture) {
	f.grant(100, "a") // in the way of all
	one := f.trigger(protocol.Opened, protocol.Trigger{Payload: "one"}).Tick
	two := f.trigger(protocol.Opened, protocol.Trigger{Payload: "two"}).Tick
	none := f.trigger(protocol.Opened, protocol.Trigger{}).Tick
	f.equal("tick", f.trigger(protocol.Waiting, protocol.Trigger{Payload: "two"}).Tick, two)
	f.equal("tick", f.trigger(protocol.Waiting, protocol.Trigger{}).Tick, none)
	f.equal("tick", f.trigger(protocol.Waiting, protocol.Trigger{Payload: "one"}).Tick, one)
}

func queueDropsNoPayload(f *fixture) {
	first := f.grant(100, "a", overlap(protocol.OverlapQueue))
	n := f.trigger(protocol.Opened, protocol.Trigger{Payload: text}).Tick
	f.ask(protocol.Queued, f.of(101, "a", overlap(protocol.OverlapQueue)))
	f.ask(protocol.Queued, f.of(102, "a", overlap(protocol.OverlapQueue))) // in the place of 101
	f.ok("Settle", f.settle(first, "succeeded"))
	f.ask(protocol.Decided, f.of(101, "a", onlyOpen, overlap(protocol.OverlapQueue)))
	g := f.granted(n, overlap(protocol.OverlapQueue))
	f.payloadOf(g, text)
	f.ok("Settle", f.settle(g, "succeeded"))
	f.payloadOf(f.granted(102, overlap(protocol.OverlapQueue)), "")
}

func aKeyHasOnePayload(f *fixture) {
	t := protocol.Trigger{Key: "k", Window: time.Hour, Payload: "one"}
	n := f.trigger(protocol.Opened, t).Tick
	f.equal("tick", f.trigger(protocol.Repeated, t).Tick, n)
	differs := func(payload string) {
		f.Helper()
		t := t
		t.Payload = payload
		if _, err := f.store.Trigger(f.ctx, f.filled(t)); !errors.Is(err, protocol.ErrPayloadDiffers) {
			f.Fatalf("Trigger with payload %q: %v, want protocol.ErrPayloadDiffers", payload, err)
		}
	}
	differs("two")
	differs("")
	f.done(n)
	differs("two")
	f.equal("tick", f.trigger(protocol.Repeated, t).Tick, n)

	// The same request again is the same trigger, whatever it says.
	t = protocol.Trigger{Request: "again", Payload: "one"}
	n = f.trigger(protocol.Opened, t).Tick
	f.equal("tick", f.trigger(protocol.Opened, t).Tick, n)
}

func payloadsAreBounded(f *fixture) {
	longest := strings.Repeat("x", protocol.MaxPayload)
	f.policy(protocol.Policy{Beside: true})
	var open []int64
	for range protocol.MaxPayloads / protocol.MaxPayload {
		open = append(open, f.trigger(protocol.Opened, protocol.Trigger{Payload: longest}).Tick)
	}
	a := f.trigger(protocol.Limited, protocol.Trigger{Payload: "x"})
	f.equal("limit", a.Limit, protocol.LimitPayloads)
	f.trigger(protocol.Opened, protocol.Trigger{}) // one without has room
	g := f.granted(open[0], overlap(protocol.OverlapAllow))
	f.trigger(protocol.Limited, protocol.Trigger{Payload: "x"}) // it is open still
	f.ok("Settle", f.settle(g, "succeeded"))
	f.trigger(protocol.Opened, protocol.Trigger{Payload: longest})

	for what, payload := range map[string]string{"too long": longest + "x", "with a NUL": "a\x00b", "not UTF-8": "a\xff"} {
		_, err := f.store.Trigger(f.ctx, f.filled(protocol.Trigger{Payload: payload}))
		if err == nil || !strings.Contains(err.Error(), "payload: ") || strings.Contains(err.Error(), "xxx") {
			f.Fatalf("Trigger with a payload %s: %v", what, err)
		}
	}
}

func aTickThatRunsAgainSaysSo(f *fixture) {
	f.policy(protocol.Policy{Every: time.Hour, Burst: 1})
	first := f.grant(100, "a", overlap(protocol.OverlapQueue))
	plain := f.trigger(protocol.Opened, protocol.Trigger{}).Tick
	f.trigger(protocol.Waiting, protocol.Trigger{})
	again := f.trigger(protocol.Opened, protocol.Trigger{Again: 95}).Tick // no rate limits it, and the other does not serve it
	f.equal("tick", f.trigger(protocol.Waiting, protocol.Trigger{Again: 95}).Tick, again)
	f.trigger(protocol.Opened, protocol.Trigger{Again: 94})
	f.ask(protocol.Queued, f.of(101, "a", overlap(protocol.OverlapQueue))) // in the place of the plain one only
	f.ok("Settle", f.settle(first, "succeeded"))
	f.ask(protocol.Decided, f.of(plain, "a", onlyOpen, overlap(protocol.OverlapQueue)))

	g := f.granted(again, ttl(f.ttl), overlap(protocol.OverlapQueue))
	f.equal("again", g.Again, int64(95))
	f.until(f.now().Add(f.ttl))
	g = f.grant(again, "b", onlyOpen, ttl(f.ttl), overlap(protocol.OverlapQueue))
	f.equal("again, of a takeover", g.Again, int64(95))
	f.forgetAll()
	f.ok("Renew", f.renew(g))
	f.sync(protocol.Sync{Name: f.name, Watermark: 101})
	f.ok("Release", f.release(g))
	g = f.granted(again)
	f.equal("again, after it was written back", g.Again, int64(95))
	f.ok("Settle", f.settle(g, "succeeded"))
}
