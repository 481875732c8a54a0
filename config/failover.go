package config

import "time"

// failover are the values that have to agree with the lease's term, which may stand below them in the file; nil for what
// is not written, or wrong already.
type failover struct{ replicas, grace *value }

func (r *reader) waitReplicas(v value, to *int) *value {
	var n int
	if !r.integer(v, &n) {
		return nil
	}
	if n < 0 || n > MaxWaitReplicas {
		r.fault(v, "must be from 0 to %d", MaxWaitReplicas)
		return nil
	}
	*to = n
	return &v
}

func (r *reader) failoverGrace(v value, to *time.Duration) *value {
	before := len(r.faults)
	r.durationWithin(v, to, 0, MaxFailoverGrace)
	if len(r.faults) > before {
		return nil
	}
	return &v
}

// failoverFaults checks what depends on the lease's term.
func (r *reader) failoverFaults(f failover, c *Config) {
	if f.replicas != nil && c.Redis.WaitReplicas > 0 && c.Lease.TTL < MinWaitingTTL {
		r.fault(*f.replicas, "needs a lease.ttl of at least %s: replicas take their time", short(MinWaitingTTL))
	}
	if f.grace != nil && c.Redis.FailoverGrace > 0 && c.Redis.FailoverGrace < c.Lease.TTL {
		r.fault(*f.grace, "must be 0s or at least lease.ttl, %s: what a failover forgets lasts as long", short(c.Lease.TTL))
	}
	if f.replicas != nil && c.Redis.WaitReplicas > 0 && c.Redis.Quorum != nil {
		r.fault(*f.replicas, "must be 0 with quorum: a majority of its servers has each write")
	}
	if f.grace != nil && c.Redis.FailoverGrace > 0 && c.Redis.Quorum != nil {
		r.fault(*f.grace, "must be 0s with quorum: its servers do not fail over")
	}
	if f.grace != nil && c.Redis.FailoverGrace > 0 && c.Redis.Cluster {
		r.fault(*f.grace, "must be 0s with cluster: its servers fail over one by one; use wait_replicas")
	}
}
