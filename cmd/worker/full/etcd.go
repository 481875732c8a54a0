package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/solotick/solotick/cmd/worker/internal/doctor"
	"github.com/solotick/solotick/cmd/worker/internal/stores"
	"github.com/solotick/solotick/lease/etcdlease"
)

type etcdServer struct{ *etcdlease.Store }

func openEtcd(url, namespace string, timeout time.Duration) (stores.Server, error) {
	s, err := etcdlease.Open(url, namespace, etcdlease.WithTimeout(timeout))
	return etcdServer{s}, err
}

// Examine checks what of etcd's members a fleet depends on.
func (s etcdServer) Examine(ctx context.Context, _ bool) []doctor.Finding {
	facts, err := s.Facts(ctx)
	if err != nil && len(facts.Members) == 0 {
		return []doctor.Finding{{Check: "version", Result: doctor.Fail, Finding: err.Error(), Change: s.Hint(err)}}
	}
	return etcdFindings(facts)
}

func etcdFindings(facts etcdlease.Facts) []doctor.Finding {
	members := doctor.Finding{Check: "members", Result: doctor.OK}
	version := doctor.Finding{Check: "version", Result: doctor.OK}
	space := doctor.Finding{Check: "space", Result: doctor.OK, Finding: "no member raises an alarm"}
	clocks := doctor.Finding{Check: "members' clocks", Result: doctor.OK, Finding: "agree as far as they say"}
	var silent, versions, full []string
	var first, last time.Duration
	known := 0
	for _, m := range facts.Members {
		if m.Err != nil {
			silent = append(silent, m.Endpoint)
			continue
		}
		versions = append(versions, m.Version)
		if m.TooOld {
			version.Result, version.Change = doctor.Fail, "use etcd 3.5 or a later one"
		}
		if m.Quota > 0 && m.Size > m.Quota/5*4 {
			full = append(full, fmt.Sprintf("%s has %d of %d MiB", m.Endpoint, m.Size>>20, m.Quota>>20))
		}
		if m.Uncertain > 0 {
			if known++; known == 1 {
				first, last = m.Ahead+m.Uncertain, m.Ahead-m.Uncertain
			}
			first, last = min(first, m.Ahead+m.Uncertain), max(last, m.Ahead-m.Uncertain)
		}
	}
	answer := len(facts.Members) - len(silent)
	members.Finding = fmt.Sprintf("%d of %d answer", answer, len(facts.Members))
	if len(silent) > 0 {
		members.Result, members.Finding = doctor.Warn, members.Finding+"; not "+strings.Join(silent, ", ")
		members.Change = "see why: one more, and etcd may have no majority"
	} else if len(facts.Members) == 1 {
		members.Change = "name every member in the URL: the store uses those that it knows"
	}
	version.Finding = strings.Join(versions, ", ")
	if len(full) > 0 {
		space.Result, space.Finding = doctor.Warn, strings.Join(full, "; ")
		space.Change = "etcdctl compact and defrag, or a greater --quota-backend-bytes: a full etcd takes no writes"
	}
	if len(facts.Alarms) > 0 {
		space.Result, space.Finding = doctor.Fail, "alarms: "+strings.Join(facts.Alarms, ", ")
		space.Change = "etcdctl alarm list says of whom; NOSPACE: etcdctl compact, defrag, alarm disarm"
	}
	if apart := last - first; known > 1 && apart > time.Second {
		clocks.Result, clocks.Finding = doctor.Warn, fmt.Sprintf("differ by at least %s", apart.Round(time.Millisecond))
		clocks.Change = "synchronize them (NTP): schedules run on the one in the middle"
	}
	return []doctor.Finding{members, version, space, clocks}
}
