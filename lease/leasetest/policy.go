package leasetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

func policyOfTheDefinitionStays(f *fixture) {
	first := protocol.Policy{Every: time.Hour, Burst: 3, Beside: true, Jitter: time.Minute, History: 20}
	second := protocol.Policy{Every: time.Minute, Burst: 1, NoTriggers: true, History: protocol.MaxHistory}
	f.name = f.other("x")
	f.equal("of a new record", f.sync(protocol.Sync{Name: f.name, Policy: first}).Policy, first)
	f.equal("as it is read", f.sync(protocol.Sync{Name: f.name, Policy: second, Revision: "r2"}).Policy, first)
	f.equal("as it is defined", f.sync(protocol.Sync{Name: f.name, Policy: second, Defines: true}).Policy, second)
	f.ok("Settle", f.settle(f.grant(100, "a"), "succeeded"))
	f.equal("afterwards", f.record().Policy, second)
	f.equal("as Inspect shows it", f.inspect(f.name).Policy, second)
	f.equal("without limits", f.sync(protocol.Sync{Name: f.name, Defines: true}).Policy, protocol.Policy{})
}

func policyBindsEveryTrigger(f *fixture) {
	f.policy(protocol.Policy{Every: time.Hour, Burst: 1})
	f.done(f.trigger(protocol.Opened, protocol.Trigger{}).Tick)
	f.equal("limit", f.trigger(protocol.Limited, protocol.Trigger{}).Limit, protocol.LimitRate)
	f.record() // by one who does not know the definition
	f.trigger(protocol.Limited, protocol.Trigger{})

	f.policy(protocol.Policy{NoTriggers: true})
	_, err := f.store.Trigger(f.ctx, f.filled(protocol.Trigger{}))
	if !errors.Is(err, protocol.ErrNoTriggers) {
		f.Fatalf("Trigger: %v, want protocol.ErrNoTriggers", err)
	}
	f.equal("open", len(f.record().Open), 0)
}

func editedRateIsInForceAtOnce(f *fixture) {
	f.policy(protocol.Policy{Every: 24 * time.Hour, Burst: 5, Beside: true})
	for range 5 {
		f.trigger(protocol.Opened, protocol.Trigger{})
	}
	f.trigger(protocol.Limited, protocol.Trigger{})
	f.policy(protocol.Policy{Every: time.Hour, Burst: 1, Beside: true})
	f.between("wait", f.trigger(protocol.Limited, protocol.Trigger{}).Wait, 1, time.Hour)
	f.policy(protocol.Policy{Beside: true})
	f.open()
	f.policy(protocol.Policy{Every: time.Hour, Burst: 1, Beside: true})
	f.trigger(protocol.Opened, protocol.Trigger{})
}

// settleAll settles the ticks from to to, one by one.
func (f *fixture) settleAll(from, to int64) {
	f.Helper()
	for n := from; n <= to; n++ {
		g := f.grant(n, "a")
		g.Note = fmt.Sprint(n)
		f.ok("Settle", f.settle(g, "succeeded"))
	}
}

// remembers wants the history to be the ticks from to to.
func (f *fixture) remembers(from, to int64) {
	f.Helper()
	var got, want []int64
	for _, s := range f.inspect(f.name).Settled {
		f.equal("note", s.Note, fmt.Sprint(s.Tick))
		got = append(got, s.Tick)
	}
	for n := from; n <= to; n++ {
		want = append(want, n)
	}
	if !slices.Equal(got, want) {
		f.Fatalf("the history has %d, want %d to %d", got, from, to)
	}
}

func historyIsAsLongAsThePolicySays(f *fixture) {
	f.policy(protocol.Policy{History: 150})
	f.settleAll(101, 260)
	f.remembers(111, 260)
	f.policy(protocol.Policy{History: 20})
	f.remembers(241, 260)
	f.settleAll(261, 262)
	f.remembers(243, 262)
	f.policy(protocol.Policy{History: 40})
	f.settleAll(263, 282)
	f.remembers(243, 282)
	f.settleAll(283, 290)
	f.remembers(251, 290)
	f.policy(protocol.Policy{History: protocol.Remembered})
	f.settleAll(291, 292)
	f.remembers(292-protocol.Remembered+1, 292)
}

func faultyPoliciesAreRefused(f *fixture) {
	for what, p := range map[string]protocol.Policy{
		"a negative limit":        {Every: -time.Hour, Burst: 1},
		"too rare a limit":        {Every: 366 * 24 * time.Hour, Burst: 1},
		"a limit of nothing":      {Every: time.Hour},
		"too great a burst":       {Every: time.Hour, Burst: 1_000_001},
		"a limit of too many":     {Every: time.Microsecond, Burst: 1},
		"too short a history":     {History: protocol.MinHistory - 1},
		"too long a history":      {History: protocol.MaxHistory + 1},
		"a history below nothing": {History: -1},
		"a negative jitter":       {Jitter: -1},
	} {
		_, err := f.store.Sync(f.ctx, []protocol.Sync{{Name: f.name, Policy: p, Defines: true}})
		f.refused(what, err)
	}
	f.equal("policy", f.record().Policy, protocol.Policy{})
}
