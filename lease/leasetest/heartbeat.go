package leasetest

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// beat makes a heartbeat of one of the case's own members.
func (f *fixture) beat(suffix, info string, with func(h *protocol.Heartbeat)) protocol.Pulse {
	f.Helper()
	beat := protocol.Heartbeat{Holder: f.other(suffix), Info: []byte(info), Life: long}
	if with != nil {
		with(&beat)
	}
	before, known, err := f.store.Time(f.ctx)
	f.ok("Time", err)
	p, err := f.store.Heartbeat(f.ctx, beat)
	f.ok("Heartbeat", err)
	f.between("time", p.Now.Sub(before), -f.ttl, time.Minute)
	_, since, err := f.store.Time(f.ctx)
	f.ok("Time", err)
	if since.Equal(known) { // else another case has just emptied the store
		f.equal("since", p.Since, since)
	}
	return p
}

// awaitMembers waits until n of the case's own are members.
func (f *fixture) awaitMembers(n int) {
	f.Helper()
	for len(f.members()) != n {
		f.until(f.now().Add(f.ttl))
	}
}

// said returns the infos of the members in a pulse that are the case's own.
func (f *fixture) said(p protocol.Pulse) (list []string) {
	for _, m := range p.Members {
		if suffix, ok := strings.CutPrefix(m.Holder, f.other("")); ok {
			list = append(list, fmt.Sprintf("%s=%s %t", suffix, m.Info, m.Known))
		}
	}
	return list
}

func heartbeatAnnouncesAndReads(f *fixture) {
	odd := " two\nlines, \x00 \xff and 7 8 "
	f.equal("said", f.said(f.beat("a", odd, nil)), []string{"a=" + odd + " false"})
	p := f.beat("b", "b", func(h *protocol.Heartbeat) {
		h.Known = map[string]string{f.other("a"): protocol.InfoDigest([]byte(odd))}
	})
	f.equal("said", f.said(p), []string{"a= true", "b=b false"})
	f.equal("members", f.members(), []string{"a=" + odd, "b=b"})
	f.beat("a", "a", func(h *protocol.Heartbeat) { h.Life = f.ttl })
	f.until(f.now().Add(f.ttl))
	f.equal("members", f.members(), []string{"b=b"})
}

// heartbeatReadsOnlyOtherMembers runs over a store of which nobody else is a member.
func heartbeatReadsOnlyOtherMembers(f *fixture) {
	p := f.beat("a", "a", nil)
	same := func(suffix, info string) bool {
		f.Helper()
		next := f.beat(suffix, info, func(h *protocol.Heartbeat) { h.Version = p.Version })
		unread := next.Members == nil
		f.equal("is the same", next.Version == p.Version, unread)
		p = next
		return unread
	}
	tries := 2 // one of another case may leave meanwhile
	for !same("a", "a") {
		if tries--; tries == 0 {
			f.Fatal("the same members are others")
		}
	}
	for what, change := range map[string]func(){
		"one more":              func() { f.announce("b", "b", long) },
		"it says another thing": func() { f.announce("b", "b2", long) },
		"it has left":           func() { f.announce("b", "", 0) },
		"its life has ended": func() {
			alone := p.Version
			for life := f.ttl; p.Version == alone; life *= 2 { // until it was read before it has ended
				f.announce("b", "b", life)
				same("a", "a")
			}
			f.awaitMembers(1)
		},
	} {
		if what != "one more" && what != "its life has ended" {
			f.announce("b", "b", long)
		}
		same("a", "a")
		change()
		if same("a", "a") {
			f.Fatalf("%s: the members are the same", what)
		}
		f.announce("b", "", 0)
	}
	if same("a", "a2") {
		f.Fatal("the caller says another thing: the members are the same")
	}
}

func heartbeatOutOfBoundsDoesNothing(f *fixture) {
	for what, bound := range map[string]func(h *protocol.Heartbeat){
		"early": func(h *protocol.Heartbeat) { h.NotBefore = f.now().Add(long); h.NotAfter = h.NotBefore.Add(long) },
		"late":  func(h *protocol.Heartbeat) { h.NotAfter = f.now().Add(-f.ttl) },
	} {
		p := f.beat("a", "a", bound)
		f.equal(what, p.OutOfBounds, true)
		f.equal("members", len(f.members()), 0)
	}
	p := f.beat("a", "a", func(h *protocol.Heartbeat) { h.NotBefore, h.NotAfter = f.now().Add(-long), f.now().Add(long) })
	f.equal("in bounds", p.OutOfBounds, false)
}

func heartbeatSaysWhoElseUsesItsName(f *fixture) {
	after := func(info string) func(h *protocol.Heartbeat) {
		return func(h *protocol.Heartbeat) { h.Before = protocol.InfoDigest([]byte(info)) }
	}
	f.equal("of the first", f.beat("a", "predecessor", nil).Other == nil, true)
	f.equal("of one that announced nothing before", f.beat("a", "first", nil).Other == nil, true)
	f.equal("alone", f.beat("a", "second", after("first")).Other == nil, true)
	f.beat("a", "another", nil)
	f.equal("after another", f.beat("a", "third", after("second")).Other, []byte("another"))
	f.announce("a", "", 0)
	f.equal("after nobody", f.beat("a", "fourth", after("third")).Other == nil, true)
}

func faultyHeartbeatsAreRefused(f *fixture) {
	f.beat("a", "a", nil)
	h := f.store
	good := protocol.Heartbeat{Holder: f.other("b"), Life: long}
	for what, change := range map[string]func(h *protocol.Heartbeat){
		"nobody":    func(h *protocol.Heartbeat) { h.Holder = "" },
		"two words": func(h *protocol.Heartbeat) { h.Holder = "a b" },
		"too much":  func(h *protocol.Heartbeat) { h.Info = bytes.Repeat([]byte("x"), protocol.MaxInfo+1) },
		"no life":   func(h *protocol.Heartbeat) { h.Life = 0 },
		"no time":   func(h *protocol.Heartbeat) { h.NotBefore = f.now(); h.NotAfter = h.NotBefore.Add(-1) },
	} {
		bad := good
		change(&bad)
		_, err := h.Heartbeat(f.ctx, bad)
		f.refused(what, err)
	}
	f.equal("members", f.members(), []string{"a=a"})
}
