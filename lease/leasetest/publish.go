package leasetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// subscribe returns a channel of the messages that begin with the fixture's name, once they are
// received for certain, and of the letters to these names. It also returns a function that ends the subscription and waits for its
// end.
func (f *fixture) subscribe(names ...string) (messages <-chan string, end func()) {
	f.Helper()
	p := f.store
	received := make(chan string, 128)
	ctx, cancel := context.WithCancel(f.ctx)
	var subscribed sync.WaitGroup
	subscribed.Go(func() {
		err := p.Subscribe(ctx, func(message []byte) {
			if bytes.HasPrefix(message, []byte(f.name)) {
				received <- string(message)
			}
		}, names...)
		if !errors.Is(err, context.Canceled) {
			f.Errorf("Subscribe: %v, want %v", err, context.Canceled)
		}
	})
	end = func() {
		cancel()
		subscribed.Wait()
	}
	for try := 0; len(received) == 0; try++ { // messages from before the subscription are lost
		f.ok("Publish", p.Publish(f.ctx, fmt.Appendf(nil, "%s probe %d", f.name, try)))
		time.Sleep(5 * time.Millisecond)
	}
	return received, end
}

// receives waits for a message and returns those that came before it, since messages can be late. It sends
// the message again each second, if it has a function for that, because messages can be lost.
func (f *fixture) receives(messages <-chan string, want string, again ...func()) (others []string) {
	f.Helper()
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case got := <-messages:
			if got == want {
				return others
			}
			others = append(others, got)
		case <-t.C:
			for _, send := range again {
				send()
			}
		case <-f.ctx.Done():
			f.Fatalf("received %.200q, want %.60q with %d bytes", others, want, len(want))
		}
	}
}

func publishedReachesEverySubscriber(f *fixture) {
	p := f.store
	a, endA := f.subscribe()
	defer endA()
	b, endB := f.subscribe()
	odd := f.name + " two\nlines, \x00 \xff and 7 8 "
	f.ok("Publish", p.Publish(f.ctx, []byte(odd)))
	f.receives(b, odd)
	f.receives(a, odd)
	endB()
	for len(b) > 0 { // from before the end
		<-b
	}
	f.ok("Publish", p.Publish(f.ctx, []byte(f.name+" alone")))
	f.receives(a, f.name+" alone")
	f.equal("after the end", len(b), 0)
}

// lettersReachTheirReceivers, and nobody else, if the store can tell them apart.
func lettersReachTheirReceivers(f *fixture) {
	p := f.store
	a, endA := f.subscribe("a", "c")
	defer endA()
	b, endB := f.subscribe("b")
	defer endB()
	f.refusedLetter(protocol.Letter{To: "a"})
	sent := false
	send := func() {
		var err error
		sent, err = p.PublishTo(f.ctx, []protocol.Letter{
			{To: "a", Message: []byte(f.name + " for a")}, {To: "b", Message: []byte(f.name + " for b")}, {To: "c", Message: []byte(f.name + " for c")},
		})
		f.ok("PublishTo", err)
	}
	send()
	if !sent {
		return
	}
	f.receives(a, f.name+" for a", send)
	others := f.receives(b, f.name+" for b", send)
	f.receives(a, f.name+" for c", send)
	f.ok("Publish", p.Publish(f.ctx, []byte(f.name+" for all")))
	others = append(others, f.receives(b, f.name+" for all")...)
	for len(b) > 0 {
		others = append(others, <-b)
	}
	for _, other := range others {
		if !strings.Contains(other, " probe ") && other != f.name+" for b" { // that may be sent again
			f.Errorf("b received %q", other)
		}
	}
}

// refusedLetter requires that a store which tells letters apart refuses this one.
func (f *fixture) refusedLetter(l protocol.Letter) {
	f.Helper()
	if sent, err := f.store.PublishTo(f.ctx, []protocol.Letter{l}); sent || err == nil && f.tells() {
		f.Errorf("PublishTo: sent an invalid letter")
	}
}

// tells reports whether the store can reach one subscriber without the others.
func (f *fixture) tells() bool {
	sent, err := f.store.PublishTo(f.ctx, []protocol.Letter{{To: f.name, Message: []byte("x")}})
	return sent && err == nil
}

func publishedMessagesAreBounded(f *fixture) {
	p := f.store
	messages, end := f.subscribe()
	defer end()
	f.refused("an empty message", p.Publish(f.ctx, nil))
	f.refused("a message that is too long", p.Publish(f.ctx, make([]byte, protocol.MaxMessage+1)))
	longest := f.name + string(bytes.Repeat([]byte("x"), protocol.MaxMessage-len(f.name)))
	f.ok("Publish", p.Publish(f.ctx, []byte(longest)))
	f.receives(messages, longest)
}

func publishedChangesNoRecord(f *fixture) {
	p := f.store
	woken := make(chan string, 16)
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	var watched sync.WaitGroup
	defer watched.Wait()
	defer cancel()
	listening := make(chan struct{}, 16)
	watched.Go(func() {
		_ = f.store.Watch(ctx, func(name string, _ int64) {
			if name == "" {
				listening <- struct{}{}
			} else if name == f.name {
				woken <- name
			}
		})
	})
	<-listening
	messages, end := f.subscribe()
	defer end()
	before := f.record()
	f.ok("Publish", p.Publish(f.ctx, []byte(f.name+" 7")))
	f.receives(messages, f.name+" 7")
	f.equal("the record", f.record(), before)
	f.equal("wake-ups", len(woken), 0)
}
