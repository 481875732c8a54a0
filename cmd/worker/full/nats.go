package main

import (
	"context"
	"fmt"
	"time"

	"github.com/solotick/solotick/cmd/worker/internal/doctor"
	"github.com/solotick/solotick/cmd/worker/internal/stores"
	"github.com/solotick/solotick/lease/natslease"
)

type natsServer struct{ *natslease.Store }

func openNATS(url, namespace string, timeout time.Duration) (stores.Server, error) {
	s, err := natslease.Open(url, namespace, natslease.WithTimeout(timeout))
	return natsServer{s}, err
}

// Examine checks what of a bucket of NATS JetStream a fleet depends on.
func (s natsServer) Examine(ctx context.Context, begun bool) []doctor.Finding {
	if !begun { // there is no bucket
		return nil
	}
	facts, err := s.Facts(ctx)
	if err != nil {
		return []doctor.Finding{{Check: "bucket", Result: doctor.Fail, Finding: err.Error(), Change: s.Hint(err)}}
	}
	return natsFindings(facts)
}

func natsFindings(facts natslease.Facts) []doctor.Finding {
	copies := doctor.Finding{Check: "copies", Result: doctor.OK, Finding: fmt.Sprintf("%d of %d servers have the bucket %s (NATS %s)", facts.Current, facts.Replicas, facts.Bucket, facts.Server)}
	switch {
	case facts.Current < facts.Replicas:
		copies.Result, copies.Change = doctor.Warn, "see that all servers of the bucket run: while a majority is missing, nothing is claimed"
	case facts.Replicas == 1 && facts.Clustered:
		copies.Result, copies.Change = doctor.Warn, "keep the bucket on three servers: nats stream edit KV_"+facts.Bucket+" --replicas=3"
	}
	durable := doctor.Finding{Check: "durability", Result: doctor.OK, Finding: "the bucket is in files, which the disk confirms a while later unless sync_interval is always"}
	if facts.Memory {
		durable.Result, durable.Finding = doctor.Warn, "the bucket is in memory: when its servers restart, ticks run again"
		durable.Change = "make the bucket in files"
	}
	room := doctor.Finding{Check: "room", Result: doctor.OK, Finding: fmt.Sprintf("%d values take %d bytes, and there is no limit of the bucket", facts.Values, facts.Bytes)}
	if limit := uint64(max(facts.MaxBytes, 0)); limit > 0 {
		room.Finding = fmt.Sprintf("%d values take %d of %d bytes", facts.Values, facts.Bytes, limit)
		if facts.Bytes > limit/10*8 {
			room.Result, room.Change = doctor.Warn, "raise the limit with nats stream edit KV_"+facts.Bucket+" --max-bytes: with more than nine tenths of it no further name is taken"
		}
	}
	return []doctor.Finding{copies, durable, room}
}
