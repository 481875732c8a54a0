package doctor

import (
	"context"
	"fmt"

	"github.com/solotick/solotick/lease/natslease"
)

// checkNATS checks what of a bucket of NATS JetStream a fleet depends on.
func checkNATS(ctx context.Context, s *natslease.Store) []Finding {
	facts, err := s.Facts(ctx)
	if err != nil {
		return []Finding{{Check: "bucket", Result: Fail, Finding: err.Error(), Change: s.Hint(err)}}
	}
	return natsFindings(facts)
}

func natsFindings(facts natslease.Facts) []Finding {
	copies := Finding{Check: "copies", Result: OK, Finding: fmt.Sprintf("%d of %d servers have the bucket %s (NATS %s)", facts.Current, facts.Replicas, facts.Bucket, facts.Server)}
	switch {
	case facts.Current < facts.Replicas:
		copies.Result, copies.Change = Warn, "see that all servers of the bucket run: while a majority is missing, nothing is claimed"
	case facts.Replicas == 1 && facts.Clustered:
		copies.Result, copies.Change = Warn, "keep the bucket on three servers: nats stream edit KV_"+facts.Bucket+" --replicas=3"
	}
	durable := Finding{Check: "durability", Result: OK, Finding: "the bucket is in files, which the disk confirms a while later unless sync_interval is always"}
	if facts.Memory {
		durable.Result, durable.Finding = Warn, "the bucket is in memory: when its servers restart, ticks run again"
		durable.Change = "make the bucket in files"
	}
	room := Finding{Check: "room", Result: OK, Finding: fmt.Sprintf("%d values take %d bytes, and there is no limit of the bucket", facts.Values, facts.Bytes)}
	if limit := uint64(max(facts.MaxBytes, 0)); limit > 0 {
		room.Finding = fmt.Sprintf("%d values take %d of %d bytes", facts.Values, facts.Bytes, limit)
		if facts.Bytes > limit/10*8 {
			room.Result, room.Change = Warn, "raise the limit with nats stream edit KV_"+facts.Bucket+" --max-bytes: with more than nine tenths of it no further name is taken"
		}
	}
	return []Finding{copies, durable, room}
}
